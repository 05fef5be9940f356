//! Firing by hand: beside the grid, recorded as a firing of its own.

use super::record::Records;
use super::work::{self, Made, Wanted};
use crate::config::schedule::Schedule;
use crate::error::Result;
use crate::model::time::Micros;
use crate::store::connection::Connection;
use crate::store::nodes;
use crate::store::statement::Statement;

/// Makes the work of a schedule whose row, with this anchor, the caller has locked.
pub fn fire_now(
    connection: &mut Connection,
    schedule: &Schedule,
    anchor: Micros,
    sweeps: bool,
    by: &str,
) -> Result<Made> {
    let now = nodes::clock(connection)?;
    let latest = "SELECT COALESCE(MAX(scheduled_for), 0) AS n FROM soloist_firings \
                  WHERE schedule = ? AND scheduled_for >= ?";
    let name = schedule.name.as_str();
    let latest = connection.number(Statement::new(latest).bind(name).bind(now))?;
    // A due time of its own, even if the clock has not moved since the last; and none of the schedule's, which is yet to
    // be decided.
    let mut due = if latest >= now { latest + 1 } else { now };
    if schedule.timer(anchor).next(due - 1) == Some(due) {
        due += 1;
    }
    let wanted = [Wanted { schedule, due, sweeps, by_hand: true }];
    let made = work::make(connection, &wanted, now)?.pop().unwrap_or_default();
    let mut records = Records::new(now, None);
    records.by_hand(name, due, by, made);
    records.write(connection)?;
    let sql = "UPDATE soloist_schedules SET last_fired_at = ?, last_entry_id = ?, last_sweep_id = ?, run_from = NULL \
               WHERE name = ?";
    let update = Statement::new(sql).bind(now).bind(made.entry_id).bind(made.sweep_id);
    connection.execute(update.bind(name))?;
    Ok(made)
}
