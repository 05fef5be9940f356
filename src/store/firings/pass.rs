//! One firing pass: the schedules that are due, decided together in one transaction of a handful of statements.

use std::time::{Duration, Instant};

use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Nullable};

use super::decided::{Decided, Row};
use super::record::{self, Moved, Records};
use super::work;
use crate::error::Result;
use crate::firing::{self, Outcome};
use crate::model::time::{Micros, SECOND};
use crate::store::connection::Connection;
use crate::store::statement::Statement;

/// Schedules that one pass takes.
const BATCH: i64 = 500;

/// Firings and time after which a pass decides about no further schedule: schedules far behind must not make one
/// transaction long.
const MOST: usize = 2000;
const SPAN: Duration = Duration::from_millis(200);

/// How soon a schedule is looked at again that this version cannot read, or whose work the database refuses.
const REFUSED: Micros = 60 * SECOND;

/// Who fires, and what.
#[derive(Debug, Clone)]
pub struct Pass {
    /// The node's label, kept with the firing.
    pub node: String,
    /// How long a lease lasts.
    pub lease: Duration,
    /// Only what is overdue by this much: nothing for the leader.
    pub overdue: Duration,
}

/// What was decided about due times of a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// Whose.
    pub schedule: String,
    /// What became of them.
    pub outcome: Outcome,
    /// How many.
    pub count: u64,
    /// How late it was, of one that fired.
    pub late: Option<Micros>,
}

/// What a pass came to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Passed {
    /// Due times that fired.
    pub fired: usize,
    /// Retries that were brought forward to now.
    pub woken: usize,
    /// What was decided, for the metrics.
    pub told: Vec<Told>,
    /// How long until the next schedule is to be looked at; nothing if none is to come. Zero if there is more now.
    pub next_in: Option<Duration>,
}

/// Fires what is due.
pub fn pass(connection: &mut Connection, pass: &Pass) -> Result<Passed> {
    let overdue = crate::model::time::micros(pass.overdue);
    // Read first: most looks find nothing, and take no lock.
    let Some(in_micros) = next_look(connection)? else { return Ok(Passed::default()) };
    if in_micros + overdue > 0 {
        return Ok(Passed { next_in: Some(span(in_micros + overdue)), ..Passed::default() });
    }
    let mut names = Vec::new();
    let together = connection.transaction(|connection| {
        let rows = due(connection, overdue, None)?;
        names = rows.iter().map(|row| row.name.clone()).collect();
        let full = rows.len() == usize::try_from(BATCH).unwrap_or_default();
        let done = fire(connection, pass, rows)?;
        Ok(Done { more: full || done.more, ..done })
    });
    let done = match together {
        Err(error) if !error.is_transient() => {
            tracing::warn!(%error, "due schedules could not be fired together: one by one");
            one_by_one(connection, pass, overdue, &names)?
        }
        result => result?,
    };
    let next = if done.more { Some(0) } else { next_look(connection)? };
    let next_in = next.map(|next| span(next + overdue));
    Ok(Passed { fired: done.fired, woken: done.woken, told: done.told, next_in })
}

/// What one transaction came to.
#[derive(Default)]
struct Done {
    fired: usize,
    /// Retries that begin now.
    woken: usize,
    told: Vec<Told>,
    /// True if there may be more now.
    more: bool,
}

