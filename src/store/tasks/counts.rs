//! How many entries of each task wait, run and have ended: from sums, and by indexes never beyond a cap.

use std::collections::BTreeMap;

use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Nullable, Text};

use super::kept::Kept;
use super::waiting::{self, CAP};
use crate::error::Result;
use crate::model::time::{Micros, SECOND};
use crate::store::connection::Connection;
use crate::store::dialect::Dialect;
use crate::store::statement::Statement;

const DAY: Micros = 86_400 * SECOND;
/// The rate is an average over this long.
const RATE: Micros = 300 * SECOND;
/// Attempts are judged over this long.
const JUDGED: Micros = 900 * SECOND;
/// A kept count that is older says nothing.
const FRESH: Micros = 900 * SECOND;

/// What is counted of one task.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Counts {
    pub pending: i64,
    pub due: i64,
    /// True if there are as many that wait, or more.
    pub at_least: bool,
    pub oldest_due_at: Option<Micros>,
    pub running: i64,
    pub completed: i64,
    pub failed: i64,
    pub recently_completed: i64,
    pub recently_ended: i64,
    pub recent: Recent,
}

/// Attempts of the last 15 min.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Recent {
    /// All that ended.
    pub attempts: i64,
    /// Those that did not work, to be tried again or not.
    pub failed: i64,
    /// Of those, the ones that failed their entry for good.
    pub for_good: i64,
    /// Since when they do not work, to the minute: the first minute of those in which more failed than worked.
    pub since: Option<Micros>,
}

impl Counts {
    /// Completions a second, over the last minutes.
    pub(super) fn rate_per_s(&self) -> f64 {
        per_second(self.recently_completed)
    }

    /// Entries that came to an end a second, over the last minutes.
    pub(super) fn ended_per_s(&self) -> f64 {
        per_second(self.recently_ended)
    }
}

fn per_second(n: i64) -> f64 {
    #[allow(clippy::cast_precision_loss)] // far below 2^53
    let rate = n as f64 / (RATE / SECOND) as f64;
    (rate * 1000.0).round() / 1000.0
}

/// Whose entries are counted, and up to when.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    /// One task, or all.
    pub task: Option<&'a str>,
    /// The database's clock.
    pub now: Micros,
}

impl Scope<'_> {
    /// `sql` with ` AND task = …` where `{task}` stands, which is after all that `binds` is for.
    fn statement(self, sql: &str, binds: &[Micros]) -> Statement {
        let sql = sql.replace("{task}", if self.task.is_some() { " AND task = ?" } else { "" });
        let statement = binds.iter().fold(Statement::new(sql), |statement, bind| statement.bind(*bind));
        match self.task {
            Some(task) => statement.bind(task),
            None => statement,
        }
    }
}

/// What runs of one task on one node.
#[derive(QueryableByName, Debug, Clone, PartialEq, Eq)]
pub struct RunningOn {
    /// The node's incarnation; 0 for outside workers.
    #[diesel(sql_type = BigInt)]
    pub node_id: i64,
    /// The task.
    #[diesel(sql_type = Text)]
    pub task: String,
    /// How many.
    #[diesel(sql_type = BigInt)]
    pub n: i64,
    /// When the first of them started.
    #[diesel(sql_type = Nullable<BigInt>)]
    pub oldest: Option<Micros>,
    /// When the last of them started.
    #[diesel(sql_type = Nullable<BigInt>)]
    pub newest: Option<Micros>,
}

/// What runs, by node and task.
pub(super) fn running_on(connection: &mut Connection, scope: Scope<'_>) -> Result<Vec<RunningOn>> {
    // Said three times, so that each backend finds the index that it has.
    let sql = "SELECT node_id, task, count(*) AS n, min(started_at) AS oldest, max(started_at) AS newest \
               FROM soloist_entries WHERE state = 'running' AND node_id IS NOT NULL AND finished_at IS NULL{task} \
               GROUP BY node_id, task";
    connection.load(scope.statement(sql, &[]))
}

/// What the sums by minute say of the last day, by task.
pub(super) fn sums(connection: &mut Connection, scope: Scope<'_>) -> Result<BTreeMap<String, Counts>> {
    #[derive(QueryableByName)]
    struct Sums {
        #[diesel(sql_type = Text)]
        task: String,
        #[diesel(sql_type = BigInt)]
        completed: i64,
        #[diesel(sql_type = BigInt)]
        failed: i64,
    }
    let integer = if connection.dialect() == Dialect::Mysql { "SIGNED" } else { "BIGINT" };
    let sql = format!(
        "SELECT task, CAST(sum(completed) AS {integer}) AS completed, CAST(sum(failed) AS {integer}) AS failed \
         FROM soloist_minutes WHERE span = 60 AND starts_at > ?{{task}} GROUP BY task"
    );
    let mut counts: BTreeMap<String, Counts> = BTreeMap::new();
    for Sums { task, completed, failed } in connection.load(scope.statement(&sql, &[scope.now - DAY]))? {
        let of = counts.entry(task).or_default();
        (of.completed, of.failed) = (completed, failed);
    }
    recent(connection, scope, &mut counts)?;
    Ok(counts)
}

