//! What people do to entries that exist, by id: in one transaction, over rows that it locked first.

use std::collections::{BTreeMap, HashMap, HashSet};

use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Integer, Nullable, Text};
use serde_json::json;

use super::action::Action;
use super::filter::Filter;
use super::holders;
use crate::error::{Error, Result};
use crate::model::By;
use crate::store::audit::{self, Subject};
use crate::store::connection::Connection;
use crate::store::firings;
use crate::store::statement::{Bind, Statement};
use crate::store::tasks::{declared, limits};

/// How often an action is repeated that met another at a bad moment.
const TRIES: usize = 3;

#[derive(QueryableByName)]
pub(super) struct Locked {
    #[diesel(sql_type = BigInt)]
    pub id: i64,
    #[diesel(sql_type = Text)]
    pub task: String,
    #[diesel(sql_type = Text)]
    state: String,
    #[diesel(sql_type = Nullable<Text>)]
    dedupe_key: Option<String>,
    #[diesel(sql_type = Integer)]
    key_held: i32,
}

/// Takes a failed or cancelled entry back to pending. A conflict if another holds its key or it is in another state.
pub fn retry(connection: &mut Connection, id: i64, by: &By) -> Result<()> {
    act(connection, Action::Retry, id, by)
}

/// Cancels a pending or running entry; whoever runs it can no longer write its end.
pub fn cancel(connection: &mut Connection, id: i64, by: &By) -> Result<()> {
    act(connection, Action::Cancel, id, by)
}

/// Makes a pending entry due.
pub fn run_now(connection: &mut Connection, id: i64, by: &By) -> Result<()> {
    act(connection, Action::RunNow, id, by)
}

/// Deletes an entry that does not run.
pub fn delete(connection: &mut Connection, id: i64, by: &By) -> Result<()> {
    act(connection, Action::Delete, id, by)
}

/// Does it to one entry.
pub fn act(connection: &mut Connection, action: Action, id: i64, by: &By) -> Result<()> {
    let (verdicts, ()) = attempt(connection, action, &[id], None, |connection, _, changed| {
        changed.iter().try_for_each(|row| {
            let detail = json!({ "task": row.task, "was": row.state });
            audit::write(connection, by, action.word(), Subject::Entry(row.id), &detail).map(|_| ())
        })
    })?;
    match verdicts.into_iter().next() {
        Some(verdict) => verdict,
        None => Err(Error::not_found(format!("there is no entry {id}"))),
    }
}

/// Does it to those of these entries that a filter still means and that allow it, all in one transaction, in which
/// `record` hears how many are meant and of those that were changed as they were. A verdict for each that is meant, and
/// what `record` said.
pub(super) fn attempt<R>(
    connection: &mut Connection,
    action: Action,
    ids: &[i64],
    filter: Option<&Filter>,
    record: impl Fn(&mut Connection, usize, &[&Locked]) -> Result<R>,
) -> Result<(Vec<Result<()>>, R)> {
    let mut tries = 0;
    loop {
        let result = connection.transaction(|connection| {
            let rows = lock(connection, ids, filter)?;
            let free = if action == Action::Retry { free(connection, &rows)? } else { HashSet::new() };
            let verdicts = judge(connection, action, &rows, &free)?;
            let chosen: Vec<&Locked> =
                rows.iter().zip(&verdicts).filter(|(_, v)| v.is_ok()).map(|(row, _)| row).collect();
            if !chosen.is_empty() {
                change(connection, action, &chosen, &free)?;
            }
            let recorded = record(connection, rows.len(), &chosen)?;
            Ok((verdicts, recorded))
        });
        let Err(error) = result else { return result };
        tries += 1;
        // A conflict here is a key that was taken between the look and the write; the next look sees its holder.
        let again = error.is_conflict() || error.to_string().to_lowercase().contains("deadlock");
        if !again || tries == TRIES {
            return Err(error);
        }
    }
}

fn lock(connection: &mut Connection, ids: &[i64], filter: Option<&Filter>) -> Result<Vec<Locked>> {
    let dialect = connection.dialect();
    let meant = Statement::new("1 = 1");
    let meant = filter.map_or_else(|| meant.clone(), |filter| filter.add_to(meant.clone(), dialect));
    let select = Statement::new(dialect.lock_ids("id, task, state, dedupe_key, key_held", &meant.sql()));
    let select = meant.binds().iter().fold(select.bind(dialect.ids(ids)), |select, bind| select.bind(bind.clone()));
    let mut rows: Vec<Locked> = connection.load(select)?;
    rows.sort_unstable_by_key(|row| row.id);
    Ok(rows)
}

/// Those of their tasks whose entries hold no key: they do not take it again either.
fn free(connection: &mut Connection, rows: &[Locked]) -> Result<HashSet<String>> {
    let keyed: HashSet<_> = rows.iter().filter(|row| row.dedupe_key.is_some()).map(|row| &*row.task).collect();
    limits::without_held_keys(connection, &keyed.into_iter().collect::<Vec<_>>())
}

