//! What limits the starts of a task over all nodes, as it is in force: the words of the node that declared it last.
//!
//! It is kept in the database and not taken from the configuration of whoever claims, so that all go by the same.

use std::collections::HashSet;

use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Integer, Nullable, Text};
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Serialize, Serializer};
use utoipa::ToSchema;

use super::declared;
use crate::error::Result;
use crate::model::Rate;
use crate::store::connection::Connection;
use crate::store::dialect::Dialect;
use crate::store::statement::Statement;

/// What limits the starts of a task over all nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Entries at once; 0: no limit.
    pub max_running: i64,
    /// Starts in a span.
    pub rate: Option<Rate>,
    /// True if entries of one key go one at a time, in order.
    pub serial: bool,
    /// True if a key keeps another entry with the same from being accepted.
    pub keys_held: bool,
}

impl Default for Limits {
    /// No limit.
    fn default() -> Self {
        Self { max_running: 0, rate: None, serial: false, keys_held: true }
    }
}

impl Limits {
    /// True if entries that are due may have to wait for something besides a node's free slot.
    pub fn any(&self) -> bool {
        self.max_running > 0 || self.rate.is_some() || self.serial
    }
}

/// The keys of the configuration: `max_running`, `rate`, `serial_by`.
pub(super) fn as_configured<S: Serializer>(limits: &Limits, serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(3))?;
    map.serialize_entry("max_running", &limits.max_running)?;
    map.serialize_entry("rate", &limits.rate.map(|rate| rate.to_string()))?;
    map.serialize_entry("serial_by", &limits.serial.then_some("key"))?;
    map.end()
}

/// What [`as_configured`] writes, for the document of the API.
#[derive(ToSchema)]
#[schema(as = Limits)]
#[expect(dead_code, reason = "it only describes")]
pub(super) struct Configured {
    /// Entries at once over all nodes; 0: no limit.
    max_running: i64,
    /// Starts in a span over all nodes, as `100/s`.
    rate: Option<String>,
    /// `key`: entries of one key go one at a time, in order.
    serial_by: Option<String>,
}

/// The columns of [`Limits`].
#[derive(QueryableByName)]
pub(in crate::store) struct Columns {
    #[diesel(sql_type = Integer)]
    max_running: i32,
    #[diesel(sql_type = Nullable<BigInt>)]
    rate_starts: Option<i64>,
    #[diesel(sql_type = Nullable<BigInt>)]
    rate_span: Option<i64>,
    #[diesel(sql_type = Integer)]
    serial: i32,
    #[diesel(sql_type = Integer)]
    keys_held: i32,
}

/// Their names, for a `SELECT`.
pub(in crate::store) const COLUMNS: &str = "max_running, rate_starts, rate_span, serial, keys_held";

impl From<Columns> for Limits {
    fn from(row: Columns) -> Self {
        Self {
            max_running: row.max_running.into(),
            rate: row.rate_starts.zip(row.rate_span).map(|(starts, span)| Rate { starts, span }),
            serial: row.serial == 1,
            keys_held: row.keys_held == 1,
        }
    }
}

#[derive(QueryableByName)]
struct Name {
    #[diesel(sql_type = Text)]
    name: String,
}

/// Locks the row of a task until the transaction ends. On SQLite the one writer's turn is the lock.
pub(in crate::store) fn lock_one(connection: &mut Connection, task: &str) -> Result<()> {
    let dialect = connection.dialect();
    if dialect != Dialect::Sqlite {
        let sql = format!("SELECT name FROM soloist_tasks WHERE name = ?{}", dialect.for_update());
        connection.first::<Name>(Statement::new(sql).bind(task))?;
    }
    Ok(())
}