/// The last minutes, each by itself.
fn recent(connection: &mut Connection, scope: Scope<'_>, counts: &mut BTreeMap<String, Counts>) -> Result<()> {
    #[derive(QueryableByName)]
    struct Minute {
        #[diesel(sql_type = Text)]
        task: String,
        #[diesel(sql_type = BigInt)]
        starts_at: i64,
        #[diesel(sql_type = BigInt)]
        completed: i64,
        #[diesel(sql_type = BigInt)]
        retried: i64,
        #[diesel(sql_type = BigInt)]
        failed: i64,
    }
    let sql = "SELECT task, starts_at, completed, retried, failed FROM soloist_minutes \
               WHERE span = 60 AND starts_at > ?{task} ORDER BY starts_at DESC";
    let now = scope.now;
    for row in connection.load::<Minute>(scope.statement(sql, &[now - JUDGED]))? {
        let of = counts.entry(row.task).or_default();
        let bad = row.retried + row.failed;
        of.recent.attempts += row.completed + bad;
        of.recent.failed += bad;
        of.recent.for_good += row.failed;
        if bad > row.completed {
            of.recent.since = Some(row.starts_at);
        }
        if row.starts_at > now - RATE {
            of.recently_completed += row.completed;
            of.recently_ended += row.completed + row.failed;
        }
    }
    Ok(())
}

/// Adds what the entries of a task themselves say.
pub(super) fn add_entries(
    connection: &mut Connection,
    task: &str,
    now: Micros,
    kept: Option<&Kept>,
    counts: &mut Counts,
) -> Result<()> {
    let waits = waiting::of(connection, task, now)?;
    (counts.pending, counts.due) = (waits.pending, waits.due);
    if waits.due > 0 {
        counts.oldest_due_at = waiting::oldest_due(connection, task, now)?;
    }
    if waits.pending >= CAP {
        match kept.filter(|kept| kept.counted_at > now - FRESH && kept.pending >= CAP) {
            Some(kept) => {
                counts.pending = kept.pending;
                counts.due = if waits.due >= CAP { kept.due.max(CAP) } else { waits.due };
            }
            None => counts.at_least = true,
        }
    }
    counts.failed = counts.failed.max(failed(connection, task, now)?);
    if counts.completed == 0 {
        completed(connection, task, now, counts)?;
    }
    Ok(())
}

/// Failed entries are counted themselves too, since those that a dead node had, or an outside worker, are in no node's
/// sums.
fn failed(connection: &mut Connection, task: &str, now: Micros) -> Result<i64> {
    let statement = match connection.dialect() {
        Dialect::Sqlite | Dialect::Postgres => Statement::new(format!(
            "SELECT count(*) AS n FROM (SELECT 1 AS one FROM soloist_entries \
             WHERE task = ? AND state = 'failed' AND finished_at > ? ORDER BY finished_at DESC LIMIT {CAP}) AS failed"
        ))
        .bind(task)
        .bind(now - DAY),
        // No index of the failed alone, and one of all states would be written at each claim: the claim index has the
        // newest of them, near enough, at its end.
        Dialect::Mysql => Statement::new(
            "SELECT count(CASE WHEN finished_at > ? THEN 1 END) AS n FROM (SELECT finished_at \
             FROM soloist_entries FORCE INDEX (soloist_entries_claim) WHERE task = ? AND state = 'failed' \
             ORDER BY priority DESC, run_at DESC, id DESC LIMIT 1000) AS failed",
        )
        .bind(now - DAY)
        .bind(task),
    };
    connection.number(statement)
}

/// Completed entries themselves, where the sums say nothing of the last day: entries that were pruned are missing
/// here, but a node that has not written its first sum yet is not overlooked.
fn completed(connection: &mut Connection, task: &str, now: Micros, counts: &mut Counts) -> Result<()> {
    #[derive(QueryableByName)]
    struct Completed {
        #[diesel(sql_type = BigInt)]
        completed: i64,
        #[diesel(sql_type = BigInt)]
        recent: i64,
    }
    let sql = format!(
        "SELECT count(*) AS completed, count(CASE WHEN finished_at > ? THEN 1 END) AS recent FROM \
         (SELECT state, finished_at FROM soloist_entries WHERE task = ? AND finished_at > ? \
         ORDER BY finished_at DESC LIMIT {CAP}) AS ended WHERE state = 'completed'"
    );
    let statement = Statement::new(sql).bind(now - RATE).bind(task).bind(now - DAY);
    if let Some(row) = connection.first::<Completed>(statement)? {
        (counts.completed, counts.recently_completed) = (row.completed, row.recent);
        counts.recently_ended = counts.recently_ended.max(row.recent);
    }
    Ok(())
}
