//! `soloist status`: what is wrong, worst first, and how tasks and nodes stand.

mod screen;
mod text;

use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, ValueEnum};

use super::ask::{Asked, has_tables};
use super::output;
use crate::error::Result;
use crate::problems::Level;
use crate::store::Store;
use crate::store::status::{LastSeen, Status as State};

/// `soloist status`
#[derive(Debug, Args)]
pub(super) struct Status {
    /// Exit with 1 if something is at least this bad
    #[arg(long, value_name = "LEVEL")]
    fail_on: Option<FailOn>,
    /// Look again every 2 s, until interrupted
    #[arg(long)]
    watch: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum FailOn {
    Risk,
    Broken,
    Stopped,
}

impl FailOn {
    fn level(self) -> Level {
        match self {
            Self::Risk => Level::Risk,
            Self::Broken => Level::Broken,
            Self::Stopped => Level::Stopped,
        }
    }
}

impl Status {
    pub(super) fn run(self, asked: &Asked) -> Result<ExitCode> {
        let mut look = Look::new(asked.store_that_is()?);
        if self.watch {
            let state = screen::watch(asked.json, look)?;
            return Ok(ExitCode::from(state.map_or(0, |state| self.code(&state))));
        }
        let state = look.again()?;
        // Without its database nothing can be said, which is a failure of the command too.
        let code = self.code(&state).max(u8::from(state.away));
        output::ends_with(code);
        if asked.json {
            output::json(&state)?
        } else {
            output::line(text::of(&state))?
        }
        Ok(ExitCode::from(code))
    }

    fn code(&self, state: &State) -> u8 {
        let worst = state.problems.iter().map(|problem| problem.level).max();
        u8::from(self.fail_on.is_some_and(|limit| worst >= Some(limit.level())))
    }
}

/// Looks again and again; that the database has Soloist's tables is asked until it has answered.
struct Look {
    store: Store,
    seen: Arc<LastSeen>,
    has_tables: bool,
}

impl Look {
    fn new(store: Store) -> Self {
        Self { seen: Arc::new(LastSeen::new(store.clone())), store, has_tables: false }
    }

    fn again(&mut self) -> Result<State> {
        if !self.has_tables
            && let Ok(mut connection) = self.store.read()
        {
            match has_tables(&self.store, &mut connection) {
                Err(error) if error.is_usage() => return Err(error),
                result => self.has_tables = result.is_ok(),
            }
        }
        self.seen.look(None)
    }
}
