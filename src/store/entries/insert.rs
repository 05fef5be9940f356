//! Accepts entries: all of them or none.

use std::collections::{HashMap, HashSet};

use diesel::sql_types::BigInt;

use crate::error::{Error, Result};
use crate::model::{NewEntry, RunAt};
use crate::store::connection::Connection;
use crate::store::dialect::Dialect;
use crate::store::statement::Statement;
use crate::store::tasks::limits;

/// Rows of one statement: below the number of binds that any backend takes, and few enough to be parsed quickly.
const CHUNK: usize = 500;
/// How often an insert is repeated when it only met another at a bad moment.
const TRIES: usize = 5;

#[derive(diesel::QueryableByName)]
struct Id {
    #[diesel(sql_type = BigInt)]
    id: i64,
}

/// Accepts entries in one transaction, or at a savepoint of the open one; their ids, in the order of `entries`.
///
/// A key that another entry holds is a conflict with [`Error::entry_id`]; then none is accepted. Where a task says
/// `dedupe = "none"` its entries hold no key.
pub fn insert(connection: &mut Connection, entries: &[NewEntry]) -> Result<Vec<i64>> {
    insert_watched(connection, entries, |_| {})
}

/// The same; `watch` hears how many rows stand in the transaction so far.
pub fn insert_watched(
    connection: &mut Connection,
    entries: &[NewEntry],
    mut watch: impl FnMut(usize),
) -> Result<Vec<i64>> {
    for (position, entry) in entries.iter().enumerate() {
        entry.check().map_err(|error| named(position, entries.len(), error.into()))?;
    }
    let keyed: HashSet<_> = entries.iter().filter(|entry| entry.key.is_some()).map(|entry| &*entry.task).collect();
    let free = limits::without_held_keys(connection, &keyed.into_iter().collect::<Vec<_>>())?;
    refuse_twins(entries, &free)?;
    let mut tries = 0;
    loop {
        let result = connection.transaction(|connection| {
            let mut ids = Vec::with_capacity(entries.len());
            for chunk in entries.chunks(CHUNK) {
                insert_chunk(connection, chunk, &free, &mut ids)?;
                watch(ids.len());
            }
            Ok(ids)
        });
        let Err(error) = result else { return result };
        tries += 1;
        if error.is_conflict() {
            if let Some(conflict) = find_holder(connection, entries, &free)? {
                return Err(conflict);
            }
            // The holder has just let go of the key.
        } else if !error.is_transient() || !error.to_string().to_lowercase().contains("deadlock") {
            return Err(error);
        }
        if tries == TRIES {
            return Err(error);
        }
        std::thread::sleep(std::time::Duration::from_millis(fastrand::u64(1..20)));
    }
}

/// Says which of several an error is about.
fn named(position: usize, of: usize, error: Error) -> Error {
    if of == 1 { error } else { error.context(format!("entry {}", position + 1)) }
}

/// The key that an entry will hold. `free` are the tasks whose keys are not held.
fn held<'a>(entry: &'a NewEntry, free: &HashSet<String>) -> Option<&'a str> {
    entry.key.as_deref().filter(|_| !free.contains(&entry.task))
}

fn refuse_twins(entries: &[NewEntry], free: &HashSet<String>) -> Result<()> {
    let mut seen = HashMap::new();
    for (position, entry) in entries.iter().enumerate() {
        let Some(key) = held(entry, free) else { continue };
        if let Some(first) = seen.insert((&entry.task, key), position) {
            let message = format!("key: {key:?} stands in entry {} and again in entry {}", first + 1, position + 1);
            return Err(Error::usage(message));
        }
    }
    Ok(())
}

