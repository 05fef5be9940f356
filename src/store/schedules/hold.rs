//! Holding all schedules at once, on all nodes: those that are there and those that are still to come. Each keeps the pause
//! of its own.

use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Nullable, Text};
use serde_json::json;

use super::read::Paused;
use crate::error::Result;
use crate::model::By;
use crate::store::audit::{self, Subject};
use crate::store::connection::Connection;
use crate::store::statement::Statement;

/// The reason where none is given.
pub const ALL_PAUSED: &str = "all schedules are paused";

/// How all schedules are held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    /// True if the scheduler was shut down, false if it was paused. None fires either way.
    pub stopped: bool,
    /// Who did it, when and why.
    pub paused: Paused,
}

/// How all schedules are held, if they are.
pub fn held(connection: &mut Connection) -> Result<Option<Hold>> {
    #[derive(QueryableByName)]
    struct Row {
        #[diesel(sql_type = Text)]
        state: String,
        #[diesel(sql_type = Text)]
        held_by: String,
        #[diesel(sql_type = BigInt)]
        held_since: i64,
        #[diesel(sql_type = Nullable<Text>)]
        held_reason: Option<String>,
    }
    let sql = "SELECT state, held_by, held_since, held_reason FROM soloist_hold WHERE id = 1";
    let row: Option<Row> = connection.first(Statement::new(sql))?;
    Ok(row.map(|row| Hold {
        stopped: row.state == "stopped",
        paused: Paused { by: row.held_by, since: row.held_since, reason: row.held_reason },
    }))
}

/// Lets none fire until [`release`]. To pause what is held already keeps who did it, and why.
pub fn hold(connection: &mut Connection, stopped: bool, by: &By, reason: &str) -> Result<()> {
    let dialect = connection.dialect();
    let taken = match stopped {
        true => dialect.or_update("id", &["state", "held_by", "held_since", "held_reason"]),
        false => dialect.or_ignore("id"),
    };
    let sql = dialect.sql(&format!(
        "INSERT INTO soloist_hold (id, state, held_by, held_since, held_reason) VALUES (1, ?, ?, {{now}}, ?){taken}"
    ));
    let state = if stopped { "stopped" } else { "paused" };
    connection.transaction(|connection| {
        await_passes(connection)?;
        let before = held(connection)?;
        connection.execute(Statement::new(sql).bind(state).bind(by.short_name()).bind(reason))?;
        if before.is_none_or(|before| stopped && !before.stopped) {
            audit::write(connection, by, "pause", Subject::Schedules, &json!({ "reason": reason }))?;
        }
        Ok(())
    })
}

/// Waits for what fires at this moment, so that nothing fires once the hold is there. A pass leaves out what is locked
/// and waits for nobody.
fn await_passes(connection: &mut Connection) -> Result<()> {
    let lock = "UPDATE soloist_schedules SET look_at = look_at WHERE look_at IS NOT NULL";
    connection.execute(Statement::new(lock)).map(|_| ())
}

/// Lets those fire again that have no pause of their own, from their next due times on.
pub fn release(connection: &mut Connection, by: &By) -> Result<()> {
    connection.transaction(|connection| {
        if connection.execute(Statement::new("DELETE FROM soloist_hold WHERE id = 1"))? > 0 {
            audit::write(connection, by, "resume", Subject::Schedules, &json!({}))?;
        }
        // A due time that waited goes on waiting from now.
        let waiting = "UPDATE soloist_schedules SET look_at = queued_for \
                       WHERE declared = 1 AND queued_for IS NOT NULL AND paused_since IS NULL";
        connection.execute(Statement::new(waiting)).map(|_| ())
    })
}
