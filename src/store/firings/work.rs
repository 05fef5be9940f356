//! The work of firings: the entries and sweeps that are made, how they stand, and what is kept of them.

use std::collections::{BTreeMap, HashMap, HashSet};

use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Integer, Nullable, Text};
use serde_json::{Value, json};

use super::record::put;
use crate::config::schedule::Schedule;
use crate::error::Result;
use crate::firing::{self, Work};
use crate::model::time::Micros;
use crate::store::connection::Connection;
use crate::store::dialect::ColumnKind::{self, Text as Words};
use crate::store::entries;
use crate::store::statement::Statement;
use crate::store::sweeps;

/// Entries of one statement.
const CHUNK: usize = 500;

/// Bytes of payload in one statement, unless one payload alone has more: servers bound the length of a statement.
const BYTES: usize = 1 << 20;

#[derive(QueryableByName)]
pub(super) struct Id {
    #[diesel(sql_type = BigInt)]
    pub id: i64,
}

/// A due time whose work is to be made.
pub(super) struct Wanted<'a> {
    pub schedule: &'a Schedule,
    pub due: Micros,
    /// True if the task has a source.
    pub sweeps: bool,
    /// True if a person fired it: it starts now.
    pub by_hand: bool,
}

/// The work of a firing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Made {
    /// The entry, of a task without a source.
    pub entry_id: Option<i64>,
    /// The sweep, of a task with one.
    pub sweep_id: Option<i64>,
}

