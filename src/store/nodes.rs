//! Node incarnations: registering, the heartbeat that keeps a lease, the end.
//!
//! A lease that has ended is never renewed: its holder comes back under a new id.

use std::time::Duration;

use serde_json::json;

use super::connection::Connection;
use super::dialect::ColumnKind::Text;
use super::dialect::Dialect;
use super::statement::Statement;
use super::tasks::limits;
use crate::config::NodeRole;
use crate::error::Result;
use crate::model::time::{Micros, micros};

/// Registers a new incarnation with a lease of its own; its id.
pub fn register(connection: &mut Connection, name: &str, roles: &[NodeRole], lease: Duration) -> Result<i64> {
    let roles: Vec<_> = roles.iter().map(|role| role.word()).collect();
    let dialect = connection.dialect();
    let returning = if dialect == Dialect::Mysql { "" } else { " RETURNING id AS n" };
    let sql = dialect.sql(&format!(
        "INSERT INTO soloist_nodes (name, roles, version, started_at, seen_at, lease_until) \
         VALUES (?, ?, ?, {{now}}, {{now}}, {{now}} + ?){returning}"
    ));
    let insert =
        Statement::new(sql).bind(name).bind(roles.join(",")).bind(env!("CARGO_PKG_VERSION")).bind(micros(lease));
    connection.transaction(|connection| {
        if dialect == Dialect::Mysql {
            connection.execute(insert)?;
            connection.number(Statement::new("SELECT CAST(LAST_INSERT_ID() AS SIGNED) AS n"))
        } else {
            connection.number(insert)
        }
    })
}

/// Extends the lease of an incarnation; false if it had ended, which is final.
///
/// The row is locked first and the clock asked after: a renewal that had to wait for the lock must not go by a clock
/// from before the wait.
pub fn renew(connection: &mut Connection, id: i64, lease: Duration) -> Result<bool> {
    let dialect = connection.dialect();
    let alive = if crate::testing::broken("renew_ended_lease") {
        "1 = 1"
    } else {
        "stopped_at IS NULL AND lost_at IS NULL AND lease_until > {now}"
    };
    connection.transaction(|connection| {
        let lock = format!("SELECT id AS n FROM soloist_nodes WHERE id = ?{}", dialect.for_update());
        connection.number(Statement::new(lock).bind(id))?;
        let sql = dialect.sql(&format!(
            "UPDATE soloist_nodes SET seen_at = {{now}}, lease_until = {{now}} + ? WHERE id = ? AND {alive}"
        ));
        Ok(connection.execute(Statement::new(sql).bind(micros(lease)).bind(id))? == 1)
    })
}

/// Says that an incarnation takes no more work and finishes what it has.
pub fn drain(connection: &mut Connection, id: i64) -> Result<()> {
    connection.execute(Statement::new("UPDATE soloist_nodes SET draining = 1 WHERE id = ?").bind(id))?;
    Ok(())
}

/// Ends an incarnation's lease after a clean stop, with what else it held.
pub fn stop(connection: &mut Connection, id: i64) -> Result<()> {
    let sql = connection.dialect().sql(
        "UPDATE soloist_nodes SET stopped_at = {now}, seen_at = {now}, lease_until = {now} \
         WHERE id = ? AND stopped_at IS NULL",
    );
    connection.execute(Statement::new(sql).bind(id))?;
    super::sweeps::release(connection, id)?;
    limits::after(connection, id)
}

/// The database's clock.
pub fn clock(connection: &mut Connection) -> Result<Micros> {
    let sql = connection.dialect().sql("SELECT {now} AS n");
    connection.number(Statement::new(sql))
}

/// What an incarnation declares, for all nodes to read.
#[derive(Debug, Clone)]
pub struct Declaration {
    /// What it is of.
    pub kind: DeclarationKind,
    /// Its name.
    pub name: String,
    /// JSON.
    pub body: String,
}

/// What may be declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeclarationKind {
    /// A task that the node works.
    Task,
    /// A schedule.
    Schedule,
}

/// Replaces what an incarnation declares, as of `since` or else of now, and brings the limits of its tasks into force; as
/// of when that is.
///
/// One more row stands for the node itself: others see by it whether anything has changed.
pub fn declare(
    connection: &mut Connection,
    id: i64,
    declarations: &[Declaration],
    since: Option<Micros>,
) -> Result<Micros> {
    let is_task = |declaration: &&Declaration| declaration.kind == DeclarationKind::Task;
    let tasks: Vec<_> = declarations.iter().filter(is_task).map(|declaration| declaration.name.clone()).collect();
    let mut rows: Vec<_> = declarations
        .iter()
        .map(|declaration| {
            let kind = match declaration.kind {
                DeclarationKind::Task => "task",
                DeclarationKind::Schedule => "schedule",
            };
            json!({ "kind": kind, "name": declaration.name, "body": declaration.body })
        })
        .collect();
    rows.push(json!({ "kind": "node", "name": "node", "body": "{}" }));
    let sql = format!(
        "INSERT INTO soloist_declarations (node_id, kind, name, body, declared_at) \
         SELECT ?, o.kind, o.name, o.body, ? FROM {}",
        connection.dialect().rows_of_json("o", &[("kind", Text), ("name", Text), ("body", Text)])
    );
    connection.transaction(|connection| {
        // Before the clock is read: whoever declares later also writes later.
        limits::lock(connection, &tasks)?;
        let since = since.map_or_else(|| latest(connection), Ok)?;
        connection.execute(Statement::new("DELETE FROM soloist_declarations WHERE node_id = ?").bind(id))?;
        let rows = serde_json::Value::Array(rows).to_string();
        connection.execute(Statement::new(sql).bind(id).bind(since).bind(rows))?;
        limits::bring_into_force(connection, &tasks)?;
        Ok(since)
    })
}

/// Now, and later than all that has been declared: of two in one tick of the clock, or of a clock that was set back, the
/// one that comes last speaks too.
fn latest(connection: &mut Connection) -> Result<Micros> {
    let last =
        connection.number(Statement::new("SELECT COALESCE(MAX(declared_at), 0) AS n FROM soloist_declarations"))?;
    Ok(clock(connection)?.max(last.saturating_add(1)))
}