fn insert_chunk(
    connection: &mut Connection,
    chunk: &[NewEntry],
    free: &HashSet<String>,
    ids: &mut Vec<i64>,
) -> Result<()> {
    let dialect = connection.dialect();
    let row = |held: i32| dialect.sql(&format!("(?, ?, ?, {held}, COALESCE(?, {{now}} + ?), ?, {{now}}, ?)"));
    let (holding, free_one) = (row(1), row(0));
    let rows = chunk.iter().map(|entry| if free.contains(&entry.task) { &*free_one } else { &*holding });
    let rows = rows.collect::<Vec<_>>().join(", ");
    let sql = "INSERT INTO soloist_entries \
               (task, payload, dedupe_key, key_held, run_at, priority, created_at, traceparent) VALUES ";
    let mut statement = Statement::new(format!("{sql}{rows}"));
    if chunk.len() != 1 && (chunk.len() != CHUNK || !free.is_empty()) {
        statement = statement.once();
    }
    for entry in chunk {
        let (at, after) = match entry.run_at {
            RunAt::Now => (None, 0),
            RunAt::At(at) => (Some(at), 0),
            RunAt::In(after) => (None, after),
        };
        statement = statement
            .bind(entry.task.as_str())
            .bind(entry.payload.as_str())
            .bind(entry.key.clone())
            .bind(at)
            .bind(after)
            .bind(entry.priority)
            .bind(entry.trace.map(|trace| trace.to_string()));
    }
    insert_rows(connection, statement, chunk.len(), ids)
}

/// Runs an `INSERT … VALUES` of `count` entries; adds their ids, in the order of the rows.
pub(in crate::store) fn insert_rows(
    connection: &mut Connection,
    statement: Statement,
    count: usize,
    ids: &mut Vec<i64>,
) -> Result<()> {
    if connection.dialect() == Dialect::Mysql {
        connection.execute(statement)?;
        return mysql_ids(connection, count, ids);
    }
    let mut new: Vec<i64> =
        connection.load::<Id>(statement.text(" RETURNING id"))?.into_iter().map(|row| row.id).collect();
    // Ids are handed out in the order of the rows; the order of RETURNING is not promised.
    new.sort_unstable();
    ids.append(&mut new);
    Ok(())
}

/// The ids of the multi-row INSERT just made. It is a "simple insert", whose number of rows is known before it runs:
/// its ids are one run, a step apart, in every `innodb_autoinc_lock_mode`, and LAST_INSERT_ID() is the first of them.
fn mysql_ids(connection: &mut Connection, count: usize, ids: &mut Vec<i64>) -> Result<()> {
    #[derive(diesel::QueryableByName)]
    struct Run {
        #[diesel(sql_type = BigInt)]
        first: i64,
        #[diesel(sql_type = BigInt)]
        step: i64,
    }
    let sql = "SELECT CAST(LAST_INSERT_ID() AS SIGNED) AS `first`, CAST(@@auto_increment_increment AS SIGNED) AS step";
    let run: Run = connection
        .first(Statement::new(sql))?
        .ok_or_else(|| Error::internal("the database does not say which ids it gave"))?;
    ids.extend((0_i64..).take(count).map(|position| run.first + position * run.step));
    Ok(())
}

/// The conflict with the first entry that holds one of the keys.
fn find_holder(connection: &mut Connection, entries: &[NewEntry], free: &HashSet<String>) -> Result<Option<Error>> {
    for (position, entry) in entries.iter().enumerate() {
        let Some(key) = held(entry, free) else { continue };
        if let Some(id) = holder(connection, &entry.task, key)? {
            let message = format!("key: {key:?} is held by entry {id} of {:?}, which is not final", entry.task);
            return Ok(Some(named(position, entries.len(), Error::conflict(message)).with_entry(id)));
        }
    }
    Ok(None)
}

/// The entry that holds a key, if one does.
pub(super) fn holder(connection: &mut Connection, task: &str, key: &str) -> Result<Option<i64>> {
    // By bytes on MySQL too, where two texts that differ by blanks at the end would be equal.
    let held = match connection.dialect() {
        Dialect::Mysql => "held_key = CAST(? AS BINARY)",
        Dialect::Sqlite | Dialect::Postgres => "dedupe_key = ? AND key_held = 1",
    };
    let sql = format!("SELECT id FROM soloist_entries WHERE task = ? AND {held}");
    Ok(connection.first::<Id>(Statement::new(sql).bind(task).bind(key))?.map(|row| row.id))
}
