//! One step of a sweep: the next keys of pending rows become entries, and the sweep's position moves with them in one
//! transaction, under the sweep's lease.

use std::time::Duration;

use crate::error::{Error, Result};
use crate::model::time::micros;
use crate::store::connection::Connection;
use crate::store::dialect::Dialect;
use crate::store::source::{CHUNK, Position, TableSource};
use crate::store::statement::Statement;

/// How many sweeps are asked in one step whether their entries are final.
const ASKED: usize = 16;

/// What a step came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// It made so many entries; there may be more rows.
    Collected(usize),
    /// As many entries as may be alive at once are: wait for some to end.
    Full,
    /// All rows have been passed; entries of a sweep have still to end.
    Passed,
    /// A sweep is over.
    Over,
    /// No sweep is asked for.
    Nothing,
    /// Another node works at it.
    HeldByAnother,
}

#[derive(diesel::QueryableByName)]
struct Open {
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    id: i64,
    #[diesel(sql_type = diesel::sql_types::Nullable<diesel::sql_types::Text>)]
    position: Option<String>,
    /// 0: another's, 1: free, 2: this node's but soon to end, 3: this node's.
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    lease: i64,
    /// How many entries of the source are alive.
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    alive: i64,
}

#[derive(diesel::QueryableByName)]
struct Id {
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    id: i64,
}

/// Takes or keeps the lease of the task's oldest sweep that has rows to pass, and collects the next of them, as long as
/// no more than `ahead` entries of the source are alive. The error of a step that failed is kept in the sweep too.
pub fn step(
    connection: &mut Connection,
    source: &TableSource,
    task: &str,
    node_id: i64,
    lease: Duration,
    ahead: usize,
) -> Result<Step> {
    let Some(open) = oldest(connection, task, node_id, lease)? else { return close(connection, task) };
    if open.lease == 0 || (open.lease < 3 && !take(connection, open.id, node_id, lease)?) {
        return Ok(Step::HeldByAnother);
    }
    let room = ahead.saturating_sub(usize::try_from(open.alive).unwrap_or(0));
    // Each step counts what is alive. Were a sweep to follow every few entries that end, it would do nothing else.
    let worth = if ahead > CHUNK { CHUNK.min(ahead / 10) } else { 1 };
    if room < worth {
        return Ok(Step::Full);
    }
    let result = collect(connection, source, task, node_id, lease, room.min(CHUNK), &open);
    if let Err(error) = &result
        && let Err(again) = super::record_failure(connection, task, error)
    {
        tracing::debug!(%again, "why a sweep failed could not be kept");
    }
    result
}

fn oldest(connection: &mut Connection, task: &str, node_id: i64, lease: Duration) -> Result<Option<Open>> {
    // Two look-ups by index: those that wait, and those that run. MariaDB, not told to, would read the whole table.
    let index = if connection.dialect() == Dialect::Mysql { " FORCE INDEX (soloist_entries_claim)" } else { "" };
    let sql = connection.dialect().sql(
        "SELECT s.id AS id, s.position AS position, \
         CAST(CASE WHEN s.node_id IS NULL OR s.lease_until <= {now} THEN 1 WHEN s.node_id <> ? THEN 0 \
         WHEN s.lease_until <= {now} + ? THEN 2 ELSE 3 END AS {integer}) AS lease, \
         (SELECT count(*) FROM soloist_entries{index} WHERE task = ? AND state = 'pending' AND source = 1) \
         + (SELECT count(*) FROM soloist_entries WHERE node_id IS NOT NULL AND finished_at IS NULL AND task = ? \
            AND state = 'running' AND source = 1) AS alive \
         FROM soloist_sweeps s WHERE s.task = ? AND s.finished_at IS NULL AND s.passed = 0 ORDER BY s.id LIMIT 1",
    );
    let integer = if connection.dialect() == Dialect::Mysql { "SIGNED" } else { "BIGINT" };
    let statement = Statement::new(sql.replace("{integer}", integer).replace("{index}", index))
        .bind(node_id)
        .bind(micros(lease) / 2);
    connection.first(statement.bind(task).bind(task).bind(task))
}

/// A statement of its own, seen by others before the user's predicate runs for perhaps long.
fn take(connection: &mut Connection, id: i64, node_id: i64, lease: Duration) -> Result<bool> {
    let sql = connection.dialect().sql(
        "UPDATE soloist_sweeps SET node_id = ?, lease_until = {now} + ? \
         WHERE id = ? AND passed = 0 AND (node_id IS NULL OR node_id = ? OR lease_until <= {now})",
    );
    let statement = Statement::new(sql).bind(node_id).bind(micros(lease)).bind(id).bind(node_id);
    Ok(connection.execute(statement)? == 1)
}

