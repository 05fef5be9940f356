//! Taking over what the dead had claimed: nodes whose lease has ended or whose row is gone, and outside workers whose
//! own lease has ended.
//!
//! A rescued entry goes back to pending with its attempt counted; whoever claims it next decides by its task's policy
//! whether it may be started again. Nothing here looks at how long an entry has run.

use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Integer, Nullable, Text};

use super::attempts::{self, NewAttempt};
use super::connection::Connection;
use super::dialect::Dialect;
use super::statement::Statement;
use super::tasks::limits;
use crate::error::Result;
use crate::model::failure;

/// Entries taken over in one transaction.
const CHUNK: i64 = 500;

/// What a rescue found.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Rescued {
    /// Entries that went back to pending.
    pub entries: usize,
    /// Names and ids of the nodes that had held them.
    pub nodes: Vec<(i64, String)>,
}

#[derive(QueryableByName)]
struct Dead {
    #[diesel(sql_type = BigInt)]
    id: i64,
    #[diesel(sql_type = Nullable<Text>)]
    name: Option<String>,
}

#[derive(QueryableByName)]
struct Alive {
    #[diesel(sql_type = Integer)]
    alive: i32,
}

#[derive(QueryableByName)]
struct Held {
    #[diesel(sql_type = BigInt)]
    id: i64,
    #[diesel(sql_type = BigInt)]
    claim: i64,
    #[diesel(sql_type = Integer)]
    attempt: i32,
    #[diesel(sql_type = Nullable<BigInt>)]
    started_at: Option<i64>,
}

/// Takes over what nodes had claimed whose lease has ended. Looks at the nodes' table alone unless one is found.
pub fn of_ended_nodes(connection: &mut Connection) -> Result<Rescued> {
    let sql = connection.dialect().sql(
        "SELECT id, name FROM soloist_nodes WHERE lease_until <= {now} AND stopped_at IS NULL AND lost_at IS NULL",
    );
    let dead: Vec<Dead> = connection.load(Statement::new(sql))?;
    of_each(connection, dead, |connection, id| {
        limits::after(connection, id)?;
        let sql = connection
            .dialect()
            .sql("UPDATE soloist_nodes SET lost_at = {now} WHERE id = ? AND lease_until <= {now} AND lost_at IS NULL");
        connection.execute(Statement::new(sql).bind(id)).map(|_| ())
    })
}

/// Takes over what is claimed by incarnations that do not live, whatever their row says, also if it is gone.
pub fn of_missing_nodes(connection: &mut Connection) -> Result<Rescued> {
    let running = running(connection.dialect());
    let sql = connection.dialect().sql(&format!(
        "SELECT DISTINCT e.node_id AS id, g.name FROM soloist_entries e LEFT JOIN soloist_nodes g ON g.id = e.node_id \
         WHERE {running} AND e.node_id > 0 AND NOT EXISTS \
         (SELECT 1 FROM soloist_nodes n WHERE n.id = e.node_id AND n.lease_until > {{now}})"
    ));
    let dead: Vec<Dead> = connection.load(Statement::new(sql))?;
    of_each(connection, dead, |_, _| Ok(()))
}

/// What the running index of each backend holds.
fn running(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Sqlite | Dialect::Postgres => "e.node_id IS NOT NULL AND e.finished_at IS NULL",
        Dialect::Mysql => "e.state = 'running'",
    }
}

/// Takes over what each had; one whose rows are locked does not keep the others waiting for their turn.
fn of_each(
    connection: &mut Connection,
    dead: Vec<Dead>,
    mut after: impl FnMut(&mut Connection, i64) -> Result<()>,
) -> Result<Rescued> {
    let mut rescued = Rescued::default();
    let mut failed = None;
    for node in dead {
        match of_node(connection, &node).and_then(|entries| after(connection, node.id).map(|()| entries)) {
            Ok(entries) => {
                rescued.entries += entries;
                rescued.nodes.push((node.id, node.name.unwrap_or_default()));
            }
            Err(error) => failed = Some(error),
        }
    }
    match failed {
        Some(error) if rescued.nodes.is_empty() => Err(error),
        Some(error) => {
            tracing::warn!(%error, "not all of the dead could be relieved of their entries; tried again");
            Ok(rescued)
        }
        None => Ok(rescued),
    }
}

fn of_node(connection: &mut Connection, node: &Dead) -> Result<usize> {
    let name = node.name.as_deref().unwrap_or("whose row is gone");
    let error = format!("node {name} (incarnation {}) {}", node.id, failure::LOST);
    let mut entries = 0;
    loop {
        let taken = connection.transaction(|connection| {
            let dialect = connection.dialect();
            // A living node is never robbed: its row is locked while the entries are taken, so that it cannot renew.
            let sql = dialect.sql(&format!(
                "SELECT CASE WHEN lease_until > {{now}} THEN 1 ELSE 0 END AS alive FROM soloist_nodes WHERE id = ?{}",
                dialect.for_update()
            ));
            let row: Option<Alive> = connection.first(Statement::new(sql).bind(node.id))?;
            if row.is_some_and(|row| row.alive == 1) {
                return Ok(0);
            }
            let sql = format!(
                "SELECT e.id, e.claim, e.attempt, e.started_at FROM soloist_entries e \
                 WHERE {} AND e.node_id = ? LIMIT ?{}",
                running(dialect),
                dialect.skip_locked()
            );
            let held: Vec<Held> = connection.load(Statement::new(sql).bind(node.id).bind(CHUNK))?;
            give_back(connection, &held, node.id, &error)
        })?;
        entries += taken;
        if taken == 0 {
            return Ok(entries);
        }
    }
}

/// Takes over what outside workers had claimed whose own lease has ended.
pub fn of_outside_workers(connection: &mut Connection) -> Result<usize> {
    let mut entries = 0;
    loop {
        let taken = connection.transaction(|connection| {
            let dialect = connection.dialect();
            let sql = dialect.sql(&format!(
                "SELECT e.id, e.claim, e.attempt, e.started_at FROM soloist_entries e \
                 WHERE e.lease_until <= {{now}} AND e.state = 'running' LIMIT ?{}",
                dialect.skip_locked()
            ));
            let held: Vec<Held> = connection.load(Statement::new(sql).bind(CHUNK))?;
            give_back(connection, &held, 0, failure::UNREPORTED)
        })?;
        entries += taken;
        if taken == 0 {
            return Ok(entries);
        }
    }
}

/// Back to pending, the attempt counted and recorded. The rows are locked.
fn give_back(connection: &mut Connection, held: &[Held], node_id: i64, error: &str) -> Result<usize> {
    if held.is_empty() {
        return Ok(0);
    }
    let dialect = connection.dialect();
    let ids: Vec<_> = held.iter().map(|row| row.id).collect();
    let set = "state = 'pending', node_id = NULL, lease_until = NULL, error = ?";
    let sql = dialect.update_ids(set, "state = 'running'");
    let statement = if dialect.ids_first() {
        Statement::new(sql).bind(dialect.ids(&ids)).bind(error)
    } else {
        Statement::new(sql).bind(error).bind(dialect.ids(&ids))
    };
    let taken = connection.execute(statement)?;
    let attempts: Vec<_> = held
        .iter()
        .map(|row| NewAttempt {
            entry_id: row.id,
            claim: row.claim,
            attempt: row.attempt,
            node_id,
            started_at: row.started_at,
            outcome: "lost",
            error: Some(error),
            output: None,
        })
        .collect();
    attempts::insert(connection, &attempts)?;
    Ok(taken)
}
