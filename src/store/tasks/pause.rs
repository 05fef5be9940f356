//! Pausing a task on all nodes, lasting until it is resumed.

use serde_json::json;

use crate::error::Result;
use crate::model::By;
use crate::store::audit::{self, Subject};
use crate::store::connection::Connection;
use crate::store::statement::Statement;

/// Pauses a task; false if it was paused already, whose reason then stands.
pub fn pause(connection: &mut Connection, task: &str, by: &By, reason: Option<&str>) -> Result<bool> {
    let dialect = connection.dialect();
    let row = format!("INSERT INTO soloist_tasks (name) VALUES (?){}", dialect.or_ignore("name"));
    let set = dialect.sql(
        "UPDATE soloist_tasks SET paused_by = ?, paused_reason = ?, paused_since = {now} \
         WHERE name = ? AND paused_since IS NULL",
    );
    connection.transaction(|connection| {
        connection.execute(Statement::new(row).bind(task))?;
        let set = Statement::new(set).bind(by.short_name()).bind(reason.map(str::to_owned)).bind(task);
        let paused = connection.execute(set)? > 0;
        if paused {
            audit::write(connection, by, "pause", Subject::Task(task), &json!({ "reason": reason }))?;
        }
        Ok(paused)
    })
}

/// Lets a task go on; false if it was not paused.
pub fn resume(connection: &mut Connection, task: &str, by: &By) -> Result<bool> {
    let sql = "UPDATE soloist_tasks SET paused_by = NULL, paused_reason = NULL, paused_since = NULL \
               WHERE name = ? AND paused_since IS NOT NULL";
    connection.transaction(|connection| {
        let resumed = connection.execute(Statement::new(sql).bind(task))? > 0;
        if resumed {
            audit::write(connection, by, "resume", Subject::Task(task), &json!({}))?;
        }
        Ok(resumed)
    })
}
