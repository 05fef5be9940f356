//! Tasks whose host refuses: held back over all nodes, with a probe now and then.

use std::time::Duration;

use serde_json::json;

use super::audit::{self, Subject};
use super::connection::Connection;
use super::statement::Statement;
use crate::error::Result;
use crate::model::By;
use crate::model::time::micros;

/// The longest between two probes.
const MOST: Duration = Duration::from_secs(60);

/// Holds a task back, or puts the next probe off further if it is held already.
pub fn hold(connection: &mut Connection, task: &str, reason: &str) -> Result<()> {
    let dialect = connection.dialect();
    let insert = dialect.sql(&format!("INSERT INTO soloist_tasks (name) VALUES (?){}", dialect.or_ignore("name")));
    // The wait doubles from one second. Refusals that were already on their way when the hold began do not count as
    // further probes: they come before the next probe is due.
    let update = dialect.sql(
        "UPDATE soloist_tasks SET held_reason = ?, \
         next_probe_at = CASE WHEN held_since IS NULL OR next_probe_at IS NULL THEN {now} + 1000000 \
           WHEN held_probing = 1 THEN {now} + CASE WHEN held_count > 6 THEN ? ELSE 1000000 * (1 << held_count) END \
           ELSE next_probe_at END, \
         held_count = CASE WHEN held_since IS NULL THEN 1 WHEN held_probing = 1 THEN held_count + 1 ELSE held_count END, \
         held_probing = 0, held_since = COALESCE(held_since, {now}) WHERE name = ?",
    );
    connection.transaction(|connection| {
        connection.execute(Statement::new(insert).bind(task))?;
        connection.execute(Statement::new(update).bind(reason).bind(micros(MOST)).bind(task)).map(|_| ())
    })
}

/// Takes the right to the next probe, over all nodes; false if another has it or it is not due.
pub fn probe(connection: &mut Connection, task: &str) -> Result<bool> {
    let sql = connection.dialect().sql(
        "UPDATE soloist_tasks SET held_probing = 1, next_probe_at = {now} + ? \
         WHERE name = ? AND held_since IS NOT NULL AND next_probe_at <= {now}",
    );
    Ok(connection.execute(Statement::new(sql).bind(micros(MOST)).bind(task))? == 1)
}

/// Makes the next probe due now, as a person asks for it; false if the task is not held back.
pub fn probe_now(connection: &mut Connection, task: &str, by: &By) -> Result<bool> {
    let sql = connection.dialect().sql(
        "UPDATE soloist_tasks SET next_probe_at = {now}, held_probing = 0 WHERE name = ? AND held_since IS NOT NULL",
    );
    connection.transaction(|connection| {
        let due = connection.execute(Statement::new(sql).bind(task))? == 1;
        if due {
            audit::write(connection, by, "probe", Subject::Task(task), &json!({}))?;
        }
        Ok(due)
    })
}

/// Gives back the right to a probe that found nothing to try: the next is due in a second.
pub fn give_back_probe(connection: &mut Connection, task: &str) -> Result<()> {
    let sql = connection.dialect().sql(
        "UPDATE soloist_tasks SET held_probing = 0, next_probe_at = {now} + 1000000 \
         WHERE name = ? AND held_since IS NOT NULL AND held_probing = 1",
    );
    connection.execute(Statement::new(sql).bind(task)).map(|_| ())
}

/// Lets a task go on: its host has taken work again. True if it was held.
pub fn release(connection: &mut Connection, task: &str) -> Result<bool> {
    let sql = "UPDATE soloist_tasks SET held_since = NULL, held_reason = NULL, held_count = 0, held_probing = 0, \
               next_probe_at = NULL WHERE name = ? AND held_since IS NOT NULL";
    Ok(connection.execute(Statement::new(sql).bind(task))? == 1)
}
