//! The statement that writes schedules: new ones and changed ones in one.

use serde_json::{Value, json};

use super::read::{Origin, Row};
use crate::config::schedule::{Definition, Schedule};
use crate::error::Result;
use crate::firing;
use crate::model::time::Micros;
use crate::store::connection::Connection;
use crate::store::dialect::ColumnKind::{Integer, Text};
use crate::store::dialect::{Columns, Dialect};
use crate::store::statement::Statement;

/// Schedules of one statement.
const CHUNK: usize = 1000;

/// A schedule as it is to be.
#[derive(Debug, Clone)]
pub(super) struct Written {
    pub schedule: Schedule,
    /// The definition as text, with members that only a newer version knows.
    pub definition: String,
    pub origin: Origin,
    pub sweeps: bool,
    /// Where an interval counts from.
    pub anchor: Micros,
    pub next_fire_at: Option<Micros>,
    pub queued_for: Option<Micros>,
}

impl Written {
    /// A schedule that is new at `now`, or in the place of `before`.
    ///
    /// The phase of an interval stays, and so does what was decided. Only a change of what makes it due changes when it
    /// is due next.
    pub fn new(schedule: Schedule, origin: Origin, sweeps: bool, now: Micros, before: Option<&Row>) -> Self {
        let anchor = before.map_or(now, |row| row.anchor);
        let timer = schedule.timer(anchor);
        let next_fire_at = match before {
            Some(row) if is_due_alike(row, &schedule) => row.next_fire_at,
            _ => firing::first_due(&timer, now, before.and_then(|row| row.decided_until)),
        };
        let queued_for = before.and_then(|row| row.queued_for);
        let definition = Definition::from(&schedule).to_json();
        Self { schedule, definition, origin, sweeps, anchor, next_fire_at, queued_for }
    }
}

/// True if a schedule is to be due when it is due now.
pub(super) fn is_due_alike(row: &Row, schedule: &Schedule) -> bool {
    let now = Definition::from_json(&row.definition).and_then(|definition| definition.schedule(&row.name));
    now.is_ok_and(|now| firing::is_due_alike(&now, schedule))
}

/// What becomes of a schedule whose name is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    /// It takes the place of the other.
    Replace,
    /// A conflict; then none is written.
    Refuse,
}

/// Writes schedules; pauses and what was fired stay as they are.
pub(super) fn write(connection: &mut Connection, written: &[Written], now: Micros, taken: Taken) -> Result<()> {
    const COLUMNS: Columns<'_> = &[
        ("name", Text),
        ("task", Text),
        ("definition", Text),
        ("origin", Text),
        ("declared", Integer),
        ("sweeps", Integer),
        ("anchor", Integer),
        ("look_at", Integer),
        ("next_fire_at", Integer),
        ("changed_at", Integer),
    ];
    let names: Vec<_> = COLUMNS.iter().map(|(name, _)| *name).collect();
    let dialect = connection.dialect();
    // The condition keeps SQLite from reading ON as that of a join.
    let filter = if dialect == Dialect::Mysql { "" } else { " WHERE 1 = 1" };
    let sql = format!(
        "INSERT INTO soloist_schedules ({}) SELECT {} FROM {}{filter}{}",
        names.join(", "),
        names.iter().map(|name| format!("o.{name}")).collect::<Vec<_>>().join(", "),
        dialect.rows_of_json("o", COLUMNS),
        if taken == Taken::Replace { dialect.or_update("name", &names[1..]) } else { String::new() },
    );
    for chunk in written.chunks(CHUNK) {
        let rows = chunk.iter().map(|written| {
            let mut row = json!({
                "name": written.schedule.name, "task": written.schedule.task,
                "definition": written.definition, "origin": written.origin.word(),
                "declared": 1, "sweeps": i32::from(written.sweeps), "anchor": written.anchor, "changed_at": now,
            });
            // A null would become the text 'null' on MySQL before 8.0.21.
            if let Some(next) = written.next_fire_at {
                row["next_fire_at"] = next.into();
            }
            if let Some(look) = [written.next_fire_at, written.queued_for].into_iter().flatten().min() {
                row["look_at"] = look.into();
            }
            row
        });
        connection.execute(Statement::new(sql.as_str()).bind(Value::Array(rows.collect()).to_string()))?;
    }
    Ok(())
}