/// Fires what is due, each schedule in a transaction of its own, so that one which the database refuses does not keep
/// the others from firing.
fn one_by_one(connection: &mut Connection, pass: &Pass, overdue: Micros, names: &[String]) -> Result<Done> {
    let mut done = Done::default();
    for name in names {
        let one = connection.transaction(|connection| {
            let rows = due(connection, overdue, Some(name))?;
            fire(connection, pass, rows)
        });
        match one {
            Ok(one) => {
                done.fired += one.fired;
                done.woken += one.woken;
                done.told.extend(one.told);
            }
            Err(error) if !error.is_transient() => {
                tracing::error!(schedule = name, %error, "the schedule cannot be fired; tried again in a minute");
                let later = "UPDATE soloist_schedules SET look_at = {now} + ? WHERE name = ? AND look_at <= {now}";
                let later = connection.dialect().sql(later);
                connection.execute(Statement::new(later).bind(REFUSED).bind(name.as_str()))?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

fn span(micros: Micros) -> Duration {
    Duration::from_micros(u64::try_from(micros).unwrap_or(0))
}

/// Microseconds until the first schedule is to be looked at.
fn next_look(connection: &mut Connection) -> Result<Option<Micros>> {
    #[derive(QueryableByName)]
    struct Next {
        #[diesel(sql_type = BigInt)]
        wait: i64,
    }
    let sql = connection.dialect().sql(
        "SELECT look_at - {now} AS wait FROM soloist_schedules WHERE look_at IS NOT NULL ORDER BY look_at LIMIT 1",
    );
    Ok(connection.first::<Next>(Statement::new(sql))?.map(|next| next.wait))
}

/// Locks what is due, of all or of one name, as long as nobody else has.
fn due(connection: &mut Connection, overdue: Micros, name: Option<&str>) -> Result<Vec<Row>> {
    let dialect = connection.dialect();
    let sql = dialect.sql(
        "SELECT name, definition, sweeps, anchor, next_fire_at, decided_until, queued_for, last_fired_at, \
         last_entry_id, last_sweep_id, run_from, \
         COALESCE(paused_since, (SELECT held_since FROM soloist_hold WHERE id = 1)) AS paused_since, \
         {now} AS now FROM soloist_schedules \
         WHERE look_at IS NOT NULL AND look_at <= {now} - ?",
    );
    let statement = Statement::new(sql).bind(overdue);
    let statement = match name {
        Some(name) => statement.text(" AND name = ?").bind(name),
        None => statement.text(" ORDER BY look_at LIMIT ?").bind(BATCH),
    };
    connection.load(statement.text(dialect.skip_locked()))
}

fn fire(connection: &mut Connection, pass: &Pass, rows: Vec<Row>) -> Result<Done> {
    let Some(now) = rows.first().map(|row| row.now) else { return Ok(Done::default()) };
    let began = Instant::now();
    let missed_before = firing::missed_before(now, pass.lease, oldest_scheduler(connection)?);
    let entries: Vec<_> = rows.iter().filter_map(|row| row.last_entry_id).collect();
    let sweeps: Vec<_> = rows.iter().filter_map(|row| row.last_sweep_id).collect();
    let going = work::going(connection, &entries, &sweeps)?;
    let (mut decided, mut moved) = (Vec::new(), Vec::new());
    let (mut firing, mut more) = (0, false);
    for row in rows {
        if firing >= MOST || began.elapsed() >= SPAN {
            more = true;
            break;
        }
        match row.schedule() {
            Ok(schedule) => {
                let one = Decided::of(row, schedule, &going, missed_before);
                firing += one.wanted().count();
                decided.push(one);
            }
            Err(error) => {
                tracing::error!(schedule = row.name, %error, "the schedule cannot be read; tried again in a minute");
                moved.push(Moved { look_at: Some(now + REFUSED), ..row.unmoved() });
            }
        }
    }
    let forward: Vec<_> = decided.iter().filter_map(Decided::retry_to_bring_forward).collect();
    work::bring_forward(connection, &forward)?;
    // Whoever moved a due time back by hand, or named a moment again that has fired, finds it fired.
    let known = record::known(connection, &decided.iter().flat_map(Decided::keys).collect::<Vec<_>>())?;
    for one in &mut decided {
        one.leave_out(&known);
    }
    let wanted: Vec<_> = decided.iter().flat_map(Decided::wanted).collect();
    let made = work::make(connection, &wanted, now)?;
    let runs = record::open_runs(connection, &decided.iter().filter_map(Decided::open_run).collect::<Vec<_>>())?;
    let mut records = Records::new(now, &pass.node);
    let (fired, mut made) = (made.len(), made.into_iter());
    for one in decided.iter().filter(|one| one.is_moved()) {
        moved.push(one.record(&mut made, &runs, &mut records));
    }
    records.write(connection)?;
    record::move_on(connection, &moved)?;
    let told = decided.iter().flat_map(Decided::told).collect();
    Ok(Done { fired, woken: forward.len(), told, more })
}

/// When the oldest of the living schedulers started.
fn oldest_scheduler(connection: &mut Connection) -> Result<Option<Micros>> {
    #[derive(QueryableByName)]
    struct Since {
        #[diesel(sql_type = Nullable<BigInt>)]
        since: Option<i64>,
    }
    let sql = connection.dialect().sql(
        "SELECT MIN(started_at) AS since FROM soloist_nodes \
         WHERE lease_until > {now} AND stopped_at IS NULL AND roles LIKE '%scheduler%'",
    );
    Ok(connection.first::<Since>(Statement::new(sql))?.and_then(|row| row.since))
}
