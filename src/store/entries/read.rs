//! Reads entries as people see them.

use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Integer, Nullable, Text};

use super::LONGEST_PAGE;
use super::filter::Filter;
use super::shape::{AttemptShape, EntryShape, Page, raw};
use super::span;
use crate::error::{Error, Result};
use crate::model::State;
use crate::store::attempts;
use crate::store::connection::Connection;
use crate::store::nodes;
use crate::store::statement::Statement;
use crate::store::tasks::declared::{self, Declared};

const COLUMNS: &str = "e.id, e.task, e.dedupe_key, e.state, e.payload, e.priority, e.attempt, e.max_attempts, \
     e.run_at, e.created_at, e.started_at, e.finished_at, e.node_id, n.name AS node, e.schedule, e.scheduled_for, \
     e.error, e.output, e.claim";

const NODE: &str = "LEFT JOIN soloist_nodes n ON n.id = e.node_id";

#[derive(QueryableByName)]
struct EntryRow {
    #[diesel(sql_type = BigInt)]
    id: i64,
    #[diesel(sql_type = Text)]
    task: String,
    #[diesel(sql_type = Nullable<Text>)]
    dedupe_key: Option<String>,
    #[diesel(sql_type = Text)]
    state: String,
    #[diesel(sql_type = Text)]
    payload: String,
    #[diesel(sql_type = Integer)]
    priority: i32,
    #[diesel(sql_type = Integer)]
    attempt: i32,
    #[diesel(sql_type = Nullable<Integer>)]
    max_attempts: Option<i32>,
    #[diesel(sql_type = BigInt)]
    run_at: i64,
    #[diesel(sql_type = BigInt)]
    created_at: i64,
    #[diesel(sql_type = Nullable<BigInt>)]
    started_at: Option<i64>,
    #[diesel(sql_type = Nullable<BigInt>)]
    finished_at: Option<i64>,
    #[diesel(sql_type = Nullable<BigInt>)]
    node_id: Option<i64>,
    #[diesel(sql_type = Nullable<Text>)]
    node: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    schedule: Option<String>,
    #[diesel(sql_type = Nullable<BigInt>)]
    scheduled_for: Option<i64>,
    #[diesel(sql_type = Nullable<Text>)]
    error: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    output: Option<String>,
    #[diesel(sql_type = BigInt)]
    claim: i64,
}

/// One entry with what was tried, if it exists.
pub fn get(connection: &mut Connection, id: i64) -> Result<Option<EntryShape>> {
    let statement = Statement::new(format!("SELECT {COLUMNS} FROM soloist_entries e {NODE} WHERE e.id = ?")).bind(id);
    let Some(row) = connection.first::<EntryRow>(statement)? else { return Ok(None) };
    let installation = installation(connection)?;
    let declared = declared::living(connection)?;
    let attempts = attempts::of(connection, id)?;
    let completed_silently = row.state == State::Completed.word() && !attempts.iter().any(|a| a.claim == row.claim);
    let silent = completed_silently.then(|| AttemptShape {
        attempt: row.attempt.max(1),
        node: attempts::node_name(row.node_id, row.node.clone()),
        started_at: row.started_at,
        finished_at: row.finished_at.unwrap_or(row.created_at),
        outcome: State::Completed.word().to_owned(),
        error: None,
        output: row.output.clone(),
    });
    let mut entry = shape(row, &installation, &declared)?;
    entry.attempts = Some(attempts.into_iter().map(|attempt| attempt.shape).chain(silent).collect());
    Ok(Some(entry))
}

/// Entries that a filter means, newest first; `cursor` is that of the page before. A page looks at so many rows and no
/// more: it may hold fewer than `limit`, or none, and still name the next.
pub fn list(
    connection: &mut Connection,
    filter: &Filter,
    limit: usize,
    cursor: Option<&str>,
) -> Result<Page<EntryShape>> {
    let limit = limit.clamp(1, LONGEST_PAGE);
    let below: i64 = cursor.map_or(Ok(i64::MAX), str::parse).map_err(|_| {
        let cursor = cursor.unwrap_or_default();
        Error::usage(format!("cursor: {cursor:?} is none; it is the next_cursor of the page before"))
    })?;
    let aged = filter.older_than.is_some().then(|| nodes::clock(connection)).transpose()?;
    let filter = aged.map_or_else(|| filter.clone(), |now| filter.at(now));
    let (ids, rest) = span::find(connection, &filter, limit, below)?;
    Ok(Page { items: read(connection, &ids, &filter)?, next_cursor: rest.map(|id| id.to_string()) })
}

/// Those of these entries that there are, newest first.
pub fn of_ids(connection: &mut Connection, ids: &[i64]) -> Result<Vec<EntryShape>> {
    read(connection, ids, &Filter::default())
}

fn read(connection: &mut Connection, ids: &[i64], filter: &Filter) -> Result<Vec<EntryShape>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let dialect = connection.dialect();
    let sql = format!("SELECT {COLUMNS} FROM {} {NODE} WHERE 1 = 1", span::from_ids(dialect));
    let select = filter.add_to(Statement::new(sql).bind(span::ids_to_join(ids)), dialect);
    let mut rows: Vec<EntryRow> = connection.load(select)?;
    rows.sort_unstable_by_key(|row| -row.id);
    let installation = installation(connection)?;
    let declared = declared::living(connection)?;
    rows.into_iter().map(|row| shape(row, &installation, &declared)).collect()
}

/// What makes idempotency keys unique over installations.
pub fn installation(connection: &mut Connection) -> Result<String> {
    #[derive(QueryableByName)]
    struct Installation {
        #[diesel(sql_type = Text)]
        id: String,
    }
    let row: Option<Installation> = connection.first(Statement::new("SELECT id FROM soloist_installation"))?;
    row.map(|row| row.id).ok_or_else(|| Error::internal("soloist_installation has no row"))
}

fn shape(row: EntryRow, installation: &str, declared: &Declared) -> Result<EntryShape> {
    let state = State::parse(&row.state)
        .ok_or_else(|| Error::internal(format!("entry {} is in the unknown state {:?}", row.id, row.state)))?;
    Ok(EntryShape {
        id: row.id,
        key: row.dedupe_key,
        state,
        payload: raw(row.payload),
        priority: row.priority,
        attempt: row.attempt,
        max_attempts: row.max_attempts.unwrap_or_else(|| declared.max_attempts(&row.task)),
        task: row.task,
        run_at: row.run_at,
        created_at: row.created_at,
        started_at: row.started_at,
        finished_at: row.finished_at,
        node: attempts::node_name(row.node_id, row.node),
        schedule: row.schedule,
        scheduled_for: row.scheduled_for,
        idempotency_key: format!("{installation}-{}", row.id),
        error: row.error,
        attempts: None,
    })
}
