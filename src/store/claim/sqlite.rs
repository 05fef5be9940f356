//! The claim on SQLite: one writer at a time, so a read and a write in one immediate transaction are atomic.

use super::{COLUMNS, DUE, LIVE, Level, Row};
use crate::error::Result;
use crate::store::connection::Connection;
use crate::store::dialect::Dialect;
use crate::store::statement::Statement;

pub(super) fn claim(connection: &mut Connection, level: &Level<'_>) -> Result<Vec<Row>> {
    let dialect = Dialect::Sqlite;
    connection.transaction(|connection| {
        let select = dialect.sql(&format!(
            "SELECT {COLUMNS}, attempt + 1 AS attempt, claim + 1 AS claim, {{now}} AS started_at \
             FROM soloist_entries WHERE {LIVE} AND {DUE}"
        ));
        let rows: Vec<Row> = connection
            .load(Statement::new(select).bind(level.node_id).bind(level.task).bind(level.priority).bind(level.limit))?;
        if rows.is_empty() || crate::testing::broken("no_claim") {
            return Ok(rows);
        }
        let ids: Vec<_> = rows.iter().map(|row| row.id).collect();
        let set = format!(
            "state = 'running', attempt = attempt + 1, claim = claim + 1, node_id = ?, started_at = {{now}}{}",
            level.also_set
        );
        let update = dialect.sql(&dialect.update_ids(&set, "state = 'pending'"));
        connection.execute(Statement::new(update).bind(level.node_id).bind(dialect.ids(&ids)))?;
        Ok(rows)
    })
}
