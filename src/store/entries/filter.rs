//! Which entries are meant: the one filter of lists and bulk actions.

use super::Action;
use crate::error::{Error, Result};
use crate::model::State;
use crate::model::time::Micros;
use crate::store::dialect::Dialect;
use crate::store::statement::Statement;

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

    /// That the filter says which entries an action is for, and that it may be done to some of them.
    pub fn check_for(&self, action: Action) -> Result<()> {
        if self.is_everything() {
            let message = "say which entries, since all of them are never meant: ids, task, state, key, error, \
                           schedule, before or older_than";
            return Err(Error::usage(message));
        }
        match self.state {
            Some(state) if !action.from_states().contains(&state) => Err(Error::usage(format!(
                "{} is for {} entries: none that is {} can be {}",
                action.word(),
                action.from_words(),
                state.word(),
                action.done()
            ))),
            _ => Ok(()),
        }
    }

    /// The same with ages as an instant, no later than `now`.
    pub(super) fn at(&self, now: Micros) -> Self {
        let before = [Some(now), self.before, self.older_than.map(|age| now.saturating_sub(age))];
        Self { before: before.into_iter().flatten().min(), older_than: None, ..self.clone() }
    }

    /// Adds ` AND …` for each thing that is set but ids; the entries are named `e`. Written so that no index serves it:
    /// by which index rows are found is said elsewhere, and nothing may lead a planner away from it.
    pub(super) fn add_to(&self, mut statement: Statement, dialect: Dialect) -> Statement {
        let plain = |column: &str| match dialect {
            Dialect::Sqlite => format!("+e.{column}"),
            Dialect::Postgres => format!("(e.{column} || '')"),
            Dialect::Mysql => format!("e.{column}"),
        };
        let words = [
            ("task", self.task.as_deref()),
            ("state", self.state.map(State::word)),
            ("schedule", self.schedule.as_deref()),
        ];
        for (column, word) in words {
            if let Some(word) = word {
                statement = statement.text(&format!(" AND {} = ?", plain(column))).bind(word);
            }
        }
        if let Some(key) = &self.key {
            let same = match dialect {
                // By bytes: two texts that differ by blanks at the end would be equal.
                Dialect::Mysql => "CAST(e.dedupe_key AS BINARY) = CAST(? AS BINARY)".to_owned(),
                Dialect::Sqlite | Dialect::Postgres => format!("{} = ?", plain("dedupe_key")),
            };
            statement = statement.text(&format!(" AND {same}")).bind(key.as_str());
        }
        if let Some(error) = &self.error {
            let holds = match dialect {
                Dialect::Postgres => " AND position(? in e.error) > 0",
                Dialect::Sqlite | Dialect::Mysql => " AND instr(e.error, ?) > 0",
            };
            statement = statement.text(holds).bind(error.as_str());
        }
        if let Some(before) = self.before {
            statement = statement.text(" AND COALESCE(e.finished_at, e.created_at) <= ?").bind(before);
        }
        statement
    }
}
