//! A bounded sample of what went wrong of late: the errors of entries that failed for good, and of attempts to be tried
//! again.

use diesel::QueryableByName;
use diesel::sql_types::{Nullable, Text};

use crate::error::Result;
use crate::model::time::{Micros, SECOND};
use crate::store::connection::Connection;
use crate::store::dialect::Dialect;
use crate::store::statement::Statement;
use crate::store::tasks::TaskShape;

const DAY: Micros = 86_400 * SECOND;
/// Failed entries that are read of each task.
const SAMPLE: i64 = 500;
/// Attempts that are read of each outcome.
const ATTEMPTS: i64 = 200;
/// Tasks whose failures are read.
const TASKS: usize = 20;
/// Attempts are judged over this long.
const JUDGED: Micros = 900 * SECOND;

/// What went wrong once.
#[derive(QueryableByName, Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Of which task.
    #[diesel(sql_type = Text)]
    pub task: String,
    /// Why: the beginning of the text.
    #[diesel(sql_type = Nullable<Text>)]
    pub error: Option<String>,
}

impl Failure {
    /// Why; nothing where nobody said.
    pub fn error(&self) -> &str {
        self.error.as_deref().unwrap_or_default()
    }
}

/// Entries of these tasks that failed for good in the last day, newest first of each task.
pub(super) fn for_good(connection: &mut Connection, now: Micros, tasks: &[TaskShape]) -> Result<Vec<Failure>> {
    let sql = match connection.dialect() {
        Dialect::Sqlite | Dialect::Postgres => {
            "SELECT task, substr(error, 1, 400) AS error FROM soloist_entries \
             WHERE task = ? AND state = 'failed' AND finished_at > ? ORDER BY finished_at DESC LIMIT ?"
        }
        // As in `tasks::counts`: the end of the claim index has the newest, near enough.
        Dialect::Mysql => {
            "SELECT task, substr(error, 1, 400) AS error FROM soloist_entries FORCE INDEX (soloist_entries_claim) \
             WHERE task = ? AND state = 'failed' AND finished_at > ? \
             ORDER BY priority DESC, run_at DESC, id DESC LIMIT ?"
        }
    };
    let mut failures = Vec::new();
    for task in tasks.iter().filter(|task| task.failed > 0).take(TASKS) {
        let statement = Statement::new(sql).bind(task.name.as_str()).bind(now - DAY).bind(SAMPLE);
        failures.extend(connection.load::<Failure>(statement)?);
    }
    Ok(failures)
}

/// Attempts of the last minutes that did not work, newest first of each outcome.
pub(super) fn of_attempts(connection: &mut Connection, now: Micros, tasks: &[TaskShape]) -> Result<Vec<Failure>> {
    if !tasks.iter().any(|task| task.recent.failed > 0) {
        return Ok(Vec::new());
    }
    let sql = "SELECT e.task, substr(a.error, 1, 400) AS error FROM (SELECT entry_id, error FROM soloist_attempts \
               WHERE outcome = ? AND finished_at > ? ORDER BY finished_at DESC LIMIT ?) AS a \
               JOIN soloist_entries e ON e.id = a.entry_id";
    let mut failures = Vec::new();
    for outcome in ["failed", "timed_out", "panicked"] {
        let statement = Statement::new(sql).bind(outcome).bind(now - JUDGED).bind(ATTEMPTS);
        failures.extend(connection.load::<Failure>(statement)?);
    }
    Ok(failures)
}
