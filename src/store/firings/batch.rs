//! Decides about schedules whose rows are locked, all together, and writes what comes of it, in a handful of statements.

use std::time::{Duration, Instant};

use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Nullable};

use super::decided::{Decided, Row};
use super::pass::Told;
use super::record::{self, Moved, Records};
use super::work;
use crate::error::Result;
use crate::firing::Outcome;
use crate::model::time::Micros;
use crate::store::connection::Connection;
use crate::store::statement::Statement;

/// Firings and time after which no further schedule is decided: schedules far behind must not make one transaction
/// long.
const MOST: usize = 2000;
const SPAN: Duration = Duration::from_millis(200);

/// By what is decided.
pub(super) struct Terms<'a> {
    /// The node that decides; nothing if no pass does.
    pub node: Option<&'a str>,
    /// A due time earlier than this is missed, not late.
    pub missed_before: Micros,
    /// False if no due time may wait any more for the work before it.
    pub may_wait: bool,
}

/// What one transaction came to.
#[derive(Default)]
pub(super) struct Done {
    pub fired: usize,
    /// Retries that begin now.
    pub woken: usize,
    /// What was decided.
    pub told: Vec<Told>,
    /// True if there may be more now.
    pub more: bool,
    /// Schedules that this version cannot read, and why: they are as they were.
    pub unreadable: Vec<(String, String)>,
}

/// Decides about all that these schedules are due for.
pub(super) fn decide(connection: &mut Connection, terms: &Terms<'_>, rows: Vec<Row>) -> Result<Done> {
    let began = Instant::now();
    let entries: Vec<_> = rows.iter().filter_map(|row| row.last_entry_id).collect();
    let sweeps: Vec<_> = rows.iter().filter_map(|row| row.last_sweep_id).collect();
    let going = work::going(connection, &entries, &sweeps)?;
    let (mut decided, mut done) = (Vec::new(), Done::default());
    let mut firing = 0;
    for row in rows {
        if firing >= MOST || began.elapsed() >= SPAN {
            done.more = true;
            break;
        }
        match row.schedule() {
            Ok(schedule) => {
                let one = Decided::of(row, schedule, &going, terms);
                firing += one.wanted().count();
                decided.push(one);
            }
            Err(error) => done.unreadable.push((row.name, error.to_string())),
        }
    }
    let forward: Vec<_> = decided.iter().filter_map(Decided::retry_to_bring_forward).collect();
    work::bring_forward(connection, &forward)?;
    let told = write(connection, decided, terms.node)?;
    let fired = told.iter().filter(|told| told.outcome == Outcome::Fired).count();
    Ok(Done { fired, woken: forward.len(), told, ..done })
}

/// Makes the work, writes the firings and moves the schedules on; what was decided.
pub(super) fn write(connection: &mut Connection, mut decided: Vec<Decided>, node: Option<&str>) -> Result<Vec<Told>> {
    let Some(now) = decided.first().map(Decided::now) else { return Ok(Vec::new()) };
    // Whoever moved a due time back by hand, or named a moment again that has fired, finds it fired.
    let known = record::known(connection, &decided.iter().flat_map(Decided::keys).collect::<Vec<_>>())?;
    for one in &mut decided {
        one.leave_out(&known);
    }
    let wanted: Vec<_> = decided.iter().flat_map(Decided::wanted).collect();
    let made = work::make(connection, &wanted, now)?;
    let runs = record::open_runs(connection, &decided.iter().filter_map(Decided::open_run).collect::<Vec<_>>())?;
    let mut records = Records::new(now, node);
    let mut made = made.into_iter();
    let moved: Vec<Moved> =
        decided.iter().filter(|one| one.is_moved()).map(|one| one.record(&mut made, &runs, &mut records)).collect();
    records.write(connection)?;
    record::move_on(connection, &moved)?;
    Ok(decided.iter().flat_map(Decided::told).collect())
}

/// The living schedulers.
#[derive(QueryableByName)]
pub(super) struct Schedulers {
    /// When the oldest of them started.
    #[diesel(sql_type = Nullable<BigInt>)]
    pub since: Option<i64>,
    /// How long the longest of their leases lasts.
    #[diesel(sql_type = Nullable<BigInt>)]
    pub lease: Option<i64>,
}

pub(super) fn schedulers(connection: &mut Connection) -> Result<Schedulers> {
    let sql = connection.dialect().sql(
        "SELECT MIN(started_at) AS since, MAX(lease_until - seen_at) AS lease FROM soloist_nodes \
         WHERE lease_until > {now} AND stopped_at IS NULL AND roles LIKE '%scheduler%'",
    );
    let none = Schedulers { since: None, lease: None };
    Ok(connection.first(Statement::new(sql))?.unwrap_or(none))
}
