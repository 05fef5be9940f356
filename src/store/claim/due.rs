//! What is due: the head of each level of each task, by the claim index, in one statement.

use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Integer, Nullable, Text};

use super::Row;
use crate::error::Result;
use crate::model::time::Micros;
use crate::store::connection::Connection;
use crate::store::dialect::Dialect;
use crate::store::statement::Statement;

/// How often a task is looked at whose rate allows several starts in that time, in microseconds.
pub const STEP: Micros = 20_000;

/// What limits the starts of a task over all nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limited {
    /// Nothing.
    No,
    /// Their rate alone.
    ByRate,
    /// What runs already (`max_running`, `serial_by`), and a rate perhaps.
    ByRunning,
}

/// What is due, and what is due next, of each of the tasks.
pub struct Due {
    /// The task.
    pub task: String,
    /// Priorities that have due entries now, best first; none while the task's rate allows no start.
    pub priorities: Vec<i32>,
    /// The next due time of what is not due yet, in microseconds from now.
    pub next_in: Option<i64>,
    /// What limits it, besides each node's slots.
    pub limited: Limited,
    /// If entries are due but the task's rate allows no start: how long until it does.
    pub starts_in: Option<Micros>,
    /// True if a person has paused it.
    pub paused: bool,
    /// If its host refuses: microseconds until the next probe.
    pub held: Option<i64>,
    /// What has been claimed already of the first of `priorities`, if that was tried.
    pub(super) taken: Option<Vec<Row>>,
}

/// A level that may have entries.
#[derive(QueryableByName, serde::Deserialize)]
pub(super) struct DueRow {
    #[diesel(sql_type = Text)]
    task: String,
    #[diesel(sql_type = Integer)]
    priority: i32,
    #[diesel(sql_type = Nullable<BigInt>)]
    run_in: Option<i64>,
    #[diesel(sql_type = Nullable<BigInt>)]
    paused_since: Option<i64>,
    #[diesel(sql_type = Nullable<BigInt>)]
    probe_in: Option<i64>,
    #[diesel(sql_type = Integer)]
    limited: i32,
    #[diesel(sql_type = Nullable<BigInt>)]
    start_in: Option<i64>,
}

/// What a look reads of the limits of a task, `s`. A next start that no rate would put off so far (the clock was set
/// back) is left to the claim.
const LIMITS: &str = "CASE WHEN s.max_running > 0 OR s.serial = 1 THEN 2 WHEN s.rate_starts > 0 THEN 1 ELSE 0 END \
     AS limited, CASE WHEN s.rate_starts > 0 AND s.next_start_at <= {now} + s.rate_span / s.rate_starts + 1 \
     THEN s.next_start_at - {now} END AS start_in";

/// Looks at the head of every level of every task: one probe of the claim index for each level, or each that has
/// entries. A task with nothing pending is left out.
pub fn due(connection: &mut Connection, tasks: &[&str]) -> Result<Vec<Due>> {
    let dialect = connection.dialect();
    let sql = dialect.sql(&match dialect {
        Dialect::Postgres => levels(dialect.rows_of_texts("t").as_str(), ""),
        Dialect::Sqlite | Dialect::Mysql => level_by_level(dialect),
    });
    Ok(gather(connection.load(Statement::new(sql).bind(dialect.texts(tasks)))?))
}

/// The levels of each task together.
pub(super) fn gather(mut rows: Vec<DueRow>) -> Vec<Due> {
    rows.sort_by(|a, b| a.task.cmp(&b.task).then(a.priority.cmp(&b.priority)));
    let mut found: Vec<Due> = Vec::new();
    for row in rows {
        let Some(run_in) = row.run_in else { continue };
        if found.last().is_none_or(|due| due.task != row.task) {
            found.push(Due {
                task: row.task,
                priorities: Vec::new(),
                next_in: None,
                limited: match row.limited {
                    0 => Limited::No,
                    1 => Limited::ByRate,
                    _ => Limited::ByRunning,
                },
                starts_in: None,
                paused: row.paused_since.is_some(),
                held: row.probe_in,
                taken: None,
            });
        }
        if let Some(due) = found.last_mut() {
            let starts_in = row.start_in.filter(|wait| *wait > 0 && run_in <= 0);
            due.starts_in = due.starts_in.or(starts_in);
            if run_in <= 0 && starts_in.is_none() {
                due.priorities.push(row.priority);
            } else {
                let next = starts_in.map_or(run_in, |wait| wait.max(STEP));
                due.next_in = Some(due.next_in.map_or(next, |before| before.min(next)));
            }
        }
    }
    found
}

/// Asks each level.
fn level_by_level(dialect: Dialect) -> String {
    let levels: Vec<_> = (-9..=9).map(|level| format!("SELECT {level} AS priority")).collect();
    // Left to itself MariaDB scans the whole of the index for the order, once a level: seconds where a probe takes none.
    let index = if dialect == Dialect::Mysql { " FORCE INDEX (soloist_entries_claim)" } else { "" };
    format!(
        "SELECT t.value AS task, p.priority, s.paused_since, \
         CASE WHEN s.held_since IS NOT NULL THEN s.next_probe_at - {{now}} END AS probe_in, {LIMITS}, \
         (SELECT e.run_at FROM soloist_entries e{index} WHERE e.task = t.value AND e.state = 'pending' \
         AND e.priority = p.priority ORDER BY e.run_at, e.id LIMIT 1) - {{now}} AS run_in \
         FROM {} CROSS JOIN ({}) AS p LEFT JOIN soloist_tasks s ON s.name = t.value",
        dialect.rows_of_texts("t"),
        levels.join(" UNION ALL ")
    )
}

/// On PostgreSQL: goes from each level that has entries to the next, a third of the time. `tasks` are rows of `t(value)`.
pub(super) fn levels(tasks: &str, more_columns: &str) -> String {
    let head = "SELECT e.priority, e.run_at FROM soloist_entries e WHERE e.task = t.value AND e.state = 'pending'";
    let first = "ORDER BY e.priority, e.run_at, e.id LIMIT 1";
    format!(
        "SELECT t.value AS task, p.priority, s.paused_since, \
         CASE WHEN s.held_since IS NOT NULL THEN s.next_probe_at - {{now}} END AS probe_in, {LIMITS}, \
         p.run_at - {{now}} AS run_in{more_columns} FROM {tasks} CROSS JOIN LATERAL (\
         WITH RECURSIVE level AS (({head} {first}) UNION ALL \
         SELECT next.priority, next.run_at FROM level CROSS JOIN LATERAL ({head} AND e.priority > level.priority \
         {first}) AS next) SELECT priority, run_at FROM level) AS p LEFT JOIN soloist_tasks s ON s.name = t.value"
    )
}
