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
}

impl Counts {
    /// Completions a second, over the last minutes.
    pub(super) fn rate_per_s(&self) -> f64 {
        #[allow(clippy::cast_precision_loss)] // far below 2^53
        let rate = self.recently_completed as f64 / (RATE / SECOND) as f64;
        (rate * 1000.0).round() / 1000.0
    }
}

/// Counts by task, of those that have anything to count.
pub(super) fn by_task(connection: &mut Connection, now: Micros) -> Result<BTreeMap<String, Counts>> {
    let mut counts = BTreeMap::new();
    waiting(connection, now, &mut counts)?;
    running(connection, &mut counts)?;
    minutes(connection, now, &mut counts)?;
    Ok(counts)
}

fn waiting(connection: &mut Connection, now: Micros, counts: &mut BTreeMap<String, Counts>) -> Result<()> {
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
               FROM soloist_entries WHERE state = 'pending' GROUP BY task";
    for row in connection.load::<Waiting>(Statement::new(sql).bind(now).bind(now))? {
        let of = counts.entry(row.task).or_default();
        (of.pending, of.due, of.oldest_due_at) = (row.pending, row.due, row.oldest);
    }
    Ok(())
}

fn running(connection: &mut Connection, counts: &mut BTreeMap<String, Counts>) -> Result<()> {
    #[derive(QueryableByName)]
    struct Running {
        #[diesel(sql_type = Text)]
        task: String,
        #[diesel(sql_type = BigInt)]
        n: i64,
    }
    // Said three times, so that each backend finds the index that it has.
    let sql = "SELECT task, count(*) AS n FROM soloist_entries \
               WHERE state = 'running' AND node_id IS NOT NULL AND finished_at IS NULL GROUP BY task";
    for row in connection.load::<Running>(Statement::new(sql))? {
        counts.entry(row.task).or_default().running = row.n;
    }
    Ok(())
}

/// What the sums by minute say of the last day.
fn minutes(connection: &mut Connection, now: Micros, counts: &mut BTreeMap<String, Counts>) -> Result<()> {
    #[derive(QueryableByName)]
    struct Sums {
        #[diesel(sql_type = Text)]
        task: String,
        #[diesel(sql_type = BigInt)]
        starts_at: i64,
        #[diesel(sql_type = BigInt)]
        completed: i64,
        #[diesel(sql_type = BigInt)]
        failed: i64,
    }
    let sql = "SELECT task, starts_at, completed, failed FROM soloist_minutes WHERE span = 60 AND starts_at > ?";
    for row in connection.load::<Sums>(Statement::new(sql).bind(now - DAY))? {
        let of = counts.entry(row.task).or_default();
        of.completed += row.completed;
        of.failed += row.failed;
        if row.starts_at > now - RATE {
            of.recently_completed += row.completed;
        }
    }
    Ok(())
}

/// The same from the entries themselves, where the sums say nothing of the last day: entries that were pruned are
/// missing here, but a node that has not written its first sum yet is not overlooked.
pub(super) fn ended(connection: &mut Connection, task: &str, now: Micros, counts: &mut Counts) -> Result<()> {
    #[derive(QueryableByName)]
    struct Ended {
        #[diesel(sql_type = BigInt)]
        completed: i64,
        #[diesel(sql_type = BigInt)]
        failed: i64,
        #[diesel(sql_type = BigInt)]
        recent: i64,
    }
    if counts.completed > 0 || counts.failed > 0 {
        return Ok(());
    }
    let sql = "SELECT count(CASE WHEN state = 'completed' THEN 1 END) AS completed, \
               count(CASE WHEN state = 'failed' THEN 1 END) AS failed, \
               count(CASE WHEN state = 'completed' AND finished_at > ? THEN 1 END) AS recent \
               FROM soloist_entries WHERE task = ? AND finished_at > ?";
    let statement = Statement::new(sql).bind(now - RATE).bind(task).bind(now - DAY);
    if let Some(row) = connection.first::<Ended>(statement)? {
        (counts.completed, counts.failed, counts.recently_completed) = (row.completed, row.failed, row.recent);
    }
    Ok(())
}
