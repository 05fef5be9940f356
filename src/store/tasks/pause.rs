//! Pausing a task on all nodes, lasting until it is resumed.

use crate::error::Result;
use crate::store::connection::Connection;
use crate::store::statement::Statement;

/// Pauses a task; false if it was paused already, whose reason then stands.
pub fn pause(connection: &mut Connection, task: &str, by: &str, reason: Option<&str>) -> Result<bool> {
    let dialect = connection.dialect();
    let row = format!("INSERT INTO soloist_tasks (name) VALUES (?){}", dialect.or_ignore("name"));
    let set = dialect.sql(
        "UPDATE soloist_tasks SET paused_by = ?, paused_reason = ?, paused_since = {now} \
         WHERE name = ? AND paused_since IS NULL",
    );
    let by: String = by.chars().take(100).collect();
    connection.transaction(|connection| {
        connection.execute(Statement::new(row).bind(task))?;
        let set = Statement::new(set).bind(by).bind(reason.map(str::to_owned)).bind(task);
        Ok(connection.execute(set)? > 0)
    })
}

/// Lets a task go on; false if it was not paused.
pub fn resume(connection: &mut Connection, task: &str) -> Result<bool> {
    let sql = "UPDATE soloist_tasks SET paused_by = NULL, paused_reason = NULL, paused_since = NULL \
               WHERE name = ? AND paused_since IS NOT NULL";
    Ok(connection.execute(Statement::new(sql).bind(task))? > 0)
}
