//! What a due entry waits for, where its task is limited over all nodes: for a person who asks.

use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Nullable};

use super::shape::EntryShape;
use crate::error::Result;
use crate::model::time::Micros;
use crate::model::{Rate, State};
use crate::store::claim::serial;
use crate::store::connection::Connection;
use crate::store::dialect::Dialect;
use crate::store::statement::Statement;
use crate::store::tasks::TaskShape;

/// So many that wait are looked at to count those before one.
const COUNTED: i64 = 10_000;

/// The most running entries that are named.
const NAMED: i64 = 4;

/// The limit that an entry waits for, the first that holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Waits {
    /// This one of the same key, which runs or came first.
    ForEntry(i64),
    /// One of so many runs; some of those that run now.
    ForRuns {
        /// How many are allowed.
        most: i64,
        /// A few of them.
        running: Vec<i64>,
    },
    /// The rate.
    ForRate {
        /// What it is.
        rate: Rate,
        /// About how long until its turn.
        wait: Micros,
    },
}

#[derive(QueryableByName)]
struct Id {
    #[diesel(sql_type = BigInt)]
    id: i64,
}

/// The limit that a due entry waits for; nothing if it is not due, or no limit is in its way.
pub fn waits(connection: &mut Connection, entry: &EntryShape, task: &TaskShape, now: Micros) -> Result<Option<Waits>> {
    let limits = &task.limits;
    if entry.state != State::Pending || entry.run_at > now {
        return Ok(None);
    }
    if limits.serial
        && let Some(id) = serial::ahead(connection, entry.id)?
    {
        return Ok(Some(Waits::ForEntry(id)));
    }
    if limits.max_running > 0 && task.running >= limits.max_running {
        // Any of them: an order would have some servers read the table in it.
        let sql = "SELECT id FROM soloist_entries WHERE state = 'running' AND node_id IS NOT NULL \
                   AND finished_at IS NULL AND task = ? LIMIT ?";
        let rows: Vec<Id> = connection.load(Statement::new(sql).bind(entry.task.as_str()).bind(NAMED))?;
        let mut running: Vec<_> = rows.into_iter().map(|row| row.id).collect();
        running.sort_unstable();
        return Ok(Some(Waits::ForRuns { most: limits.max_running, running }));
    }
    let Some(rate) = limits.rate else { return Ok(None) };
    let wait = until_next(connection, &entry.task, now)?.saturating_add(rate.span_of(before(connection, entry)?));
    Ok(Some(Waits::ForRate { rate, wait }).filter(|_| wait > 0))
}

/// How long the rate allows nothing.
fn until_next(connection: &mut Connection, task: &str, now: Micros) -> Result<Micros> {
    #[derive(QueryableByName)]
    struct Next {
        #[diesel(sql_type = Nullable<BigInt>)]
        next_start_at: Option<i64>,
    }
    let sql = "SELECT next_start_at FROM soloist_tasks WHERE name = ?";
    let next = connection.first::<Next>(Statement::new(sql).bind(task))?.and_then(|row| row.next_start_at);
    Ok(next.map_or(0, |next| (next - now).max(0)))
}

/// How many due entries of the task come before it, as far as they are counted.
fn before(connection: &mut Connection, entry: &EntryShape) -> Result<usize> {
    let dialect = connection.dialect();
    let index = if dialect == Dialect::Mysql { " FORCE INDEX (soloist_entries_claim)" } else { "" };
    let sql = dialect.sql(&format!(
        "SELECT count(*) AS n FROM (SELECT priority, run_at, id FROM soloist_entries{index} WHERE task = ? \
         AND state = 'pending' ORDER BY priority, run_at, id LIMIT ?) AS w WHERE w.run_at <= {{now}} \
         AND (w.priority < ? OR (w.priority = ? AND (w.run_at < ? OR (w.run_at = ? AND w.id < ?))))"
    ));
    let statement = Statement::new(sql).bind(entry.task.as_str()).bind(COUNTED).bind(entry.priority);
    let statement = statement.bind(entry.priority).bind(entry.run_at).bind(entry.run_at).bind(entry.id);
    Ok(usize::try_from(connection.number(statement)?).unwrap_or(0))
}
