//! Reads entries as people see them.

use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Integer, Nullable, Text};

use super::LONGEST_PAGE;
use super::filter::Filter;
use super::shape::{AttemptShape, EntryShape, Page, raw};
use crate::error::{Error, Result};
use crate::model::State;
use crate::store::attempts;
use crate::store::connection::Connection;
use crate::store::statement::Statement;
use crate::store::tasks::declared::{self, Declared};

const COLUMNS: &str = "SELECT e.id, e.task, e.dedupe_key, e.state, e.payload, e.priority, e.attempt, e.max_attempts, \
     e.run_at, e.created_at, e.started_at, e.finished_at, e.node_id, n.name AS node, e.schedule, e.scheduled_for, \
     e.error, e.output, e.claim FROM soloist_entries e LEFT JOIN soloist_nodes n ON n.id = e.node_id WHERE 1 = 1";

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
    let statement = Statement::new(format!("{COLUMNS} AND e.id = ?")).bind(id);
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

/// Entries that a filter means, newest first; `cursor` is that of the page before.
pub fn list(
    connection: &mut Connection,
    filter: &Filter,
    limit: usize,
    cursor: Option<&str>,
) -> Result<Page<EntryShape>> {
    let limit = limit.clamp(1, LONGEST_PAGE);
    let dialect = connection.dialect();
    let mut statement = filter.add_to(Statement::new(COLUMNS), dialect);
    if let Some(cursor) = cursor {
        let below: i64 = cursor.parse().map_err(|_| {
            Error::usage(format!("cursor: {cursor:?} is none; it is the next_cursor of the page before"))
        })?;
        statement = statement.text(" AND e.id < ?").bind(below);
    }
    let more = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
    let mut rows: Vec<EntryRow> = connection.load(statement.text(" ORDER BY e.id DESC LIMIT ?").bind(more))?;
    let goes_on = rows.len() > limit;
    rows.truncate(limit);
    let next_cursor = rows.last().filter(|_| goes_on).map(|row| row.id.to_string());
    let installation = installation(connection)?;
    let declared = declared::living(connection)?;
    let items: Result<Vec<_>> = rows.into_iter().map(|row| shape(row, &installation, &declared)).collect();
    Ok(Page { items: items?, next_cursor })
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