/// For each row, whether the action may be done, newest first where several want one key.
fn judge(
    connection: &mut Connection,
    action: Action,
    rows: &[Locked],
    free: &HashSet<String>,
) -> Result<Vec<Result<()>>> {
    let takes_key = |row: &&Locked| {
        action == Action::Retry && row.dedupe_key.is_some() && row.key_held == 0 && !free.contains(&row.task)
    };
    let takers: Vec<i64> = rows.iter().filter(takes_key).map(|row| row.id).collect();
    let held = if takers.is_empty() { HashMap::new() } else { holders::of(connection, &takers)? };
    let mut wanted: HashSet<(&str, &str)> = HashSet::new();
    let mut verdicts = Vec::with_capacity(rows.len());
    for row in rows.iter().rev() {
        let key = row.dedupe_key.as_deref().filter(|_| takes_key(&row));
        verdicts.push(allowed(action, row, key, held.get(&row.id).copied(), &mut wanted));
    }
    verdicts.reverse();
    Ok(verdicts)
}

fn allowed<'a>(
    action: Action,
    row: &'a Locked,
    takes: Option<&'a str>,
    holder: Option<i64>,
    wanted: &mut HashSet<(&'a str, &'a str)>,
) -> Result<()> {
    if !action.from_states().iter().any(|state| state.word() == row.state) {
        let (only, done) = (action.from_words(), action.done());
        let message = format!("entry {} is {}: only {only} ones can be {done}", row.id, row.state);
        return Err(Error::conflict(message).with_entry(row.id));
    }
    let Some(key) = takes else { return Ok(()) };
    if let Some(holder) = holder {
        let message = format!("entry {} cannot be retried: its key {key:?} is held by entry {holder}", row.id);
        return Err(Error::conflict(message).with_entry(holder));
    }
    if !wanted.insert((&row.task, key)) {
        let message = format!("entry {} cannot be retried: a newer one takes its key {key:?}", row.id);
        return Err(Error::conflict(message));
    }
    Ok(())
}

fn change(connection: &mut Connection, action: Action, rows: &[&Locked], free: &HashSet<String>) -> Result<()> {
    let ids: Vec<i64> = rows.iter().map(|row| row.id).collect();
    match action {
        Action::Retry => {
            let declared = declared::living(connection)?;
            let mut alike: BTreeMap<(i32, bool), Vec<i64>> = BTreeMap::new();
            for row in rows {
                let attempts = declared.max_attempts(&row.task);
                alike.entry((attempts, free.contains(&row.task))).or_default().push(row.id);
            }
            // With a new claim number: what the last claim tried is done with.
            let set = "state = 'pending', claim = claim + 1, max_attempts = attempt + ?, run_at = {now}, \
                       finished_at = NULL, node_id = NULL, lease_until = NULL, output = NULL";
            for ((attempts, is_free), ids) in alike {
                let key = if is_free { "" } else { ", key_held = 1" };
                update(connection, &ids, &format!("{set}{key}"), &[attempts.into()])?;
            }
            Ok(())
        }
        Action::Cancel => {
            keep_attempts(connection, &ids)?;
            let set = "state = 'cancelled', finished_at = {now}, lease_until = NULL, \
                       key_held = CASE WHEN source = 1 THEN key_held ELSE 0 END";
            update(connection, &ids, set, &[])
        }
        Action::RunNow => update(connection, &ids, "run_at = CASE WHEN run_at > {now} THEN {now} ELSE run_at END", &[]),
        Action::Delete => {
            firings::keep_results(connection, &ids)?;
            for (table, column) in [("soloist_attempts", "entry_id"), ("soloist_entries", "id")] {
                let dialect = connection.dialect();
                let sql = dialect.delete_ids(table, column, "1 = 1");
                connection.execute(Statement::new(sql).bind(dialect.ids(&ids)))?;
            }
            Ok(())
        }
    }
}

fn update(connection: &mut Connection, ids: &[i64], set: &str, binds: &[Bind]) -> Result<()> {
    let dialect = connection.dialect();
    let mut statement = Statement::new(dialect.sql(&dialect.update_ids(set, "1 = 1")));
    if dialect.ids_first() {
        statement = statement.bind(dialect.ids(ids));
    }
    for bind in binds {
        statement = statement.bind(bind.clone());
    }
    if !dialect.ids_first() {
        statement = statement.bind(dialect.ids(ids));
    }
    connection.execute(statement)?;
    Ok(())
}

/// What runs is ended by a cancellation: its attempt is over.
fn keep_attempts(connection: &mut Connection, ids: &[i64]) -> Result<()> {
    let dialect = connection.dialect();
    let sql = format!(
        "INSERT INTO soloist_attempts (entry_id, claim, attempt, node_id, started_at, finished_at, outcome) \
         SELECT e.id, e.claim, e.attempt, e.node_id, e.started_at, {now}, 'cancelled' FROM soloist_entries e \
         WHERE {among} AND e.state = 'running'{ignore}",
        now = dialect.now(),
        among = dialect.among_ids("e.id"),
        ignore = dialect.or_ignore("outcome"),
    );
    connection.execute(Statement::new(sql).bind(dialect.ids(ids)))?;
    Ok(())
}
