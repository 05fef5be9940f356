//! What runs for longer than usual, what a run of its kind usually takes, and when a task last started anything.

use std::collections::BTreeMap;

use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Nullable, Text};

use crate::error::Result;
use crate::model::sums::BUCKETS;
use crate::model::time::{Micros, SECOND};
use crate::store::connection::Connection;
use crate::store::firings;
use crate::store::statement::Statement;
use crate::store::tasks::{RunningOn, TaskShape};

/// What runs for less is not looked at.
const LONG: Micros = 60 * SECOND;
/// Entries that are looked at.
const MOST: i64 = 100;
/// Runs that say what is usual, at most and at least.
const RUNS: i64 = 50;
const FEWEST: usize = 3;
/// What waits for less is not asked when it last started.
const WAITS: f64 = 10.0;

/// An entry that runs for long.
#[derive(QueryableByName, Debug, Clone, PartialEq, Eq)]
pub struct LongRun {
    /// The entry.
    #[diesel(sql_type = BigInt)]
    pub id: i64,
    /// Its task.
    #[diesel(sql_type = Text)]
    pub task: String,
    /// The schedule that made it.
    #[diesel(sql_type = Nullable<Text>)]
    pub schedule: Option<String>,
    /// The node's incarnation; 0 for outside workers.
    #[diesel(sql_type = BigInt)]
    pub node_id: i64,
    /// When it started.
    #[diesel(sql_type = BigInt)]
    pub started_at: Micros,
}

/// What runs for more than a minute, oldest first, with what is usual where that is known.
pub(super) fn long(
    connection: &mut Connection,
    now: Micros,
    running: &[RunningOn],
) -> Result<Vec<(LongRun, Option<Micros>)>> {
    let mut found = Vec::new();
    let mut usual: BTreeMap<String, Option<Micros>> = BTreeMap::new();
    let is_long = |on: &&RunningOn| on.oldest.is_some_and(|oldest| oldest < now - LONG);
    let sql = "SELECT id, task, schedule, node_id, started_at FROM soloist_entries WHERE state = 'running' \
               AND node_id IS NOT NULL AND finished_at IS NULL AND node_id = ? AND task = ? AND started_at < ? LIMIT ?";
    for on in running.iter().filter(is_long).take(20) {
        let statement = Statement::new(sql).bind(on.node_id).bind(on.task.as_str()).bind(now - LONG).bind(MOST);
        for run in connection.load::<LongRun>(statement)? {
            let kind = run.schedule.as_ref().unwrap_or(&run.task);
            let usual = match usual.get(kind) {
                Some(usual) => *usual,
                None => {
                    let median = match &run.schedule {
                        Some(schedule) => of_schedule(connection, schedule)?,
                        None => of_task(connection, &run.task)?,
                    };
                    *usual.entry(kind.clone()).or_insert(median)
                }
            };
            found.push((run, usual));
        }
    }
    found.sort_by_key(|(run, _)| (run.started_at, run.id));
    Ok(found)
}

/// The median run of a schedule's last firings that completed.
pub(super) fn of_schedule(connection: &mut Connection, schedule: &str) -> Result<Option<Micros>> {
    let last = firings::list(connection, Some(schedule), None, usize::try_from(RUNS).unwrap_or_default())?;
    let completed = last.iter().filter(|firing| firing.result.as_deref() == Some("completed"));
    Ok(median(completed.filter_map(|firing| Some(firing.ended_at? - firing.fired_at?)).collect()))
}

/// The median run of a task's last entries that completed.
pub(super) fn of_task(connection: &mut Connection, task: &str) -> Result<Option<Micros>> {
    #[derive(QueryableByName)]
    struct Run {
        #[diesel(sql_type = BigInt)]
        run: i64,
    }
    let sql = "SELECT run FROM (SELECT state, finished_at - started_at AS run FROM soloist_entries \
               WHERE task = ? AND finished_at IS NOT NULL ORDER BY finished_at DESC LIMIT ?) AS ended \
               WHERE state = 'completed' AND run IS NOT NULL";
    let runs: Vec<Run> = connection.load(Statement::new(sql).bind(task).bind(RUNS))?;
    Ok(median(runs.into_iter().map(|row| row.run).collect()))
}

fn median(mut runs: Vec<Micros>) -> Option<Micros> {
    runs.sort_unstable();
    if runs.len() < FEWEST { None } else { runs.get(runs.len() / 2).copied() }
}

/// When tasks whose entries wait for long last started one, of those that are declared: as far as is known, and not
/// before that.
pub(super) fn last_starts(
    connection: &mut Connection,
    now: Micros,
    tasks: &[TaskShape],
    running: &[RunningOn],
) -> Result<BTreeMap<String, Micros>> {
    let waits = |task: &&TaskShape| {
        let long = task.oldest_due_age_s.is_some_and(|age| age >= WAITS);
        long && task.handler.is_some() && task.paused.is_none() && task.held.is_none()
    };
    let mut starts = BTreeMap::new();
    for task in tasks.iter().filter(waits) {
        let name = task.name.as_str();
        let ended = "SELECT COALESCE(started_at, finished_at) AS n FROM soloist_entries \
                     WHERE task = ? AND finished_at IS NOT NULL ORDER BY finished_at DESC LIMIT 1";
        let ended = connection.number(Statement::new(ended).bind(name))?;
        // An attempt that ended somewhen in a minute began at its end at the latest.
        let minute = "SELECT COALESCE(MAX(starts_at), 0) AS n FROM soloist_minutes \
                      WHERE span = 60 AND starts_at > ? AND task = ?";
        let minute = connection.number(Statement::new(minute).bind(now - 900 * SECOND).bind(name))?;
        let running = running.iter().filter(|on| on.task == name).filter_map(|on| on.newest).max();
        let minute = if minute > 0 { (minute + 60 * SECOND).min(now) } else { 0 };
        starts.insert(task.name.clone(), ended.max(minute).max(running.unwrap_or(0)));
    }
    Ok(starts)
}

/// What an entry of a task usually waits for, by the sums of one minute of each of the last 24 hours.
pub(super) fn usual_wait(connection: &mut Connection, now: Micros, task: &str) -> Result<Option<Micros>> {
    #[derive(QueryableByName)]
    struct Waits {
        #[diesel(sql_type = Text)]
        waits: String,
    }
    let hour = 3600 * SECOND;
    let minute = (now - hour).div_euclid(60 * SECOND) * 60 * SECOND;
    let minutes: Vec<_> = (0..24).map(|hours| (minute - hours * hour).to_string()).collect();
    let sql = format!(
        "SELECT waits FROM soloist_minutes WHERE span = 60 AND starts_at IN ({}) AND task = ?",
        minutes.join(", ")
    );
    let rows: Vec<Waits> = connection.load(Statement::new(sql).bind(task).once())?;
    let mut counts = vec![0_i64; BUCKETS.len() + 1];
    for row in rows {
        for (sum, n) in counts.iter_mut().zip(row.waits.split(',')) {
            *sum += n.parse::<i64>().unwrap_or(0);
        }
    }
    let half = counts.iter().sum::<i64>() / 2;
    let mut passed = 0;
    let place = counts.iter().position(|n| {
        passed += n;
        passed > half
    });
    Ok(place.map(|place| BUCKETS.get(place).copied().unwrap_or(Micros::MAX / 20)))
}
