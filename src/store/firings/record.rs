//! What a pass writes: the firings, and each schedule moved on to its next due time.

use std::collections::{HashMap, HashSet};

use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Nullable, Text};
use serde_json::{Value, json};

use super::work::Made;
use crate::error::{Error, Result};
use crate::firing::Outcome;
use crate::model::time::Micros;
use crate::store::connection::Connection;
use crate::store::dialect::ColumnKind::{Integer, Text as Words};
use crate::store::dialect::Columns;
use crate::store::statement::Statement;

/// A firing is known by its schedule and due time.
const KEY: Columns<'_> = &[("schedule", Words), ("scheduled_for", Integer)];

#[derive(QueryableByName)]
struct Row {
    #[diesel(sql_type = Text)]
    schedule: String,
    #[diesel(sql_type = BigInt)]
    scheduled_for: i64,
    #[diesel(sql_type = Text)]
    outcome: String,
    #[diesel(sql_type = Nullable<Text>)]
    reason: Option<String>,
}

/// A run of unfired due times that the next one may lengthen.
pub(super) struct OpenRun {
    pub from: Micros,
    outcome: String,
    reason: Option<String>,
}

impl OpenRun {
    pub fn is_alike(&self, outcome: Outcome, reason: &str) -> bool {
        self.outcome == outcome.word() && self.reason.as_deref() == Some(reason)
    }
}

fn read(connection: &mut Connection, keys: &[(&str, Micros)]) -> Result<Vec<Row>> {
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let rows = connection.dialect().rows_of_json("o", KEY);
    let sql = format!(
        "SELECT f.schedule, f.scheduled_for, f.outcome, f.reason FROM {rows} \
         JOIN soloist_firings f ON f.schedule = o.schedule AND f.scheduled_for = o.scheduled_for"
    );
    let keys = keys.iter().map(|(schedule, due)| json!({ "schedule": schedule, "scheduled_for": due })).collect();
    connection.load(Statement::new(sql).bind(Value::Array(keys).to_string()))
}

/// Those of these due times that are recorded already.
pub(super) fn known(connection: &mut Connection, keys: &[(&str, Micros)]) -> Result<HashSet<(String, Micros)>> {
    Ok(read(connection, keys)?.into_iter().map(|row| (row.schedule, row.scheduled_for)).collect())
}

/// The runs that begin at these due times.
pub(super) fn open_runs(
    connection: &mut Connection,
    keys: &[(&str, Micros)],
) -> Result<HashMap<(String, Micros), OpenRun>> {
    let run = |row: Row| {
        let run = OpenRun { from: row.scheduled_for, outcome: row.outcome, reason: row.reason };
        ((row.schedule, row.scheduled_for), run)
    };
    Ok(read(connection, keys)?.into_iter().map(run).collect())
}

/// Firings to be written.
pub(super) struct Records<'a> {
    /// When they were decided.
    now: Micros,
    /// Who decided.
    node: Option<&'a str>,
    new: Vec<Value>,
    longer: Vec<Value>,
}

impl<'a> Records<'a> {
    pub fn new(now: Micros, node: Option<&'a str>) -> Self {
        Self { now, node, new: Vec::new(), longer: Vec::new() }
    }

    pub fn fired(&mut self, schedule: &str, due: Micros, work: Made) {
        let row = self.made(schedule, due, work);
        self.new.push(row);
    }

    pub fn by_hand(&mut self, schedule: &str, due: Micros, by: &str, work: Made) {
        let mut row = self.made(schedule, due, work);
        row["reason"] = format!("fired by {by}").into();
        self.new.push(row);
    }

    pub fn left(
        &mut self,
        schedule: &str,
        (outcome, reason): (Outcome, &str),
        (from, until, count): (Micros, Micros, u64),
    ) {
        let mut row = self.row(schedule, from, outcome);
        row["reason"] = reason.into();
        row["run_until"] = until.into();
        row["run_count"] = count.into();
        self.new.push(row);
    }

    /// Makes the run that begins at `from` longer; it is kept as long as its newest due time would be.
    pub fn lengthen(&mut self, schedule: &str, from: Micros, until: Micros, count: u64) {
        let row = json!({ "schedule": schedule, "scheduled_for": from, "decided_at": self.now, "run_until": until,
                          "run_count": count });
        self.longer.push(row);
    }

    fn made(&self, schedule: &str, due: Micros, work: Made) -> Value {
        let mut row = self.row(schedule, due, Outcome::Fired);
        put(&mut row, "entry_id", work.entry_id);
        put(&mut row, "sweep_id", work.sweep_id);
        row
    }