/// Locks the rows of these tasks, new ones among them, until the transaction ends: of two that declare a task at once
/// the one that reads the clock second is the one that writes second.
pub(in crate::store) fn lock(connection: &mut Connection, tasks: &[String]) -> Result<()> {
    let dialect = connection.dialect();
    let rows = dialect.rows_of_texts("t");
    // Always in one order. The condition keeps SQLite from reading ON as that of a join.
    let insert = format!(
        "INSERT INTO soloist_tasks (name) SELECT t.value FROM {rows} WHERE 1 = 1 ORDER BY t.value{}",
        dialect.or_ignore("name")
    );
    connection.execute(Statement::new(insert).bind(dialect.texts(tasks)))?;
    if dialect != Dialect::Sqlite {
        let among = dialect.among_texts("name");
        let sql = format!("SELECT name FROM soloist_tasks WHERE {among} ORDER BY name{}", dialect.for_update());
        connection.load::<Name>(Statement::new(sql).bind(dialect.texts(tasks)))?;
    }
    Ok(())
}

/// Brings into force what the newest living declaration of each of these tasks says. A task that no living node
/// declares keeps what it has. The rows are locked.
pub(in crate::store) fn bring_into_force(connection: &mut Connection, tasks: &[String]) -> Result<()> {
    #[derive(QueryableByName)]
    struct Row {
        #[diesel(sql_type = Text)]
        name: String,
        #[diesel(embed)]
        limits: Columns,
    }
    let dialect = connection.dialect();
    let sql = format!("SELECT name, {COLUMNS} FROM soloist_tasks WHERE {}", dialect.among_texts("name"));
    let rows: Vec<Row> = connection.load(Statement::new(sql).bind(dialect.texts(tasks)))?;
    let living = declared::living(connection)?;
    for Row { name, limits } in rows {
        let (now, wanted) = (Limits::from(limits), living.tasks.get(&name).map(|task| task.limits));
        if let Some(wanted) = wanted.filter(|wanted| *wanted != now) {
            write(connection, &name, &wanted, wanted.rate == now.rate)?;
        }
    }
    Ok(())
}

/// What the last rate has promised for later says nothing of another.
fn write(connection: &mut Connection, task: &str, limits: &Limits, same_rate: bool) -> Result<()> {
    let sql = "UPDATE soloist_tasks SET max_running = ?, rate_starts = ?, rate_span = ?, serial = ?, keys_held = ?, \
               next_start_at = CASE WHEN ? = 1 THEN next_start_at END WHERE name = ?";
    let statement = Statement::new(sql)
        .bind(limits.max_running)
        .bind(limits.rate.map(|rate| rate.starts))
        .bind(limits.rate.map(|rate| rate.span))
        .bind(i32::from(limits.serial))
        .bind(i32::from(limits.keys_held))
        .bind(i32::from(same_rate))
        .bind(task);
    connection.execute(statement).map(|_| ())
}

/// Lets others speak for what this incarnation declared, once it is gone.
pub(in crate::store) fn after(connection: &mut Connection, node_id: i64) -> Result<()> {
    let sql = "SELECT name FROM soloist_declarations WHERE node_id = ? AND kind = 'task'";
    let tasks: Vec<Name> = connection.load(Statement::new(sql).bind(node_id))?;
    let tasks: Vec<_> = tasks.into_iter().map(|row| row.name).collect();
    if tasks.is_empty() {
        return Ok(());
    }
    connection.transaction(|connection| {
        lock(connection, &tasks)?;
        bring_into_force(connection, &tasks)
    })
}

/// Those of these tasks whose keys are not held: they say the order, or nothing at all.
pub(in crate::store) fn without_held_keys(connection: &mut Connection, tasks: &[&str]) -> Result<HashSet<String>> {
    if tasks.is_empty() {
        return Ok(HashSet::new());
    }
    let dialect = connection.dialect();
    let sql = format!("SELECT name FROM soloist_tasks WHERE keys_held = 0 AND {}", dialect.among_texts("name"));
    let rows: Vec<Name> = connection.load(Statement::new(sql).bind(dialect.texts(tasks)))?;
    Ok(rows.into_iter().map(|row| row.name).collect())
}
