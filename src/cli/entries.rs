//! `soloist entries`: what became of entries, and what people do to them.

mod change;
mod show;
mod which;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::ask::Asked;
use super::time_text::shown;
use super::{output, table};
use crate::error::Result;
use crate::store::entries::{self, Action, EntryShape, Page};
use which::Which;

/// `soloist entries`
#[derive(Debug, Subcommand)]
pub(super) enum Entries {
    /// Newest first
    List(List),
    /// One entry, with what was tried
    Show(show::Show),
    /// Take failed or cancelled ones back to pending, with their attempts once more
    Retry(change::Change),
    /// Cancel pending or running ones
    Cancel(change::Change),
    /// Make pending ones due at once
    RunNow(change::Change),
    /// Delete what does not run
    Delete(change::Change),
}

/// `soloist entries list`
#[derive(Debug, Args)]
pub(super) struct List {
    #[command(flatten)]
    which: Which,
    /// At most this many, to 500
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=500))]
    limit: u16,
    /// The page after another: its next cursor
    #[arg(long)]
    cursor: Option<String>,
}

impl Entries {
    pub(super) fn run(self, asked: &Asked) -> Result<ExitCode> {
        match self {
            Self::List(list) => list.run(asked),
            Self::Show(show) => show.run(asked),
            Self::Retry(change) => change.run(asked, Action::Retry),
            Self::Cancel(change) => change.run(asked, Action::Cancel),
            Self::RunNow(change) => change.run(asked, Action::RunNow),
            Self::Delete(change) => change.run(asked, Action::Delete),
        }
    }
}

impl List {
    fn run(self, asked: &Asked) -> Result<ExitCode> {
        let mut connection = asked.connect()?;
        let filter = self.which.filter()?;
        let page = Page::whole(self.limit.into(), self.cursor, |limit, cursor| {
            entries::list(&mut connection, &filter, limit, cursor)
        })?;
        if asked.json {
            output::json(&page)?;
            return Ok(ExitCode::SUCCESS);
        }
        let rows = page.items.iter().map(row).collect();
        let headings = ["ID", "TASK", "STATE", "ATTEMPT", "RUN AT", "NODE", "KEY", "ERROR"];
        table::print(&headings, rows, "No such entry.")?;
        if let Some(cursor) = page.next_cursor {
            output::note(format!("There are more: --cursor {cursor}"));
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn row(entry: &EntryShape) -> Vec<String> {
    vec![
        entry.id.to_string(),
        entry.task.clone(),
        entry.state.word().to_owned(),
        format!("{} of {}", entry.attempt, entry.max_attempts),
        shown(entry.run_at),
        entry.node.clone().unwrap_or_default(),
        table::cut(entry.key.as_deref().unwrap_or_default(), 40),
        table::cut(entry.error.as_deref().unwrap_or_default(), 60),
    ]
}
