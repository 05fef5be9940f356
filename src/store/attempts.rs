//! What was tried: the rows of `soloist_attempts`.

use std::collections::HashSet;

use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Integer, Nullable, Text};
use serde::Serialize;

use super::connection::Connection;
use super::dialect::ColumnKind;
use super::entries::AttemptShape;
use super::statement::Statement;
use crate::error::Result;
use crate::model::time::Micros;

#[derive(QueryableByName)]
struct AttemptRow {
    #[diesel(sql_type = BigInt)]
    claim: i64,
    #[diesel(sql_type = Integer)]
    attempt: i32,
    #[diesel(sql_type = Nullable<BigInt>)]
    node_id: Option<i64>,
    #[diesel(sql_type = Nullable<Text>)]
    node: Option<String>,
    #[diesel(sql_type = Nullable<BigInt>)]
    started_at: Option<i64>,
    #[diesel(sql_type = BigInt)]
    finished_at: i64,
    #[diesel(sql_type = Text)]
    outcome: String,
    #[diesel(sql_type = Nullable<Text>)]
    error: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    output: Option<String>,
}

/// An attempt and the claim under which it was made.
pub struct Attempt {
    /// The claim number.
    pub claim: i64,
    /// As people see it.
    pub shape: AttemptShape,
}

/// Which of these entries, each under a new claim, was tried and counted under the claim just before.
pub fn that_the_last_claim_made(connection: &mut Connection, entries: &[i64]) -> Result<HashSet<i64>> {
    #[derive(QueryableByName)]
    struct Id {
        #[diesel(sql_type = BigInt)]
        id: i64,
    }
    if entries.is_empty() {
        return Ok(HashSet::new());
    }
    let dialect = connection.dialect();
    let sql = format!(
        "SELECT e.id FROM soloist_entries e WHERE {} AND EXISTS \
         (SELECT 1 FROM soloist_attempts a WHERE a.entry_id = e.id AND a.claim = e.claim - 1)",
        dialect.among_ids("e.id")
    );
    let rows: Vec<Id> = connection.load(Statement::new(sql).bind(dialect.ids(entries)))?;
    Ok(rows.into_iter().map(|row| row.id).collect())
}

/// What was tried of an entry, oldest first. A first success has no row.
pub fn of(connection: &mut Connection, entry_id: i64) -> Result<Vec<Attempt>> {
    let sql = "SELECT a.claim, a.attempt, a.node_id, n.name AS node, a.started_at, a.finished_at, a.outcome, a.error, \
               a.output FROM soloist_attempts a LEFT JOIN soloist_nodes n ON n.id = a.node_id \
               WHERE a.entry_id = ? ORDER BY a.claim";
    let rows: Vec<AttemptRow> = connection.load(Statement::new(sql).bind(entry_id))?;
    let attempts = rows.into_iter().map(|row| Attempt {
        claim: row.claim,
        shape: AttemptShape {
            attempt: row.attempt,
            node: node_name(row.node_id, row.node),
            started_at: row.started_at,
            finished_at: row.finished_at,
            outcome: row.outcome,
            error: row.error,
            output: row.output,
        },
    });
    Ok(attempts.collect())
}

/// What a node is called: its name, or what is known where its row is gone.
pub fn node_name(id: Option<i64>, name: Option<String>) -> Option<String> {
    match (id, name) {
        (None, _) => None,
        (Some(0), _) => Some("outside worker".to_owned()),
        (Some(_), Some(name)) => Some(name),
        (Some(id), None) => Some(format!("node {id}")),
    }
}

/// One attempt, to be recorded.
#[derive(Debug, Serialize)]
pub struct NewAttempt<'a> {
    /// The entry.
    pub entry_id: i64,
    /// The claim under which it ran.
    pub claim: i64,
    /// Its number, from 1.
    pub attempt: i32,
    /// The node's incarnation, 0 for an outside worker.
    pub node_id: i64,
    /// When it started, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Micros>,
    /// `completed`, `failed`, `timed_out`, `panicked` or `lost`.
    pub outcome: &'static str,
    /// Why it did not work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<&'a str>,
    /// What the handler said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<&'a str>,
}

/// Records attempts that end now, in one statement.
pub fn insert(connection: &mut Connection, attempts: &[NewAttempt<'_>]) -> Result<()> {
    const COLUMNS: [(&str, ColumnKind); 8] = [
        ("entry_id", ColumnKind::Integer),
        ("claim", ColumnKind::Integer),
        ("attempt", ColumnKind::Integer),
        ("node_id", ColumnKind::Integer),
        ("started_at", ColumnKind::Integer),
        ("outcome", ColumnKind::Text),
        ("error", ColumnKind::Text),
        ("output", ColumnKind::Text),
    ];
    if attempts.is_empty() {
        return Ok(());
    }
    let dialect = connection.dialect();
    let sql = dialect.sql(&format!(
        "INSERT INTO soloist_attempts (entry_id, claim, attempt, node_id, started_at, finished_at, outcome, error, output) \
         SELECT o.entry_id, o.claim, o.attempt, o.node_id, o.started_at, {{now}}, o.outcome, o.error, o.output FROM {}",
        dialect.rows_of_json("o", &COLUMNS)
    ));
    let rows = serde_json::to_string(attempts).map_err(crate::error::Error::internal)?;
    connection.execute(Statement::new(sql).bind(rows))?;
    Ok(())
}
