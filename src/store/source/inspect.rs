//! What `check` tells of a source: how many rows wait, whether an index finds them, what will run, and whether the
//! database takes the write-backs, tried on one row and undone.

use super::{CHUNK, Mark, Position, TableSource, plan};
use crate::config;
use crate::error::{Error, Result};
use crate::store::connection::Connection;
use crate::store::statement::Statement;

/// What was found out about a source.
#[derive(Debug, Clone)]
pub struct Inspection {
    /// The table as the configuration names it.
    pub table: String,
    /// Rows that wait; `None` if counting them took too long.
    pub pending: Option<i64>,
    /// Rows in all; `None` if counting them took too long.
    pub rows: Option<i64>,
    /// False if the table's engine takes nothing back: a write-back is then no part of a transaction.
    pub transactional: bool,
    /// True if an index finds the rows that wait; otherwise a sweep reads the whole table.
    pub indexed: bool,
    /// True if no index gives rows in their order, so that each step of a sweep sorts those that wait.
    pub sorts: bool,
    /// The columns that leave in the payload.
    pub columns: Vec<String>,
    /// Finds keys.
    pub collect: String,
    /// Reads rows of claimed entries.
    pub read: String,
    /// Marks a row whose entry completed.
    pub done: Option<String>,
    /// Marks a row whose entry failed.
    pub failed: Option<String>,
    /// How `done` went on one row that waits.
    pub done_trial: Trial,
    /// How `failed` went on one row that waits.
    pub failed_trial: Trial,
}

/// How a write-back went on one row, before it was undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trial {
    /// It took effect on the row with this key.
    Passed(String),
    /// It was refused: by what words.
    Refused(String),
    /// No row waits.
    NoRow,
    /// There is none to try.
    Nothing,
    /// It was not tried, since the table's engine could not take it back.
    NotTransactional,
}

/// Looks a source up, counts, and tries its write-backs in a transaction that is rolled back.
pub fn inspect(connection: &mut Connection, task: &str, source: &config::Source) -> Result<Inspection> {
    let resolved = TableSource::resolve(connection, task, source)?;
    let at = |setting: &'static str| {
        move |error: Error| {
            let said = format!("tasks.{task}.source.{setting}: {error}");
            if error.is_transient() { Error::transient(said) } else { Error::usage(said) }
        }
    };
    let table = &resolved.table.quoted;
    let rows = count(connection, format!("SELECT count(*) AS n FROM {table}"))?;
    let waiting = format!("SELECT count(*) AS n FROM {table} WHERE {}", resolved.pending);
    let pending = count(connection, waiting).map_err(at("pending"))?;
    let indexed = plan::finds_by_index(connection, &resolved).map_err(at("pending"))?;
    let sorts = plan::sorts(connection, &resolved).map_err(at("order"))?;
    let first = resolved.collect(connection, &Position::default(), 1).map_err(at("pending"))?;
    let key = match (first.keys.into_iter().next(), first.next) {
        (None, Some(without_order)) => resolved.collect(connection, &without_order, 1)?.keys.into_iter().next(),
        (key, _) => key,
    };
    let mark = key.map(|key| Mark { id: 0, key, attempt: 1, version: None, error: Some("a trial".to_owned()) });
    let done_trial = trial(connection, &resolved, mark.as_ref(), true)?;
    let failed_trial = trial(connection, &resolved, mark.as_ref(), false)?;
    let example: Vec<String> = resolved.key.iter().map(|_| "0".to_owned()).collect();
    let shown = Mark {
        id: 0,
        key: if example.len() == 1 { "0".to_owned() } else { serde_json::to_string(&example).unwrap_or_default() },
        attempt: 1,
        version: None,
        error: None,
    };
    Ok(Inspection {
        table: resolved.label.clone(),
        pending,
        rows,
        transactional: resolved.table.transactional,
        indexed,
        sorts,
        columns: resolved.column_names().into_iter().map(str::to_owned).collect(),
        collect: resolved.collecting(&Position::default(), CHUNK).sql(),
        read: resolved.reading(&[&example]).sql(),
        done: resolved.marking(true, &shown).map(|statement| statement.sql()),
        failed: resolved.marking(false, &shown).map(|statement| statement.sql()),
        done_trial,
        failed_trial,
    })
}

fn count(connection: &mut Connection, sql: String) -> Result<Option<i64>> {
    match connection.number(Statement::new(sql).once()) {
        Ok(rows) => Ok(Some(rows)),
        Err(error) if error.is_transient() && !connection.is_broken() => Ok(None),
        Err(error) => Err(error),
    }
}

fn trial(connection: &mut Connection, source: &TableSource, mark: Option<&Mark>, done: bool) -> Result<Trial> {
    if (if done { &source.done } else { &source.failed }).is_none() {
        return Ok(Trial::Nothing);
    }
    if !source.table.transactional {
        return Ok(Trial::NotTransactional);
    }
    let Some(mark) = mark else { return Ok(Trial::NoRow) };
    connection.begin()?;
    let mut mark = mark.clone();
    let result = source.read(connection, &[(mark.id, mark.key.clone())]).and_then(|mut rows| {
        let Some(row) = rows.remove(&mark.id) else { return Ok(None) };
        mark.version = row.version;
        let marks = std::slice::from_ref(&mark);
        if done { source.mark_done(connection, marks) } else { source.mark_failed(connection, marks) }.map(Some)
    });
    connection.rollback();
    Ok(match result? {
        None => Trial::NoRow,
        Some(refused) => match refused.into_iter().next() {
            Some((_, words)) => Trial::Refused(words),
            None => Trial::Passed(mark.key),
        },
    })
}
