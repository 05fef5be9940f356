//! What waits of a task: counted by the claim index and never beyond a cap, so that a look costs the same at any size.

use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Nullable, Text};

use crate::error::Result;
use crate::model::time::Micros;
use crate::store::connection::Connection;
use crate::store::dialect::Dialect;
use crate::store::statement::Statement;

/// Entries are counted one by one up to here. Beyond, somebody keeps the count: see `kept`.
pub const CAP: i64 = 10_000;

/// What waits of a task.
#[derive(QueryableByName, Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Waiting {
    /// Due or not; [`CAP`] stands for any number from there on.
    #[diesel(sql_type = BigInt)]
    pub pending: i64,
    /// Those that could start; [`CAP`] stands for any number from there on.
    #[diesel(sql_type = BigInt)]
    pub due: i64,
}

/// The tasks of which entries wait, by name. On MySQL, which has no index of those alone, all that have entries.
pub fn names(connection: &mut Connection) -> Result<Vec<String>> {
    let sql = match connection.dialect() {
        Dialect::Sqlite | Dialect::Postgres => {
            "SELECT task FROM soloist_entries WHERE state = 'pending' AND task > ? \
             ORDER BY task, priority, run_at, id LIMIT 1"
        }
        Dialect::Mysql => OF_ALL,
    };
    each(connection, sql)
}

/// The tasks of which entries have failed, by name, in the same way.
pub fn names_of_failed(connection: &mut Connection) -> Result<Vec<String>> {
    match connection.dialect() {
        Dialect::Sqlite | Dialect::Postgres => {
            let sql = "SELECT task FROM soloist_entries WHERE state = 'failed' AND task > ? \
                       ORDER BY task, finished_at LIMIT 1";
            each(connection, sql)
        }
        // They are among all.
        Dialect::Mysql => Ok(Vec::new()),
    }
}

const OF_ALL: &str =
    "SELECT task FROM soloist_entries FORCE INDEX (soloist_entries_claim) WHERE task > ? ORDER BY task LIMIT 1";

/// From each name to the next: as many probes as there are names.
fn each(connection: &mut Connection, sql: &str) -> Result<Vec<String>> {
    #[derive(QueryableByName)]
    struct Name {
        #[diesel(sql_type = Text)]
        task: String,
    }
    let mut names: Vec<String> = Vec::new();
    loop {
        let after = names.last().cloned().unwrap_or_default();
        match connection.first::<Name>(Statement::new(sql).bind(after))? {
            Some(row) => names.push(row.task),
            None => return Ok(names),
        }
    }
}

/// Counts what waits of a task.
pub fn of(connection: &mut Connection, task: &str, now: Micros) -> Result<Waiting> {
    let pending = pending(connection.dialect());
    let limit = format!("ORDER BY priority, run_at, id LIMIT {CAP}");
    let sql = format!(
        "SELECT (SELECT count(*) FROM (SELECT 1 AS one {pending} {limit}) AS waiting) AS pending, \
         (SELECT count(*) FROM ({}) AS due) AS due",
        due(connection.dialect(), &format!("LIMIT {CAP}")),
    );
    Ok(connection.first(Statement::new(sql).bind(task).bind(task).bind(now))?.unwrap_or_default())
}

/// When the oldest entry of a task that could start became due.
pub fn oldest_due(connection: &mut Connection, task: &str, now: Micros) -> Result<Option<Micros>> {
    #[derive(QueryableByName)]
    struct Head {
        #[diesel(sql_type = Nullable<BigInt>)]
        run_at: Option<i64>,
    }
    let heads: Vec<Head> = connection.load(Statement::new(heads(connection.dialect())).bind(task))?;
    Ok(heads.into_iter().filter_map(|head| head.run_at).min().filter(|at| *at <= now))
}

/// Counts all that waits of a task, however many: as long as it takes.
pub fn all_of(connection: &mut Connection, task: &str, now: Micros) -> Result<Waiting> {
    let pending = pending(connection.dialect());
    let sql = format!(
        "SELECT (SELECT count(*) FROM (SELECT 1 AS one {pending}) AS waiting) AS pending, (SELECT count(*) FROM ({}) AS due) AS due",
        due(connection.dialect(), ""),
    );
    Ok(connection.first(Statement::new(sql).bind(task).bind(task).bind(now))?.unwrap_or_default())
}

fn pending(dialect: Dialect) -> String {
    // MariaDB, left to itself, may read the whole table.
    let index = if dialect == Dialect::Mysql { " FORCE INDEX (soloist_entries_claim)" } else { "" };
    format!("FROM soloist_entries{index} WHERE task = ? AND state = 'pending'")
}

/// Level by level, since only within one are due times in order.
fn due(dialect: Dialect, limit: &str) -> String {
    let pending = pending(dialect);
    match dialect {
        Dialect::Postgres => format!(
            "SELECT 1 AS one FROM ({}) AS p CROSS JOIN LATERAL (SELECT 1 AS one {pending} \
             AND soloist_entries.priority = p.priority AND run_at <= ? ORDER BY run_at, id {limit}) AS level {limit}",
            levels()
        ),
        Dialect::Sqlite | Dialect::Mysql => {
            let levels: Vec<_> = (-9..=9).map(|level: i32| level.to_string()).collect();
            format!("SELECT 1 AS one {pending} AND priority IN ({}) AND run_at <= ? {limit}", levels.join(", "))
        }
    }
}

/// When the first of each level is due.
fn heads(dialect: Dialect) -> String {
    let pending = pending(dialect);
    format!(
        "SELECT (SELECT run_at {pending} AND soloist_entries.priority = p.priority ORDER BY run_at, id LIMIT 1) \
         AS run_at FROM ({}) AS p",
        levels()
    )
}

fn levels() -> String {
    let levels: Vec<_> = (-9..=9).map(|level| format!("SELECT {level} AS priority")).collect();
    levels.join(" UNION ALL ")
}
