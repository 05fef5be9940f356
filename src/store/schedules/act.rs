//! What people do with schedules: make, change, remove, pause, resume, fire now. Each in one transaction, over a row that
//! it locked first; a firing pass leaves out a row that is locked.

use serde_json::json;

use super::declared;
use super::read::{self, Origin, Row, SELECT, ScheduleShape, missing, shape};
use super::told;
use super::write::{self, Taken, Written};
use crate::config::schedule::Schedule;
use crate::error::{Error, Result};
use crate::model::time::Micros;
use crate::model::{By, Via};
use crate::store::audit::{self, Subject};
use crate::store::connection::Connection;
use crate::store::firings::{self, GivenUp, Made};
use crate::store::nodes;
use crate::store::statement::Statement;
use crate::store::tasks;

/// Makes a schedule; a conflict if there is one of this name.
pub fn create(connection: &mut Connection, schedule: Schedule, by: &By) -> Result<ScheduleShape> {
    let origin = if by.via == Via::Api { Origin::Api } else { Origin::Cli };
    let name = schedule.name.clone();
    let taken = |made: &str| Error::conflict(format!("there is a schedule {name:?} already; {made}"));
    connection.transaction(|connection| {
        if let Some(row) = locked(connection, &name)? {
            return Err(taken(match row.origin() {
                Origin::Config => "nodes declare it",
                Origin::Api | Origin::Cli => "change it, or remove it first",
            }));
        }
        let now = nodes::clock(connection)?;
        let made = put(connection, schedule, origin, None, now).map_err(|error| match error.is_conflict() {
            true => taken("it was made in the same moment"),
            false => error,
        })?;
        audit::write(connection, by, "create", Subject::Schedule(&name), &told::of(&made.definition))?;
        Ok(made)
    })
}

/// Puts another definition in the place of that of a schedule of this name; a conflict if nodes declare it.
pub fn change<E: From<Error>>(
    connection: &mut Connection,
    name: &str,
    by: &By,
    change: impl FnOnce(Schedule) -> Result<Schedule, E>,
) -> Result<ScheduleShape, E> {
    connection.atomically(|connection| {
        let row = free(connection, name)?;
        let before = shape(row.clone())?.definition;
        let schedule = change(before.clone().schedule(name)?)?;
        let now = nodes::clock(connection)?;
        let row = if write::is_due_alike(&row, &schedule) {
            row
        } else if firings::conclude(connection, &[name.to_owned()], now)?.is_empty() {
            free(connection, name)?
        } else {
            return Err(far_behind(name).into());
        };
        let changed = put(connection, schedule, row.origin(), Some(&row), now)?;
        let difference = told::difference(&before, &changed.definition);
        if !difference.is_empty() {
            audit::write(connection, by, "change", Subject::Schedule(name), &difference.into())?;
        }
        Ok(changed)
    })
}

/// Removes a schedule; what it has made goes on, and what is due and did not fire is recorded as skipped. A conflict as
/// long as nodes declare it; what they declare under the name of one that people made comes into force.
pub fn remove(connection: &mut Connection, name: &str, by: &By) -> Result<()> {
    connection.transaction(|connection| {
        let row = match locked(connection, name)? {
            None => return Err(missing(connection, name)?),
            Some(row) if row.origin() == Origin::Config && row.declared == 1 => return Err(declared_by_nodes(name)),
            Some(row) => row,
        };
        // What has stopped is due no more.
        if row.declared == 1 {
            let now = nodes::clock(connection)?;
            if !firings::give_up(connection, &[name.to_owned()], now, GivenUp::All, "the schedule was removed")? {
                return Err(far_behind(name));
            }
        }
        connection.execute(Statement::new("DELETE FROM soloist_schedules WHERE name = ?").bind(name))?;
        let detail = told::of(&shape(row)?.definition);
        audit::write(connection, by, "delete", Subject::Schedule(name), &detail)?;
        declared::take_up(connection, name)
    })
}

