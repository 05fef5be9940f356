//! Which entries are meant, as people type it.

use clap::{Args, ValueEnum};

use crate::cli::time_text;
use crate::error::Result;
use crate::model::State;
use crate::model::new_entry::{check_key, check_name};
use crate::store::entries::Filter;

/// A state, as people type it.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(in crate::cli) enum StateWord {
    Pending,
    Running,
    Completed,
    Failed,
    Cancelled,
}

impl StateWord {
    fn state(self) -> State {
        match self {
            Self::Pending => State::Pending,
            Self::Running => State::Running,
            Self::Completed => State::Completed,
            Self::Failed => State::Failed,
            Self::Cancelled => State::Cancelled,
        }
    }
}

/// What is asked for, beside ids.
#[derive(Debug, Args)]
pub(in crate::cli) struct Which {
    /// Those of this task
    #[arg(long)]
    task: Option<String>,
    /// Those in this state
    #[arg(long)]
    state: Option<StateWord>,
    /// Those with this key
    #[arg(long)]
    key: Option<String>,
    /// Those whose last error holds this text
    #[arg(long, value_name = "TEXT")]
    error: Option<String>,
    /// Those that this schedule made
    #[arg(long, value_name = "NAME")]
    schedule: Option<String>,
    /// Those that were final, or else accepted, longer ago than this, such as 7d
    #[arg(long, value_name = "D", value_parser = time_text::span)]
    older_than: Option<i64>,
    /// Those that were final, or else accepted, by this instant
    #[arg(long, value_name = "T", value_parser = time_text::instant)]
    before: Option<i64>,
}

impl Which {
    /// As the store takes it.
    pub(super) fn filter(self) -> Result<Filter> {
        for (field, name) in [("task", &self.task), ("schedule", &self.schedule)] {
            name.as_ref().map_or(Ok(()), |name| check_name(field, name))?;
        }
        self.key.as_ref().map_or(Ok(()), |key| check_key(key))?;
        Ok(Filter {
            ids: None,
            task: self.task,
            state: self.state.map(StateWord::state),
            key: self.key,
            error: self.error.filter(|text| !text.is_empty()),
            schedule: self.schedule,
            before: self.before,
            older_than: self.older_than,
        })
    }
}
