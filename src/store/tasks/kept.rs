//! Counts that are kept: of what waits, beyond the cap of a look, and of how it was some minutes ago.
//!
//! One node counts, whoever comes first, never for more than a twentieth of the time. Nothing depends on it but what
//! people are shown.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Nullable, Text};
use serde_json::{Value, json};

use super::waiting::{self, CAP};
use crate::error::Result;
use crate::model::time::{Micros, SECOND, micros};
use crate::store::connection::Connection;
use crate::store::dialect::{ColumnKind, Columns};
use crate::store::nodes;
use crate::store::statement::Statement;

/// How often it is counted.
pub const EVERY: Duration = Duration::from_secs(5);

/// The count of so long ago, at least, is kept beside the newest: whether more comes in than goes out shows between them.
const EARLIER: Micros = 300 * SECOND;

/// A kept count of one task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    /// Entries that wait, due or not.
    pub pending: i64,
    /// Those that could start.
    pub due: i64,
    /// When they were counted.
    pub counted_at: Micros,
    /// How many could start some minutes ago, and when that was.
    pub earlier: Option<(i64, Micros)>,
}

/// The counts that are kept, by task.
pub fn all(connection: &mut Connection) -> Result<BTreeMap<String, Kept>> {
    #[derive(QueryableByName)]
    struct Row {
        #[diesel(sql_type = Text)]
        task: String,
        #[diesel(sql_type = BigInt)]
        pending: i64,
        #[diesel(sql_type = BigInt)]
        due: i64,
        #[diesel(sql_type = BigInt)]
        counted_at: i64,
        #[diesel(sql_type = Nullable<BigInt>)]
        earlier_due: Option<i64>,
        #[diesel(sql_type = Nullable<BigInt>)]
        earlier_at: Option<i64>,
    }
    let sql = "SELECT task, pending, due, counted_at, earlier_due, earlier_at FROM soloist_counts WHERE task <> ''";
    let rows: Vec<Row> = connection.load(Statement::new(sql))?;
    let kept = |row: Row| {
        let Row { pending, due, counted_at, .. } = row;
        let earlier = row.earlier_due.zip(row.earlier_at);
        (row.task, Kept { pending, due, counted_at, earlier })
    };
    Ok(rows.into_iter().map(kept).collect())
}

/// Counts anew, unless another has done so a moment ago.
pub fn refresh(connection: &mut Connection) -> Result<()> {
    let dialect = connection.dialect();
    // Whoever moves the row without a name counts; should it die at that, another does after a minute.
    let take = dialect.sql(
        "UPDATE soloist_counts SET counted_at = {now} + 60000000 \
         WHERE task = '' AND (counted_at <= {now} OR counted_at > {now} + 600000000)",
    );
    if connection.execute(Statement::new(take))? == 0 {
        return Ok(());
    }
    let start = Instant::now();
    let result = count(connection);
    let rest = micros((start.elapsed() * 20).max(EVERY)).min(600 * SECOND) - SECOND / 2;
    let again = dialect.sql("UPDATE soloist_counts SET counted_at = {now} + ? WHERE task = ''");
    connection.execute(Statement::new(again).bind(rest))?;
    result
}

fn count(connection: &mut Connection) -> Result<()> {
    let before = all(connection)?;
    let now = nodes::clock(connection)?;
    let mut counts = Vec::new();
    // Also those of which nothing waits any more: how it was is part of how it goes.
    let mut names = waiting::names(connection)?;
    names.extend(before.keys().cloned());
    names.sort();
    names.dedup();
    for task in names {
        let mut waits = waiting::of(connection, &task, now)?;
        if waits.pending >= CAP {
            waits = waiting::all_of(connection, &task, now)?;
        }
        let before = before.get(&task);
        if waits.pending == 0 && before.is_none_or(|before| before.pending == 0) {
            continue;
        }
        let earlier = before.and_then(|before| earlier(before, now));
        counts.push((task, Kept { pending: waits.pending, due: waits.due, counted_at: now, earlier }));
    }
    write(connection, counts, now)?;
    let gone = "DELETE FROM soloist_counts WHERE task <> '' AND counted_at < ?";
    connection.execute(Statement::new(gone).bind(now - 2 * EARLIER)).map(|_| ())
}

/// What is kept as the earlier count: until it is twice as old as it must be, then what was the newest.
fn earlier(before: &Kept, now: Micros) -> Option<(i64, Micros)> {
    match before.earlier {
        Some((_, at)) if now - at < 2 * EARLIER => before.earlier,
        _ => Some((before.due, before.counted_at)),
    }
}

fn write(connection: &mut Connection, counts: Vec<(String, Kept)>, now: Micros) -> Result<()> {
    const COLUMNS: Columns<'_> = &[
        ("task", ColumnKind::Text),
        ("pending", ColumnKind::Integer),
        ("due", ColumnKind::Integer),
        ("earlier_due", ColumnKind::Integer),
        ("earlier_at", ColumnKind::Integer),
    ];
    if counts.is_empty() {
        return Ok(());
    }
    let rows = counts.into_iter().map(|(task, kept)| {
        let mut row = json!({ "task": task, "pending": kept.pending, "due": kept.due });
        if let Some((due, at)) = kept.earlier {
            (row["earlier_due"], row["earlier_at"]) = (due.into(), at.into());
        }
        row
    });
    let rows = Value::Array(rows.collect()).to_string();
    let dialect = connection.dialect();
    // `WHERE 1 = 1`: without it SQLite takes the ON of the upsert for that of a join.
    let sql = format!(
        "INSERT INTO soloist_counts (task, pending, due, counted_at, earlier_due, earlier_at) \
         SELECT o.task, o.pending, o.due, ?, o.earlier_due, o.earlier_at FROM {} WHERE 1 = 1{}",
        dialect.rows_of_json("o", COLUMNS),
        dialect.or_update("task", &["pending", "due", "counted_at", "earlier_due", "earlier_at"])
    );
    connection.execute(Statement::new(sql).bind(now).bind(rows)).map(|_| ())
}