fn collect(
    connection: &mut Connection,
    source: &TableSource,
    task: &str,
    node_id: i64,
    lease: Duration,
    limit: usize,
    open: &Open,
) -> Result<Step> {
    let position: Position = match &open.position {
        Some(text) => {
            serde_json::from_str(text).map_err(|error| Error::internal(format!("a sweep's position: {error}")))?
        }
        None => Position::default(),
    };
    let collected = source
        .collect(connection, &position, limit)
        .map_err(|error| error.context(format_args!("collecting pending rows of {}", source.label())))?;
    if let Some(error) = &collected.left_out {
        tracing::warn!(task, %error, "a row is left out of a sweep");
    }
    let next = collected.next.as_ref().map(serde_json::to_string).transpose().map_err(Error::internal)?;
    let dialect = connection.dialect();
    let made = connection.transaction(|connection| {
        // The position alone is the fence: whoever moves it first has passed these rows. Were it the lease, a predicate
        // that takes longer than a lease would be begun by one node after another and ended by none.
        let sql = dialect.sql(
            "UPDATE soloist_sweeps SET passed = ?, position = ?, error = ?, \
             failed_since = CASE WHEN ? = 1 THEN COALESCE(failed_since, {now}) END, node_id = ?, \
             lease_until = {now} + ? WHERE id = ? AND passed = 0 AND COALESCE(position, '') = ?",
        );
        let left_out = collected.left_out.as_ref().map(ToString::to_string);
        let statement = Statement::new(sql)
            .bind(i32::from(next.is_none()))
            .bind(next.clone().or_else(|| open.position.clone()))
            .bind(left_out.clone())
            .bind(i32::from(left_out.is_some()))
            .bind(node_id)
            .bind(micros(lease))
            .bind(open.id)
            .bind(open.position.clone().unwrap_or_default());
        if connection.execute(statement)? == 0 {
            return Ok(None);
        }
        let made = if collected.keys.is_empty() { 0 } else { insert(connection, task, open.id, &collected.keys)? };
        if made > 0 {
            let sql = "UPDATE soloist_sweeps SET collected = collected + ? WHERE id = ?";
            connection.execute(Statement::new(sql).bind(i64::try_from(made).unwrap_or(i64::MAX)).bind(open.id))?;
        }
        Ok(Some(made))
    })?;
    match made {
        None => Ok(Step::HeldByAnother),
        Some(0) if next.is_none() => close(connection, task),
        Some(made) => Ok(Step::Collected(made)),
    }
}

/// Makes entries of the keys that no other entry holds; how many. In the order of the keys, which is that of their ids.
fn insert(connection: &mut Connection, task: &str, sweep: i64, keys: &[String]) -> Result<usize> {
    let dialect = connection.dialect();
    let insert = "INSERT INTO soloist_entries (task, dedupe_key, source, sweep_id) SELECT ?, r.value, 1, ? FROM ";
    let rows = dialect.rows_of_texts("r");
    let ignore = dialect.or_ignore("id");
    let statement = match dialect {
        // The conflict alone decides: PostgreSQL, once it plans for any value, joins by comparing each with each.
        Dialect::Postgres | Dialect::Sqlite => {
            // The condition keeps SQLite from reading ON as that of a join.
            Statement::new(format!("{insert}{rows} WHERE 1 = 1{ignore}"))
                .bind(task)
                .bind(sweep)
                .bind(dialect.texts(keys))
        }
        // MySQL counts a row that it left alone as changed, and locks it.
        Dialect::Mysql => Statement::new(format!(
            "{insert}{rows} LEFT JOIN soloist_entries AS e FORCE INDEX (soloist_entries_key) \
             ON e.task = ? AND e.held_key = CAST(r.value AS BINARY) WHERE e.id IS NULL \
             ON DUPLICATE KEY UPDATE soloist_entries.id = soloist_entries.id"
        ))
        .bind(task)
        .bind(sweep)
        .bind(dialect.texts(keys))
        .bind(task),
    };
    connection.execute(statement)
}

/// Ends the sweeps that have passed each row and whose entries are final.
fn close(connection: &mut Connection, task: &str) -> Result<Step> {
    let sql = "SELECT id FROM soloist_sweeps WHERE task = ? AND finished_at IS NULL AND passed = 1";
    let mut passed: Vec<Id> = connection.load(Statement::new(sql).bind(task))?;
    if passed.is_empty() {
        return Ok(Step::Nothing);
    }
    // Where entries take long, sweeps that wait for theirs pile up. Each has its turn, by chance.
    fastrand::shuffle(&mut passed);
    passed.truncate(ASKED);
    let mut over = Vec::new();
    for Id { id } in passed {
        if !has_entries_alive(connection, task, id)? {
            over.push(id);
        }
    }
    if over.is_empty() {
        return Ok(Step::Passed);
    }
    let dialect = connection.dialect();
    let sql =
        dialect.sql("UPDATE soloist_sweeps SET finished_at = {now}, lease_until = NULL WHERE finished_at IS NULL AND ");
    connection.execute(Statement::new(sql).text(&dialect.among_ids("id")).bind(dialect.ids(&over)))?;
    Ok(Step::Over)
}

/// In one statement, since an entry may go from running back to pending meanwhile. The first that is found is enough;
/// the order keeps PostgreSQL from looking for it in the whole table.
fn has_entries_alive(connection: &mut Connection, task: &str, sweep: i64) -> Result<bool> {
    let index = if connection.dialect() == Dialect::Mysql { " FORCE INDEX (soloist_entries_claim)" } else { "" };
    let sql = format!(
        "SELECT (SELECT count(*) FROM (SELECT 1 AS one FROM soloist_entries{index} \
         WHERE task = ? AND state = 'pending' AND sweep_id = ? ORDER BY priority, run_at, id LIMIT 1) AS waiting) \
         + (SELECT count(*) FROM (SELECT 1 AS one FROM soloist_entries WHERE node_id IS NOT NULL \
         AND finished_at IS NULL AND task = ? AND state = 'running' AND sweep_id = ? LIMIT 1) AS running) AS n"
    );
    Ok(connection.number(Statement::new(sql).bind(task).bind(sweep).bind(task).bind(sweep))? > 0)
}
