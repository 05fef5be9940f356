//! Which entries are meant: the one filter of lists and bulk actions.

use crate::model::State;
use crate::model::time::Micros;
use crate::store::dialect::Dialect;
use crate::store::statement::{Bind, Statement};

/// Which entries are meant; what is not set does not matter.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Filter {
    /// Only these.
    pub ids: Option<Vec<i64>>,
    /// Of this task.
    pub task: Option<String>,
    /// In this state.
    pub state: Option<State>,
    /// With this key, byte by byte.
    pub key: Option<String>,
    /// Whose last error holds this text.
    pub error: Option<String>,
    /// Made by this schedule.
    pub schedule: Option<String>,
    /// Final, or else accepted, no later than this instant.
    pub before: Option<Micros>,
    /// Final, or else accepted, longer ago than this, on the database's clock.
    pub older_than: Option<Micros>,
}

impl Filter {
    /// These entries.
    pub fn ids(ids: impl Into<Vec<i64>>) -> Self {
        Self { ids: Some(ids.into()), ..Self::default() }
    }

    /// True if nothing is set: every entry is meant.
    pub fn is_everything(&self) -> bool {
        *self == Self::default()
    }

    /// Adds ` AND …` for each thing that is set; the entries are named `e`.
    pub(super) fn add_to(&self, mut statement: Statement, dialect: Dialect) -> Statement {
        if let Some(state) = self.state {
            // As a word, not as a bind: only so do partial indexes serve.
            statement = statement.text(&format!(" AND e.state = '{}'", state.word()));
            if state == State::Running {
                statement = statement.text(" AND e.node_id IS NOT NULL AND e.finished_at IS NULL");
            }
        }
        let mut and = |text: &str, bind: Bind| {
            statement = std::mem::replace(&mut statement, Statement::new("")).text(" AND ").text(text).bind(bind);
        };
        if let Some(ids) = &self.ids {
            and(&dialect.among_ids("e.id"), dialect.ids(ids));
        }
        if let Some(task) = &self.task {
            and("e.task = ?", task.as_str().into());
        }
        if let Some(key) = &self.key {
            let same = match dialect {
                Dialect::Mysql => "CAST(e.dedupe_key AS BINARY) = CAST(? AS BINARY)",
                Dialect::Sqlite | Dialect::Postgres => "e.dedupe_key = ?",
            };
            and(same, key.as_str().into());
        }
        if let Some(error) = &self.error {
            let holds = match dialect {
                Dialect::Postgres => "position(? in e.error) > 0",
                Dialect::Sqlite | Dialect::Mysql => "instr(e.error, ?) > 0",
            };
            and(holds, error.as_str().into());
        }
        if let Some(schedule) = &self.schedule {
            and("e.schedule = ?", schedule.as_str().into());
        }
        if let Some(before) = self.before {
            and("COALESCE(e.finished_at, e.created_at) <= ?", before.into());
        }
        if let Some(age) = self.older_than {
            and(&dialect.sql("COALESCE(e.finished_at, e.created_at) < {now} - ?"), age.into());
        }
        statement
    }
}
