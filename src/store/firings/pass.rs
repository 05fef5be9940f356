//! One firing pass: the schedules that are due, decided together in one transaction of a handful of statements.

use std::time::Duration;

use diesel::QueryableByName;
use diesel::sql_types::BigInt;

use super::batch::{self, Done, Terms};
use super::decided::{ROW, Row};
use crate::error::Result;
use crate::firing::{self, Outcome};
use crate::model::time::{Micros, SECOND};
use crate::store::connection::Connection;
use crate::store::dialect::Dialect;
use crate::store::statement::Statement;

/// Schedules that one pass takes.
const BATCH: i64 = 500;

/// How soon a schedule is looked at again whose work the database refuses.
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
    /// Schedules that this version cannot read: left to nodes that can.
    pub leave: Vec<String>,
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
    /// Schedules that this version cannot read, and why. They are as they were, for nodes that can.
    pub unreadable: Vec<(String, String)>,
}

/// Fires what is due.
pub fn pass(connection: &mut Connection, pass: &Pass) -> Result<Passed> {
    let overdue = crate::model::time::micros(pass.overdue);
    // Read first: most looks find nothing, and take no lock.
    let Some(in_micros) = next_look(connection, pass)? else { return Ok(Passed::default()) };
    if in_micros + overdue > 0 {
        return Ok(Passed { next_in: Some(span(in_micros + overdue)), ..Passed::default() });
    }
    let mut names = Vec::new();
    let together = connection.transaction(|connection| {
        let rows = due(connection, pass, None)?;
        names = rows.iter().map(|row| row.name.clone()).collect();
        let full = rows.len() == usize::try_from(BATCH).unwrap_or_default();
        let done = fire(connection, pass, rows)?;
        Ok(Done { more: full || done.more, ..done })
    });
    let done = match together {
        Err(error) if !error.is_transient() => {
            tracing::warn!(%error, "due schedules could not be fired together: one by one");
            one_by_one(connection, pass, &names)?
        }
        result => result?,
    };
    let Done { fired, woken, told, more, unreadable } = done;
    let next = if more { Some(0) } else { next_look(connection, pass)? };
    Ok(Passed { fired, woken, told, next_in: next.map(|next| span(next + overdue)), unreadable })
}

/// Fires what is due, each schedule in a transaction of its own, so that one which the database refuses does not keep
/// the others from firing.
fn one_by_one(connection: &mut Connection, pass: &Pass, names: &[String]) -> Result<Done> {
    let mut done = Done::default();
    for name in names {
        let one = connection.transaction(|connection| {
            let rows = due(connection, pass, Some(name))?;
            fire(connection, pass, rows)
        });
        match one {
            Ok(one) => {
                done.fired += one.fired;
                done.woken += one.woken;
                done.told.extend(one.told);
                done.unreadable.extend(one.unreadable);
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
fn next_look(connection: &mut Connection, pass: &Pass) -> Result<Option<Micros>> {
    #[derive(QueryableByName)]
    struct Next {
        #[diesel(sql_type = BigInt)]
        wait: i64,
    }
    let dialect = connection.dialect();
    let sql = dialect.sql("SELECT look_at - {now} AS wait FROM soloist_schedules WHERE look_at IS NOT NULL");
    let statement = without(Statement::new(sql), dialect, &pass.leave).text(" ORDER BY look_at LIMIT 1");
    Ok(connection.first::<Next>(statement)?.map(|next| next.wait))
}

/// Locks what is due, of all or of one name, as long as nobody else has.
fn due(connection: &mut Connection, pass: &Pass, name: Option<&str>) -> Result<Vec<Row>> {
    let dialect = connection.dialect();
    let sql = dialect.sql(&format!(
        "SELECT {ROW}, {{now}} AS now FROM soloist_schedules WHERE look_at IS NOT NULL AND look_at <= {{now}} - ?"
    ));
    let statement = Statement::new(sql).bind(crate::model::time::micros(pass.overdue));
    let statement = match name {
        Some(name) => statement.text(" AND name = ?").bind(name),
        None => without(statement, dialect, &pass.leave).text(" ORDER BY look_at LIMIT ?").bind(BATCH),
    };
    connection.load(statement.text(dialect.skip_locked()))
}

fn without(statement: Statement, dialect: Dialect, names: &[String]) -> Statement {
    if names.is_empty() {
        return statement;
    }
    statement.text(&format!(" AND NOT {}", dialect.among_texts("name"))).bind(dialect.texts(names))
}

fn fire(connection: &mut Connection, pass: &Pass, rows: Vec<Row>) -> Result<Done> {
    let Some(now) = rows.first().map(|row| row.now) else { return Ok(Done::default()) };
    let missed_before = firing::missed_before(now, pass.lease, batch::schedulers(connection)?.since);
    batch::decide(connection, &Terms { node: Some(&pass.node), missed_before, may_wait: true }, rows)
}
