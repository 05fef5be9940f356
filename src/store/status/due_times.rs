//! Due times that did not fire, and how late those fire that do.

use std::collections::BTreeMap;

use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Nullable, Text};

use super::running;
use crate::config::schedule::Overlap;
use crate::error::Result;
use crate::model::time::{Micros, SECOND};
use crate::store::connection::Connection;
use crate::store::schedules;
use crate::store::statement::Statement;

/// Lateness is judged over this long, by so many firings at most.
const JUDGED: Micros = 300 * SECOND;
const MOST: i64 = 500;
/// What fires later than this was missed and made up, or had to wait.
const MADE_UP: Micros = 20 * SECOND;
/// Schedules whose last due times are shown.
const SCHEDULES: usize = 50;

/// The newest due times of a schedule, where none of them fired.
#[derive(QueryableByName, Debug, Clone, PartialEq, Eq)]
pub struct Unfired {
    /// Whose.
    #[diesel(sql_type = Text)]
    pub schedule: String,
    /// `skipped` or `missed`.
    #[diesel(sql_type = Text)]
    pub outcome: String,
    /// Why.
    #[diesel(sql_type = Nullable<Text>)]
    pub reason: Option<String>,
    /// The first.
    #[diesel(sql_type = BigInt)]
    pub scheduled_for: Micros,
    /// The last.
    #[diesel(sql_type = Nullable<BigInt>)]
    pub until: Option<Micros>,
    /// How many.
    #[diesel(sql_type = Nullable<BigInt>)]
    pub count: Option<i64>,
    /// When the first of them was decided.
    #[diesel(sql_type = BigInt)]
    pub decided_at: Micros,
    /// The entry of the firing before, if it still goes on.
    #[diesel(sql_type = Nullable<BigInt>)]
    pub entry_id: Option<i64>,
    /// When that entry started.
    #[diesel(sql_type = Nullable<BigInt>)]
    pub started_at: Option<Micros>,
    /// The due time of that entry.
    #[diesel(sql_type = Nullable<BigInt>)]
    pub entry_for: Option<Micros>,
    /// The sweep of the firing before, if it still goes on.
    #[diesel(sql_type = Nullable<BigInt>)]
    pub sweep_id: Option<i64>,
    /// When that sweep began.
    #[diesel(sql_type = Nullable<BigInt>)]
    pub swept_from: Option<Micros>,
}

/// Schedules whose newest due time did not fire; what is usual for the run in the way, where that is known.
pub(super) fn unfired(connection: &mut Connection) -> Result<Vec<(Unfired, Option<Micros>)>> {
    // `run_from` is where the newest run of unfired due times begins, and nothing once one has fired.
    let sql = "SELECT f.schedule, f.outcome, f.reason, f.scheduled_for, f.run_until AS until, f.run_count AS count, \
               f.decided_at, CASE WHEN e.finished_at IS NULL THEN e.id END AS entry_id, e.started_at, \
               e.scheduled_for AS entry_for, CASE WHEN w.finished_at IS NULL THEN w.id END AS sweep_id, \
               w.created_at AS swept_from FROM soloist_schedules s \
               JOIN soloist_firings f ON f.schedule = s.name AND f.scheduled_for = s.run_from \
               LEFT JOIN soloist_entries e ON e.id = s.last_entry_id \
               LEFT JOIN soloist_sweeps w ON w.id = s.last_sweep_id \
               WHERE s.run_from IS NOT NULL AND s.paused_since IS NULL AND s.declared = 1 \
               AND NOT EXISTS (SELECT 1 FROM soloist_hold)";
    let mut rows: Vec<Unfired> = connection.load(Statement::new(sql))?;
    rows.sort_by(|one, other| one.schedule.cmp(&other.schedule));
    let mut unfired = Vec::new();
    for row in rows.into_iter().take(SCHEDULES) {
        let usual = if row.entry_id.is_some() { running::of_schedule(connection, &row.schedule)? } else { None };
        unfired.push((row, usual));
    }
    Ok(unfired)
}

/// How late due times fired of late.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lateness {
    /// Those that fired.
    pub fired: usize,
    /// Those of them that were more than a second late.
    pub late: usize,
    /// How late the latest was.
    pub latest: Micros,
    /// When the first of those that were late fired.
    pub since: Micros,
}

/// True if a schedule lets its due times wait for the work of the one before; also if it is gone, or one of too many.
fn queues_up(connection: &mut Connection, known: &mut BTreeMap<String, bool>, schedule: String) -> Result<bool> {
    if let Some(queues) = known.get(&schedule) {
        return Ok(*queues);
    }
    let queues = known.len() >= SCHEDULES || {
        let found = schedules::get(connection, &schedule);
        found.map_or(true, |schedule| schedule.definition.overlap == Overlap::Queue)
    };
    known.insert(schedule, queues);
    Ok(queues)
}

/// How late the due times of the last minutes fired. Firings by hand, and what was missed and made up, do not count.
pub(super) fn lateness(connection: &mut Connection, now: Micros) -> Result<Lateness> {
    #[derive(QueryableByName)]
    struct Fired {
        #[diesel(sql_type = Text)]
        schedule: String,
        #[diesel(sql_type = BigInt)]
        decided_at: i64,
        #[diesel(sql_type = BigInt)]
        late: i64,
    }
    let sql = "SELECT schedule, decided_at, decided_at - scheduled_for AS late FROM soloist_firings \
               WHERE decided_at > ? AND outcome = 'fired' AND reason IS NULL ORDER BY decided_at DESC LIMIT ?";
    let mut lateness = Lateness::default();
    let mut queues: BTreeMap<String, bool> = BTreeMap::new();
    for Fired { schedule, decided_at, late } in connection.load(Statement::new(sql).bind(now - JUDGED).bind(MOST))? {
        // What waits for its turn is late for another reason.
        if late >= MADE_UP || (late > SECOND && queues_up(connection, &mut queues, schedule)?) {
            continue;
        }
        lateness.fired += 1;
        if late > SECOND {
            lateness.late += 1;
            lateness.latest = lateness.latest.max(late);
            lateness.since = decided_at;
        }
    }
    Ok(lateness)
}
