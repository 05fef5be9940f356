//! Before a schedule changes, stops or goes: what was due until then is decided, so that each due time ends on record.
//! Within the transaction that changes it.

use std::time::Duration;

use super::batch::{self, Terms};
use super::decided::{Decided, ROW, Row};
use crate::error::Result;
use crate::firing;
use crate::model::time::Micros;
use crate::store::connection::Connection;
use crate::store::statement::Statement;

/// Decisions about one schedule in one transaction, each about as many due times as `firing` takes at once.
const ROUNDS: usize = 20;

/// A lease where no scheduler lives that has one.
const USUAL_LEASE: Duration = Duration::from_secs(15);

/// Why a due time did not fire whose schedule was changed.
const REFUSED: &str = "the database refused its work, and then the schedule was changed";

/// What is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GivenUp {
    /// A due time that waits for the work before it.
    Queued,
    /// That, and all that was due until now.
    All,
}

/// Decides what these schedules were due for until `now`, by what is in force, with nothing left waiting but a queued
/// due time. Those that are too far behind for one transaction come back.
pub fn conclude(connection: &mut Connection, names: &[String], now: Micros) -> Result<Vec<String>> {
    let mut behind = Vec::new();
    let rows = undecided(connection, names, now)?;
    if rows.is_empty() {
        return Ok(behind);
    }
    let living = batch::schedulers(connection)?;
    let lease = living.lease.and_then(|lease| u64::try_from(lease).ok()).map_or(USUAL_LEASE, Duration::from_micros);
    let missed_before = firing::missed_before(now, lease, living.since);
    let terms = Terms { node: None, missed_before, may_wait: false };
    for row in rows {
        let name = row.name.clone();
        if !conclude_one(connection, row, &terms)? {
            behind.push(name);
        }
    }
    Ok(behind)
}

/// False if it is too far behind.
fn conclude_one(connection: &mut Connection, mut row: Row, terms: &Terms<'_>) -> Result<bool> {
    let (name, now) = ([row.name.clone()], row.now);
    for _ in 0..ROUNDS {
        match connection.transaction(|connection| batch::decide(connection, terms, vec![row])) {
            // Of another version: when it was due is not known here.
            Ok(done) if !done.unreadable.is_empty() => return Ok(true),
            Ok(_) => {}
            Err(error) if error.is_transient() => return Err(error),
            Err(error) => {
                tracing::error!(schedule = name[0], %error, "what was due before the change cannot be fired");
                return give_up(connection, &name, now, GivenUp::All, REFUSED);
            }
        }
        match undecided(connection, &name, now)?.pop() {
            Some(next) => row = next,
            None => return Ok(true),
        }
    }
    Ok(false)
}

/// Records as skipped what these schedules have left; false if they are too far behind for one transaction.
pub fn give_up(
    connection: &mut Connection,
    names: &[String],
    now: Micros,
    what: GivenUp,
    reason: &'static str,
) -> Result<bool> {
    for _ in 0..ROUNDS {
        let left = match what {
            GivenUp::Queued => "queued_for <= ?",
            GivenUp::All => "(queued_for <= ? OR next_fire_at <= ?)",
        };
        let rows = lock(connection, names, left, now)?;
        let given_up = |row: Row| {
            let schedule = row.schedule().ok()?;
            Some(Decided::given_up(row, schedule, what == GivenUp::All, reason))
        };
        let decided: Vec<_> = rows.into_iter().filter_map(given_up).collect();
        if decided.is_empty() {
            return Ok(true);
        }
        batch::write(connection, decided, None)?;
    }
    Ok(false)
}

/// Locks those of these schedules that were due until `now` and are not decided.
fn undecided(connection: &mut Connection, names: &[String], now: Micros) -> Result<Vec<Row>> {
    lock(connection, names, "next_fire_at <= ?", now)
}

/// Locks those of these schedules to which a condition on instants up to `now` applies.
fn lock(connection: &mut Connection, names: &[String], condition: &str, now: Micros) -> Result<Vec<Row>> {
    let dialect = connection.dialect();
    let among = dialect.among_texts("name");
    let sql = format!(
        "SELECT {ROW}, {{now}} AS now FROM soloist_schedules WHERE {among} AND {condition}{}",
        dialect.for_update()
    );
    let mut statement = Statement::new(dialect.sql(&sql)).bind(dialect.texts(names));
    for _ in condition.matches('?') {
        statement = statement.bind(now);
    }
    let mut rows: Vec<Row> = connection.load(statement)?;
    rows.iter_mut().for_each(|row| row.now = now);
    Ok(rows)
}
