//! Deleting what need not be kept, a chunk at a time, by index.

use std::time::Duration;

use diesel::QueryableByName;
use diesel::sql_types::BigInt;

use super::connection::Connection;
use super::statement::Statement;
use super::{duties, firings, sweeps};
use crate::error::Result;
use crate::model::time::{SECOND, micros};
use crate::model::{Keep, Retention, State};

/// Entries deleted in one transaction.
const CHUNK: i64 = 1000;

/// How long a sweep that is over is kept.
const KEEP_SWEEPS: Duration = Duration::from_secs(86_400);

const DAY: i64 = 86_400 * SECOND;

#[derive(QueryableByName)]
struct Id {
    #[diesel(sql_type = BigInt)]
    id: i64,
}

/// Deletes finished entries of a task that are past their keep; true if a chunk was full, so that there may be more.
pub fn entries(connection: &mut Connection, task: &str, keep: &Retention) -> Result<bool> {
    let mut full = false;
    let states = [(State::Completed, keep.completed), (State::Failed, keep.failed), (State::Cancelled, keep.cancelled)];
    for (state, keep) in states {
        let Keep::For(span) = keep else { continue };
        full |= of_state(connection, task, state, micros(span))?;
    }
    Ok(full)
}

fn of_state(connection: &mut Connection, task: &str, state: State, keep: i64) -> Result<bool> {
    let dialect = connection.dialect();
    let sql = dialect.sql(
        "SELECT id FROM soloist_entries WHERE task = ? AND finished_at <= {now} - ? AND state = ? \
         ORDER BY finished_at LIMIT ?",
    );
    let select = Statement::new(sql).bind(task).bind(keep).bind(state.word()).bind(CHUNK);
    let ids: Vec<_> = connection.load::<Id>(select)?.into_iter().map(|row| row.id).collect();
    if ids.is_empty() {
        return Ok(false);
    }
    connection.transaction(|connection| {
        firings::keep_results(connection, &ids)?;
        // `retry` may have taken one back since.
        let delete = dialect.delete_ids("soloist_entries", "id", "finished_at IS NOT NULL");
        connection.execute(Statement::new(delete).bind(dialect.ids(&ids)))?;
        let gone = "NOT EXISTS (SELECT 1 FROM soloist_entries AS kept WHERE kept.id = entry_id)";
        let orphans = dialect.delete_ids("soloist_attempts", "entry_id", gone);
        connection.execute(Statement::new(orphans).bind(dialect.ids(&ids)))
    })?;
    Ok(i64::try_from(ids.len()).unwrap_or(CHUNK) >= CHUNK)
}

/// Deletes rows of a table whose time in `column` is so long ago, a chunk at a time; true if there may be more.
pub(super) fn older_than(connection: &mut Connection, table: &str, column: &str, age: i64) -> Result<bool> {
    let dialect = connection.dialect();
    let old = dialect.sql(&format!("SELECT id FROM {table} WHERE {column} <= {{now}} - ? ORDER BY {column} LIMIT ?"));
    let ids: Vec<_> =
        connection.load::<Id>(Statement::new(old).bind(age).bind(CHUNK))?.into_iter().map(|row| row.id).collect();
    if ids.is_empty() {
        return Ok(false);
    }
    let sql = dialect.delete_ids(table, "id", "1 = 1");
    connection.execute(Statement::new(sql).bind(dialect.ids(&ids)))?;
    Ok(i64::try_from(ids.len()).unwrap_or(CHUNK) >= CHUNK)
}

/// Deletes what nodes long gone have left: their rows after 8 days, what they declared, old sums and finished sweeps.
pub fn traces(connection: &mut Connection) -> Result<()> {
    let dialect = connection.dialect();
    let statements = [
        ("DELETE FROM soloist_nodes WHERE lease_until < {now} - ?", 8 * DAY),
        (
            "DELETE FROM soloist_declarations WHERE node_id NOT IN \
             (SELECT id FROM soloist_nodes WHERE lease_until > {now} - ?)",
            DAY,
        ),
        ("DELETE FROM soloist_minutes WHERE span = 60 AND starts_at < {now} - ?", DAY + 3600 * SECOND),
        ("DELETE FROM soloist_minutes WHERE span = 3600 AND starts_at < {now} - ?", 8 * DAY),
    ];
    for (sql, age) in statements {
        connection.execute(Statement::new(dialect.sql(sql)).bind(age))?;
    }
    duties::prune(connection, DAY)?;
    // Some more than go, since the clock goes on in between.
    firings::keep_sweep_results(connection, micros(KEEP_SWEEPS) - 60 * SECOND)?;
    sweeps::prune(connection, KEEP_SWEEPS)?;
    Ok(())
}
