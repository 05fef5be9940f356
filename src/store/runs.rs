//! What one run of `work` has done and what it leaves: read by the name under which its node ran, which no other has.

use std::collections::BTreeMap;

use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Integer, Nullable, Text};

use super::connection::Connection;
use super::dialect::Dialect;
use super::nodes;
use super::statement::Statement;
use crate::error::Result;
use crate::model::time::Micros;

/// How a sweep stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SweepState {
    /// True if it has passed every row, or has been over for so long that it is gone.
    pub passed: bool,
    /// Why it cannot go on, or why a row was left out.
    pub error: Option<String>,
    /// How many entries of its task are alive.
    pub alive: u64,
}

/// What became of a task's entries.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskLeft {
    /// Completed in this run.
    pub completed: u64,
    /// Failed for good in this run.
    pub failed: u64,
    /// Attempts of this run that will be repeated, or have been.
    pub retried: u64,
    /// Wait for another attempt.
    pub retries_waiting: u64,
    /// Microseconds until the next of them.
    pub next_retry_in: Option<Micros>,
    /// Have never been tried and are not due yet.
    pub later: u64,
    /// Are due and were left.
    pub due: u64,
    /// True if somebody has paused the task.
    pub paused: bool,
    /// Why its host is not called.
    pub held: Option<String>,
}

/// The database's clock, as the beginning of a run.
pub fn begin(connection: &mut Connection) -> Result<Micros> {
    nodes::clock(connection)
}

/// How a sweep of a task stands.
pub fn sweep(connection: &mut Connection, id: i64, task: &str) -> Result<SweepState> {
    #[derive(QueryableByName)]
    struct Row {
        #[diesel(sql_type = Integer)]
        passed: i32,
        #[diesel(sql_type = Nullable<Text>)]
        error: Option<String>,
    }
    let sql = "SELECT passed, error FROM soloist_sweeps WHERE id = ?";
    let row: Option<Row> = connection.first(Statement::new(sql).bind(id))?;
    let Some(row) = row else { return Ok(SweepState { passed: true, error: None, alive: 0 }) };
    let alive = "SELECT (SELECT count(*) FROM soloist_entries WHERE task = ? AND state = 'pending' AND source = 1) \
                 + (SELECT count(*) FROM soloist_entries WHERE node_id IS NOT NULL AND finished_at IS NULL \
                 AND task = ? AND state = 'running' AND source = 1) AS n";
    let alive = whole(connection.number(Statement::new(alive).bind(task).bind(task))?);
    Ok(SweepState { passed: row.passed == 1, error: row.error, alive })
}

/// What a run that began then under this node's name has done with these tasks, and what it leaves.
pub fn left(
    connection: &mut Connection,
    node: &str,
    began: Micros,
    tasks: &[String],
) -> Result<BTreeMap<String, TaskLeft>> {
    let mut left = BTreeMap::new();
    for task in tasks {
        let mut of = TaskLeft::default();
        sums(connection, node, task, &mut of)?;
        let failed = "SELECT count(*) AS n FROM soloist_entries WHERE task = ? AND state = 'failed' \
                      AND finished_at >= ? AND node_id IN (SELECT id FROM soloist_nodes WHERE name = ?)";
        let failed = whole(connection.number(Statement::new(failed).bind(task.as_str()).bind(began).bind(node))?);
        // The sums know of entries that are not kept, the entries of those that failed without a call or in the end.
        let more = failed.saturating_sub(of.failed);
        of.failed += more;
        of.completed = of.completed.saturating_sub(more);
        waiting(connection, task, &mut of)?;
        brakes(connection, task, &mut of)?;
        left.insert(task.clone(), of);
    }
    Ok(left)
}

fn sums(connection: &mut Connection, node: &str, task: &str, of: &mut TaskLeft) -> Result<()> {
    #[derive(QueryableByName)]
    struct Sums {
        #[diesel(sql_type = BigInt)]
        completed: i64,
        #[diesel(sql_type = BigInt)]
        failed: i64,
        #[diesel(sql_type = BigInt)]
        retried: i64,
    }
    let integer = if connection.dialect() == Dialect::Mysql { "SIGNED" } else { "BIGINT" };
    let sum = |column: &str| format!("CAST(COALESCE(SUM({column}), 0) AS {integer}) AS {column}");
    let sql = format!(
        "SELECT {}, {}, {} FROM soloist_minutes WHERE span = 60 AND task = ? \
         AND node_id IN (SELECT id FROM soloist_nodes WHERE name = ?)",
        sum("completed"),
        sum("failed"),
        sum("retried")
    );
    if let Some(row) = connection.first::<Sums>(Statement::new(sql).bind(task).bind(node))? {
        (of.completed, of.failed, of.retried) = (whole(row.completed), whole(row.failed), whole(row.retried));
    }
    Ok(())
}

fn waiting(connection: &mut Connection, task: &str, of: &mut TaskLeft) -> Result<()> {
    #[derive(QueryableByName)]
    struct Waiting {
        #[diesel(sql_type = BigInt)]
        retries: i64,
        #[diesel(sql_type = Nullable<BigInt>)]
        next_in: Option<i64>,
        #[diesel(sql_type = BigInt)]
        later: i64,
        #[diesel(sql_type = BigInt)]
        due: i64,
    }
    let sql = connection.dialect().sql(
        "SELECT count(CASE WHEN attempt > 0 AND run_at > {now} THEN 1 END) AS retries, \
         min(CASE WHEN attempt > 0 AND run_at > {now} THEN run_at END) - {now} AS next_in, \
         count(CASE WHEN attempt = 0 AND run_at > {now} THEN 1 END) AS later, \
         count(CASE WHEN run_at <= {now} THEN 1 END) AS due \
         FROM soloist_entries WHERE task = ? AND state = 'pending'",
    );
    if let Some(row) = connection.first::<Waiting>(Statement::new(sql).bind(task))? {
        (of.retries_waiting, of.next_retry_in) = (whole(row.retries), row.next_in);
        (of.later, of.due) = (whole(row.later), whole(row.due));
    }
    Ok(())
}

fn brakes(connection: &mut Connection, task: &str, of: &mut TaskLeft) -> Result<()> {
    #[derive(QueryableByName)]
    struct Brakes {
        #[diesel(sql_type = Nullable<BigInt>)]
        paused_since: Option<i64>,
        #[diesel(sql_type = Nullable<BigInt>)]
        held_since: Option<i64>,
        #[diesel(sql_type = Nullable<Text>)]
        held_reason: Option<String>,
    }
    let sql = "SELECT paused_since, held_since, held_reason FROM soloist_tasks WHERE name = ?";
    if let Some(row) = connection.first::<Brakes>(Statement::new(sql).bind(task))? {
        of.paused = row.paused_since.is_some();
        of.held = row.held_since.map(|_| row.held_reason.unwrap_or_default());
    }
    Ok(())
}

fn whole(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