/// Makes the entries and sweeps, in the order given. Firings of one task that fall together share a sweep.
pub(super) fn make(connection: &mut Connection, wanted: &[Wanted<'_>], now: Micros) -> Result<Vec<Made>> {
    let entries: Vec<_> = wanted.iter().filter(|wanted| !wanted.sweeps).collect();
    let mut ids = Vec::with_capacity(entries.len());
    let longest = entries.iter().filter_map(|wanted| wanted.schedule.payload.as_ref()).map(String::len).max();
    for chunk in entries.chunks((BYTES / longest.unwrap_or(0).max(1)).clamp(1, CHUNK)) {
        insert(connection, chunk, now, &mut ids)?;
    }
    let mut ids = ids.into_iter();
    let mut swept: BTreeMap<&str, i64> = BTreeMap::new();
    let mut made = Vec::with_capacity(wanted.len());
    for wanted in wanted {
        let task = wanted.schedule.task.as_str();
        made.push(if !wanted.sweeps {
            Made { entry_id: ids.next(), sweep_id: None }
        } else if let Some(id) = swept.get(task) {
            Made { entry_id: None, sweep_id: Some(*id) }
        } else {
            let id = sweeps::request(connection, task)?;
            swept.insert(task, id);
            Made { entry_id: None, sweep_id: Some(id) }
        });
    }
    Ok(made)
}

fn insert(connection: &mut Connection, chunk: &[&Wanted<'_>], now: Micros, ids: &mut Vec<i64>) -> Result<()> {
    let rows = vec!["(?, ?, ?, ?, ?, ?)"; chunk.len()].join(", ");
    let mut statement = Statement::new(format!(
        "INSERT INTO soloist_entries (task, payload, run_at, created_at, schedule, scheduled_for) VALUES {rows}"
    ));
    if chunk.len() != 1 {
        statement = statement.once();
    }
    for wanted in chunk {
        let schedule = wanted.schedule;
        let put_off = || wanted.due.saturating_add(firing::offset(&schedule.name, wanted.due, schedule.jitter));
        let run_at = if wanted.by_hand { now } else { put_off().max(now) };
        statement = statement
            .bind(schedule.task.as_str())
            .bind(schedule.payload.as_deref().unwrap_or("null"))
            .bind(run_at)
            .bind(now)
            .bind(schedule.name.as_str())
            .bind(wanted.due);
    }
    entries::insert_rows(connection, statement, chunk.len(), ids)
}

/// Which work of earlier firings has not ended.
#[derive(Default)]
pub(super) struct Going {
    entries: HashMap<i64, Work>,
    sweeps: HashSet<i64>,
}

impl Going {
    pub fn of(&self, entry: Option<i64>, sweep: Option<i64>) -> Work {
        if sweep.is_some_and(|id| self.sweeps.contains(&id)) {
            return Work::Going;
        }
        entry.and_then(|id| self.entries.get(&id).copied()).unwrap_or(Work::Over)
    }
}

/// How the work of these entries and sweeps stands.
pub(super) fn going(connection: &mut Connection, entries: &[i64], sweeps: &[i64]) -> Result<Going> {
    #[derive(QueryableByName)]
    struct Entry {
        #[diesel(sql_type = BigInt)]
        id: i64,
        #[diesel(sql_type = Integer)]
        waits: i32,
    }
    let dialect = connection.dialect();
    let mut going = Going::default();
    if !entries.is_empty() {
        let sql = dialect.sql(&format!(
            "SELECT id, CASE WHEN state = 'pending' AND attempt > 0 AND run_at > {{now}} THEN 1 ELSE 0 END AS waits \
             FROM soloist_entries WHERE {} AND state IN ('pending', 'running')",
            dialect.among_ids("id")
        ));
        for entry in connection.load::<Entry>(Statement::new(sql).bind(dialect.ids(entries)))? {
            going.entries.insert(entry.id, if entry.waits == 1 { Work::WaitsForRetry } else { Work::Going });
        }
    }
    if !sweeps.is_empty() {
        let among = dialect.among_ids("id");
        let sql = format!("SELECT id FROM soloist_sweeps WHERE {among} AND finished_at IS NULL");
        let open: Vec<Id> = connection.load(Statement::new(sql).bind(dialect.ids(sweeps)))?;
        going.sweeps = open.into_iter().map(|row| row.id).collect();
    }
    Ok(going)
}

/// Lets retries begin now.
pub(super) fn bring_forward(connection: &mut Connection, entries: &[i64]) -> Result<()> {
    if entries.is_empty() {
        return Ok(());
    }
    let dialect = connection.dialect();
    let sql = dialect.sql(&dialect.update_ids("run_at = {now}", "state = 'pending' AND run_at > {now}"));
    connection.execute(Statement::new(sql).bind(dialect.ids(entries)))?;
    Ok(())
}

/// Keeps what became of those of these entries that have ended with their firings, in the transaction that deletes them.
pub fn keep_results(connection: &mut Connection, entries: &[i64]) -> Result<()> {
    let dialect = connection.dialect();
    let sql =
        dialect.lock_ids("id, state, finished_at, attempt", "scheduled_for IS NOT NULL AND finished_at IS NOT NULL");
    let ended: Vec<Ended> = connection.load(Statement::new(sql).bind(dialect.ids(entries)))?;
    keep(connection, "entry_id", &ended)
}

/// Keeps when sweeps ended with their firings, before they are deleted: those that have been over for as long as `age`.
pub fn keep_sweep_results(connection: &mut Connection, age: Micros) -> Result<()> {
    let sql = connection.dialect().sql(
        "SELECT id, 'completed' AS state, finished_at, NULL AS attempt FROM soloist_sweeps \
         WHERE finished_at < {now} - ?",
    );
    let ended: Vec<Ended> = connection.load(Statement::new(sql).bind(age))?;
    keep(connection, "sweep_id", &ended)
}

/// Work that has ended.
#[derive(QueryableByName)]
struct Ended {
    #[diesel(sql_type = BigInt)]
    id: i64,
    #[diesel(sql_type = Text)]
    state: String,
    #[diesel(sql_type = Nullable<BigInt>)]
    finished_at: Option<i64>,
    #[diesel(sql_type = Nullable<Integer>)]
    attempt: Option<i32>,
}

fn keep(connection: &mut Connection, key: &str, ended: &[Ended]) -> Result<()> {
    if ended.is_empty() {
        return Ok(());
    }
    let columns = [
        (key, ColumnKind::Integer),
        ("result", Words),
        ("ended_at", ColumnKind::Integer),
        ("attempts", ColumnKind::Integer),
    ];
    let set = [("result", "o.result"), ("ended_at", "o.ended_at"), ("attempts", "o.attempts")];
    let rows = ended.iter().map(|ended| {
        let mut row = json!({ key: ended.id, "result": ended.state });
        put(&mut row, "ended_at", ended.finished_at);
        put(&mut row, "attempts", ended.attempt.map(i64::from));
        row
    });
    let sql = connection.dialect().update_rows("soloist_firings", &[key], &columns, &set, "1 = 1");
    connection.execute(Statement::new(sql).bind(Value::Array(rows.collect()).to_string()))?;
    Ok(())
}