    fn row(&self, schedule: &str, due: Micros, outcome: Outcome) -> Value {
        let mut row =
            json!({ "schedule": schedule, "scheduled_for": due, "decided_at": self.now, "outcome": outcome.word() });
        if let Some(node) = self.node {
            row["node"] = node.into();
        }
        row
    }

    pub fn write(self, connection: &mut Connection) -> Result<()> {
        const NEW: Columns<'_> = &[
            ("schedule", Words),
            ("scheduled_for", Integer),
            ("decided_at", Integer),
            ("outcome", Words),
            ("reason", Words),
            ("run_until", Integer),
            ("run_count", Integer),
            ("node", Words),
            ("entry_id", Integer),
            ("sweep_id", Integer),
        ];
        let dialect = connection.dialect();
        if !self.new.is_empty() {
            let names: Vec<_> = NEW.iter().map(|(name, _)| *name).collect();
            let columns = names.join(", ");
            let values = names.iter().map(|name| format!("o.{name}")).collect::<Vec<_>>().join(", ");
            let rows = dialect.rows_of_json("o", NEW);
            let sql = format!("INSERT INTO soloist_firings ({columns}) SELECT {values} FROM {rows}");
            connection.execute(Statement::new(sql).bind(Value::Array(self.new).to_string()))?;
        }
        // One row may be lengthened by one item only: each decision joins its alike.
        if !self.longer.is_empty() {
            let more = [("decided_at", Integer), ("run_until", Integer), ("run_count", Integer)];
            let columns: Vec<_> = KEY.iter().chain(&more).copied().collect();
            let set = [
                ("decided_at", "o.decided_at"),
                ("run_until", "o.run_until"),
                ("run_count", "e.run_count + o.run_count"),
            ];
            let sql = dialect.update_rows("soloist_firings", &["schedule", "scheduled_for"], &columns, &set, "1 = 1");
            let runs = self.longer.len();
            if connection.execute(Statement::new(sql).bind(Value::Array(self.longer).to_string()))? < runs {
                return Err(Error::transient("a run of due times was pruned in this moment; nothing was fired"));
            }
        }
        Ok(())
    }
}

/// A schedule as a pass leaves it.
pub(super) struct Moved {
    pub name: String,
    /// The next due time as it was read.
    pub was: Option<Micros>,
    pub look_at: Option<Micros>,
    pub next_fire_at: Option<Micros>,
    pub found_late: Option<Micros>,
    pub decided_until: Option<Micros>,
    pub queued_for: Option<Micros>,
    pub last_fired_at: Option<Micros>,
    pub last_entry_id: Option<i64>,
    pub last_sweep_id: Option<i64>,
    pub run_from: Option<Micros>,
}

/// Moves schedules on, as long as nobody else has: then all that this pass did is taken back.
pub(super) fn move_on(connection: &mut Connection, moved: &[Moved]) -> Result<()> {
    if moved.is_empty() {
        return Ok(());
    }
    const COLUMNS: Columns<'_> = &[
        ("name", Words),
        ("was", Integer),
        ("look_at", Integer),
        ("next_fire_at", Integer),
        ("found_late", Integer),
        ("decided_until", Integer),
        ("queued_for", Integer),
        ("last_fired_at", Integer),
        ("last_entry_id", Integer),
        ("last_sweep_id", Integer),
        ("run_from", Integer),
    ];
    let set: Vec<_> = COLUMNS[2..].iter().map(|(name, _)| (*name, format!("o.{name}"))).collect();
    let set: Vec<_> = set.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let rows = moved.iter().map(|moved| {
        let mut row = json!({ "name": moved.name });
        for (name, value) in [
            ("was", moved.was),
            ("look_at", moved.look_at),
            ("next_fire_at", moved.next_fire_at),
            ("found_late", moved.found_late),
            ("decided_until", moved.decided_until),
            ("queued_for", moved.queued_for),
            ("last_fired_at", moved.last_fired_at),
            ("last_entry_id", moved.last_entry_id),
            ("last_sweep_id", moved.last_sweep_id),
            ("run_from", moved.run_from),
        ] {
            put(&mut row, name, value);
        }
        row
    });
    let rows = Value::Array(rows.collect()).to_string();
    let unmoved = "COALESCE(e.next_fire_at, 0) = COALESCE(o.was, 0)";
    let sql = connection.dialect().update_rows("soloist_schedules", &["name"], COLUMNS, &set, unmoved);
    if connection.execute(Statement::new(sql).bind(rows))? < moved.len() {
        return Err(Error::transient("another moved a schedule on at the same time; nothing was fired"));
    }
    Ok(())
}

/// What is not there is left out: a null would become the text 'null' on MySQL before 8.0.21.
pub(super) fn put(row: &mut Value, name: &str, value: Option<i64>) {
    if let Some(value) = value {
        row[name] = value.into();
    }
}
