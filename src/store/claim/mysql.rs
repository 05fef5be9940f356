//! The claim on MySQL and MariaDB, which return no rows from an `UPDATE`.
//!
//! The index is forced: with any other the server would sort, and InnoDB locks every row that it sorts.

use super::{COLUMNS, DUE, LIVE, Level, Row};
use crate::error::Result;
use crate::store::connection::Connection;
use crate::store::dialect::{ColumnKind, Dialect};
use crate::store::server::Strategy;
use crate::store::statement::Statement;

pub(super) fn claim(connection: &mut Connection, strategy: Strategy, level: &Level<'_>) -> Result<Vec<Row>> {
    match strategy {
        Strategy::SkipLocked => skip_locked(connection, level),
        Strategy::AtomicUpdate => atomic_update(connection, level),
    }
}

fn select(condition: &str) -> String {
    Dialect::Mysql.sql(&format!(
        "SELECT {COLUMNS}, attempt + 1 AS attempt, claim + 1 AS claim, {{now}} AS started_at \
         FROM soloist_entries FORCE INDEX (soloist_entries_claim) WHERE {LIVE} AND {condition}"
    ))
}

fn set(level: &Level<'_>) -> String {
    format!(
        "state = 'running', attempt = attempt + 1, claim = claim + 1, node_id = ?, started_at = {{now}}{}",
        level.also_set
    )
}

fn skip_locked(connection: &mut Connection, level: &Level<'_>) -> Result<Vec<Row>> {
    connection.transaction(|connection| {
        let lock = match () {
            () if crate::testing::broken("no_claim") => "",
            () if crate::testing::broken("no_skip_locked") => "FOR UPDATE",
            () => "FOR UPDATE SKIP LOCKED",
        };
        let sql = format!("{} {lock}", select(DUE));
        let rows: Vec<Row> = connection
            .load(Statement::new(sql).bind(level.node_id).bind(level.task).bind(level.priority).bind(level.limit))?;
        if !rows.is_empty() && !crate::testing::broken("no_claim") {
            let ids: Vec<_> = rows.iter().map(|row| row.id).collect();
            update(connection, level, &ids)?;
        }
        Ok(rows)
    })
}

fn update(connection: &mut Connection, level: &Level<'_>, ids: &[i64]) -> Result<usize> {
    let dialect = Dialect::Mysql;
    let sql = dialect.sql(&dialect.update_ids(&set(level), "state = 'pending'"));
    connection.execute(Statement::new(sql).bind(dialect.ids(ids)).bind(level.node_id))
}

/// Claims all that are as they were read: between, another may have claimed one and handed it back.
fn update_as_read(connection: &mut Connection, level: &Level<'_>, rows: &[Row]) -> Result<usize> {
    const COLUMNS: [(&str, ColumnKind); 3] =
        [("id", ColumnKind::Integer), ("claim", ColumnKind::Integer), ("node_id", ColumnKind::Integer)];
    let dialect = Dialect::Mysql;
    let mut set = vec![
        ("state", "'running'"),
        ("attempt", "e.attempt + 1"),
        ("claim", "o.claim"),
        ("node_id", "o.node_id"),
        ("started_at", "{now}"),
    ];
    if !level.also_set.is_empty() {
        set.push(("key_held", "0"));
    }
    let condition = "e.state = 'pending' AND e.claim = o.claim - 1";
    let read: Vec<_> = rows
        .iter()
        .map(|row| serde_json::json!({ "id": row.id, "claim": row.claim, "node_id": level.node_id }))
        .collect();
    let sql = dialect.sql(&dialect.update_from_json(&COLUMNS, &set, condition));
    connection.execute(Statement::new(sql).bind(serde_json::Value::Array(read).to_string()))
}

/// All at once if nobody else wanted any of them; else one by one, since the number of changed rows does not say which.
fn atomic_update(connection: &mut Connection, level: &Level<'_>) -> Result<Vec<Row>> {
    let ids = super::candidates(connection, level)?;
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let sql = Dialect::Mysql.sql(&format!(
        "SELECT {COLUMNS}, attempt + 1 AS attempt, claim + 1 AS claim, {{now}} AS started_at \
         FROM soloist_entries WHERE {} AND state = 'pending'",
        Dialect::Mysql.among_ids("id")
    ));
    let rows: Vec<Row> = connection.load(Statement::new(sql).bind(Dialect::Mysql.ids(&ids)))?;
    if crate::testing::broken("no_claim") {
        return Ok(rows);
    }
    connection.begin()?;
    match update_as_read(connection, level, &rows) {
        Ok(changed) if changed == rows.len() => {
            connection.commit()?;
            return Ok(rows);
        }
        result => {
            connection.rollback();
            result?;
        }
    }
    let sql = Dialect::Mysql
        .sql(&format!("UPDATE soloist_entries SET {} WHERE id = ? AND claim = ? AND state = 'pending'", set(level)));
    connection.transaction(|connection| {
        let mut won = Vec::new();
        for row in rows {
            let statement = Statement::new(sql.as_str()).bind(level.node_id).bind(row.id).bind(row.claim - 1);
            if connection.execute(statement)? == 1 {
                won.push(row);
            }
        }
        Ok(won)
    })
}