/// Lets no due time fire until [`resume`]. Pausing what is paused keeps who did first, and why.
pub fn pause(connection: &mut Connection, name: &str, by: &By, reason: Option<&str>) -> Result<ScheduleShape> {
    let sql = connection.dialect().sql(
        "UPDATE soloist_schedules SET paused_by = ?, paused_reason = ?, paused_since = {now} \
         WHERE name = ? AND paused_since IS NULL",
    );
    connection.transaction(|connection| {
        let pause = Statement::new(sql).bind(by.short_name()).bind(reason.map(str::to_owned)).bind(name);
        if connection.execute(pause)? > 0 {
            audit::write(connection, by, "pause", Subject::Schedule(name), &json!({ "reason": reason }))?;
        }
        read::get(connection, name)
    })
}

/// Lets due times fire again, from the next on.
pub fn resume(connection: &mut Connection, name: &str, by: &By) -> Result<ScheduleShape> {
    // A due time that waited goes on waiting from now.
    let sql = "UPDATE soloist_schedules SET paused_by = NULL, paused_reason = NULL, paused_since = NULL, look_at = \
               CASE WHEN declared = 1 AND queued_for IS NOT NULL THEN queued_for ELSE look_at END \
               WHERE name = ? AND paused_since IS NOT NULL";
    connection.transaction(|connection| {
        if connection.execute(Statement::new(sql).bind(name))? > 0 {
            audit::write(connection, by, "resume", Subject::Schedule(name), &json!({}))?;
        }
        read::get(connection, name)
    })
}

/// Fires now, whatever its trigger, pause and overlap say; the work that it made. Its due times stay as they are.
pub fn fire(connection: &mut Connection, name: &str, by: &By) -> Result<Made> {
    connection.transaction(|connection| {
        let Some(row) = locked(connection, name)? else { return Err(missing(connection, name)?) };
        let schedule = shape(row.clone())?.definition.schedule(name)?;
        let made = firings::fire_now(connection, &schedule, row.anchor, row.sweeps == 1, &by.name)?;
        let detail = json!({ "task": schedule.task, "entry": made.entry_id, "sweep": made.sweep_id });
        audit::write(connection, by, "fire", Subject::Schedule(name), &detail)?;
        Ok(made)
    })
}

fn locked(connection: &mut Connection, name: &str) -> Result<Option<Row>> {
    let sql = format!("{SELECT} WHERE name = ?{}", connection.dialect().for_update());
    connection.first(Statement::new(sql).bind(name))
}

fn far_behind(name: &str) -> Error {
    Error::transient(format!("schedule {name:?} is far behind: what it was due for is decided first; try again"))
}

fn declared_by_nodes(name: &str) -> Error {
    Error::conflict(format!(
        "schedule {name:?} is declared by nodes: change it in their configuration; it can be paused, resumed and \
             fired here"
    ))
}

/// A schedule that nodes do not declare.
fn free(connection: &mut Connection, name: &str) -> Result<Row> {
    match locked(connection, name)? {
        None => Err(missing(connection, name)?),
        Some(row) if row.origin() == Origin::Config => Err(declared_by_nodes(name)),
        Some(row) => Ok(row),
    }
}

fn put(
    connection: &mut Connection,
    schedule: Schedule,
    origin: Origin,
    before: Option<&Row>,
    now: Micros,
) -> Result<ScheduleShape> {
    let living = tasks::declared::living(connection)?;
    let sweeps = match (living.tasks.get(&schedule.task), before) {
        (Some(task), _) => task.source,
        // Its node may be away for a moment.
        (None, Some(row)) if shape(row.clone())?.definition.task == schedule.task => row.sweeps == 1,
        (None, _) => {
            let near =
                living.nearest(&schedule.task).map(|name| format!("; did you mean {name:?}?")).unwrap_or_default();
            return Err(Error::usage(format!("task: no living node declares {:?}{near}", schedule.task)));
        }
    };
    let name = schedule.name.clone();
    let written = Written::new(schedule, origin, sweeps, now, before);
    let taken = if before.is_some() { Taken::Replace } else { Taken::Refuse };
    write::write(connection, &[written], now, taken)?;
    read::get(connection, &name)
}
