//! How many entries of each task wait, run and have ended.

use std::collections::BTreeMap;

use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Nullable, Text};

use crate::error::Result;
use crate::model::time::{Micros, SECOND};
use crate::store::connection::Connection;
use crate::store::statement::Statement;

const DAY: Micros = 86_400 * SECOND;
/// The rate is an average over this long.
const RATE: Micros = 300 * SECOND;
/// Attempts are judged over this long.
const JUDGED: Micros = 900 * SECOND;

/// What is counted of one task.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Counts {
    pub pending: i64,
    pub due: i64,
    pub oldest_due_at: Option<Micros>,
    pub running: i64,
    pub completed: i64,
    pub failed: i64,
    pub recently_completed: i64,
    pub recent: Recent,
}

/// Attempts of the last 15 min.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Recent {
    /// All that ended.
    pub attempts: i64,
    /// Those that did not work, to be tried again or not.
    pub failed: i64,
}

impl Counts {
    /// Completions a second, over the last minutes.
    pub(super) fn rate_per_s(&self) -> f64 {
        #[allow(clippy::cast_precision_loss)] // far below 2^53
        let rate = self.recently_completed as f64 / (RATE / SECOND) as f64;
        (rate * 1000.0).round() / 1000.0
    }
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

type ByTask = BTreeMap<String, Counts>;

/// Counts by task, of those that have anything to count.
pub(super) fn by_task(connection: &mut Connection, scope: Scope<'_>) -> Result<ByTask> {
    let mut counts = BTreeMap::new();
    waiting(connection, scope, &mut counts)?;
    running(connection, scope, &mut counts)?;
    minutes(connection, scope, &mut counts)?;
    failed(connection, scope, &mut counts)?;
    Ok(counts)
}

fn waiting(connection: &mut Connection, scope: Scope<'_>, counts: &mut ByTask) -> Result<()> {
    #[derive(QueryableByName)]
    struct Waiting {
        #[diesel(sql_type = Text)]
        task: String,
        #[diesel(sql_type = BigInt)]
        pending: i64,
        #[diesel(sql_type = BigInt)]
        due: i64,
        #[diesel(sql_type = Nullable<BigInt>)]
        oldest: Option<i64>,
    }
    let sql = "SELECT task, count(*) AS pending, count(CASE WHEN run_at <= ? THEN 1 END) AS due, \
               min(CASE WHEN run_at <= ? THEN run_at END) AS oldest \
               FROM soloist_entries WHERE state = 'pending'{task} GROUP BY task";
    for row in connection.load::<Waiting>(scope.statement(sql, &[scope.now, scope.now]))? {
        let of = counts.entry(row.task).or_default();
        (of.pending, of.due, of.oldest_due_at) = (row.pending, row.due, row.oldest);
    }
    Ok(())
}

#[derive(QueryableByName)]
struct PerTask {
    #[diesel(sql_type = Text)]
    task: String,
    #[diesel(sql_type = BigInt)]
    n: i64,
}

fn running(connection: &mut Connection, scope: Scope<'_>, counts: &mut ByTask) -> Result<()> {
    // Said three times, so that each backend finds the index that it has.
    let sql = "SELECT task, count(*) AS n FROM soloist_entries \
               WHERE state = 'running' AND node_id IS NOT NULL AND finished_at IS NULL{task} GROUP BY task";
    for row in connection.load::<PerTask>(scope.statement(sql, &[]))? {
        counts.entry(row.task).or_default().running = row.n;
    }
    Ok(())
}

/// What the sums by minute say of the last day.
fn minutes(connection: &mut Connection, scope: Scope<'_>, counts: &mut ByTask) -> Result<()> {
    #[derive(QueryableByName)]
    struct Sums {
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
               WHERE span = 60 AND starts_at > ?{task}";
    let now = scope.now;
    for row in connection.load::<Sums>(scope.statement(sql, &[now - DAY]))? {
        let of = counts.entry(row.task).or_default();
        if row.starts_at > now - JUDGED {
            of.recent.attempts += row.completed + row.retried + row.failed;
            of.recent.failed += row.retried + row.failed;
        }
        of.completed += row.completed;
        of.failed += row.failed;
        if row.starts_at > now - RATE {
            of.recently_completed += row.completed;
        }
    }
    Ok(())
}

/// Failed entries are kept long and are few: they are counted themselves too, since those that a dead node had, or an
/// outside worker, are in no node's sums.
fn failed(connection: &mut Connection, scope: Scope<'_>, counts: &mut ByTask) -> Result<()> {
    let sql = "SELECT task, count(*) AS n FROM soloist_entries \
               WHERE state = 'failed' AND finished_at > ?{task} GROUP BY task";
    for row in connection.load::<PerTask>(scope.statement(sql, &[scope.now - DAY]))? {
        let of = counts.entry(row.task).or_default();
        of.failed = of.failed.max(row.n);
    }
    Ok(())
}

/// Completed entries themselves, where the sums say nothing of the last day: entries that were pruned are missing
/// here, but a node that has not written its first sum yet is not overlooked.
pub(super) fn completed(connection: &mut Connection, task: &str, now: Micros, counts: &mut Counts) -> Result<()> {
    #[derive(QueryableByName)]
    struct Completed {
        #[diesel(sql_type = BigInt)]
        completed: i64,
        #[diesel(sql_type = BigInt)]
        recent: i64,
    }
    if counts.completed > 0 {
        return Ok(());
    }
    let sql = "SELECT count(*) AS completed, count(CASE WHEN finished_at > ? THEN 1 END) AS recent \
               FROM soloist_entries WHERE task = ? AND finished_at > ? AND state = 'completed'";
    let statement = Statement::new(sql).bind(now - RATE).bind(task).bind(now - DAY);
    if let Some(row) = connection.first::<Completed>(statement)? {
        (counts.completed, counts.recently_completed) = (row.completed, row.recent);
    }
    Ok(())
}
