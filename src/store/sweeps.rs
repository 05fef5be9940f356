//! Sweeps: rows of their own, each worked by one node at a time under a lease, that turn the pending rows of a source
//! into entries. Short statements only; what the user's predicate scans is read outside of any transaction.

mod step;

use std::time::Duration;

pub use step::{Step, step};

use super::connection::Connection;
use super::dialect::Dialect;
use super::statement::Statement;
use crate::error::{Error, Result};
use crate::model::time::{Micros, micros};

/// A sweep that is not over.
#[derive(Debug, Clone, PartialEq, Eq, diesel::QueryableByName)]
pub struct Sweep {
    /// Its id.
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    pub id: i64,
    /// Whose source it sweeps.
    #[diesel(sql_type = diesel::sql_types::Text)]
    pub task: String,
    /// How many rows it has made into entries.
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    pub collected: i64,
    /// 1 when it has passed each row and only its entries are to end.
    #[diesel(sql_type = diesel::sql_types::Integer)]
    pub passed: i32,
    /// Why it cannot go on.
    #[diesel(sql_type = diesel::sql_types::Nullable<diesel::sql_types::Text>)]
    pub error: Option<String>,
    /// Since when it cannot go on.
    #[diesel(sql_type = diesel::sql_types::Nullable<diesel::sql_types::BigInt>)]
    pub failed_since: Option<Micros>,
    /// When it was asked for.
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    pub created_at: Micros,
}

/// Asks for a sweep; its id. One that waits to be started is taken, since it will see all that is there by now.
pub fn request(connection: &mut Connection, task: &str) -> Result<i64> {
    let waiting = "SELECT COALESCE(MAX(id), 0) AS n FROM soloist_sweeps \
                   WHERE task = ? AND finished_at IS NULL AND passed = 0 AND node_id IS NULL";
    let id = connection.number(Statement::new(waiting).bind(task))?;
    if id > 0 {
        return Ok(id);
    }
    let dialect = connection.dialect();
    let sql = dialect.sql("INSERT INTO soloist_sweeps (task, created_at) VALUES (?, {now})");
    if dialect == Dialect::Mysql {
        connection.execute(Statement::new(sql).bind(task))?;
        return connection.number(Statement::new("SELECT CAST(LAST_INSERT_ID() AS SIGNED) AS n"));
    }
    connection.number(Statement::new(sql).bind(task).text(" RETURNING id AS n"))
}

/// Asks for a sweep if none was asked for in this way, by any node, for the length of `every`.
pub fn request_due(connection: &mut Connection, task: &str, every: Duration) -> Result<Option<i64>> {
    let dialect = connection.dialect();
    // Read first: most calls end here, and write nothing.
    let state = "SELECT count(*) + count(CASE WHEN next_sweep_at > {now} THEN NULL ELSE 1 END) AS n \
                 FROM soloist_tasks WHERE name = ?";
    match connection.number(Statement::new(dialect.sql(state)).bind(task))? {
        1 => return Ok(None),
        2 => {}
        _ => {
            let sql = format!("INSERT INTO soloist_tasks (name) VALUES (?){}", dialect.or_ignore("name"));
            connection.execute(Statement::new(sql).bind(task))?;
        }
    }
    connection.transaction(|connection| {
        let sql = dialect.sql(
            "UPDATE soloist_tasks SET next_sweep_at = {now} + ? \
             WHERE name = ? AND (next_sweep_at IS NULL OR next_sweep_at <= {now})",
        );
        match connection.execute(Statement::new(sql).bind(micros(every)).bind(task))? {
            0 => Ok(None),
            _ => request(connection, task).map(Some),
        }
    })
}

/// The sweeps of a task, or of all, that are not over, oldest first.
pub fn open(connection: &mut Connection, task: Option<&str>) -> Result<Vec<Sweep>> {
    let sql = "SELECT id, task, collected, passed, error, failed_since, created_at FROM soloist_sweeps \
               WHERE finished_at IS NULL";
    let statement = match task {
        Some(task) => Statement::new(sql).text(" AND task = ?").bind(task),
        None => Statement::new(sql),
    };
    connection.load(statement.text(" ORDER BY id"))
}

/// The oldest sweep of a task that is not over.
pub fn oldest_open(connection: &mut Connection, task: &str) -> Result<Option<Sweep>> {
    Ok(open(connection, Some(task))?.into_iter().next())
}

/// How many rows a sweep has made into entries.
pub fn collected(connection: &mut Connection, id: i64) -> Result<i64> {
    connection.number(Statement::new("SELECT collected AS n FROM soloist_sweeps WHERE id = ?").bind(id))
}

/// True once a sweep is over; also if it has been deleted since.
pub fn is_over(connection: &mut Connection, id: i64) -> Result<bool> {
    let sql = "SELECT count(*) AS n FROM soloist_sweeps WHERE id = ? AND finished_at IS NULL";
    Ok(connection.number(Statement::new(sql).bind(id))? == 0)
}

/// Keeps why the sweep that a task is at cannot go on, until a step of it succeeds.
pub fn record_failure(connection: &mut Connection, task: &str, error: &Error) -> Result<()> {
    let sql =
        "SELECT COALESCE(MIN(id), 0) AS n FROM soloist_sweeps WHERE task = ? AND finished_at IS NULL AND passed = 0";
    let id = connection.number(Statement::new(sql).bind(task))?;
    let sql = connection.dialect().sql(
        "UPDATE soloist_sweeps SET error = ?, failed_since = COALESCE(failed_since, {now}) WHERE id = ? AND passed = 0",
    );
    connection.execute(Statement::new(sql).bind(error.to_string()).bind(id))?;
    Ok(())
}

/// Gives up what a node holds, so that another need not wait for the lease to end. Its sweeps go on where they are.
pub fn release(connection: &mut Connection, node_id: i64) -> Result<()> {
    let sql = connection.dialect().sql(
        "UPDATE soloist_sweeps SET lease_until = {now} WHERE finished_at IS NULL AND node_id = ? AND lease_until > {now}",
    );
    connection.execute(Statement::new(sql).bind(node_id))?;
    Ok(())
}

/// Deletes sweeps that have been over for as long as `keep`; how many.
pub fn prune(connection: &mut Connection, keep: Duration) -> Result<usize> {
    let sql = connection.dialect().sql("DELETE FROM soloist_sweeps WHERE finished_at < {now} - ?");
    connection.execute(Statement::new(sql).bind(micros(keep)))
}
