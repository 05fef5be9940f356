//! `soloist firings`: what became of due times, newest first.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::json;

use super::ask::Asked;
use super::{output, schedules, table};
use crate::error::{Error, Result};
use crate::store::firings::{self, FiringShape};

/// `soloist firings`
#[derive(Debug, Subcommand)]
pub(super) enum Firings {
    /// What fired, was skipped or missed, newest first
    List(List),
}

/// `soloist firings list`
#[derive(Debug, Args)]
pub(super) struct List {
    /// Only of this schedule, by due time
    #[arg(long, value_name = "NAME")]
    schedule: Option<String>,
    /// At most this many, to 500
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=500))]
    limit: u16,
    /// The page after another: its next cursor
    #[arg(long)]
    cursor: Option<String>,
}

impl Firings {
    pub(super) fn run(self, asked: &Asked) -> Result<ExitCode> {
        let Self::List(list) = self;
        list.run(asked)
    }
}

impl List {
    fn run(self, asked: &Asked) -> Result<ExitCode> {
        let wrong = |_| Error::usage("cursor: it is the next cursor of the page before");
        let below = self.cursor.as_deref().map(str::parse::<i64>).transpose().map_err(wrong)?;
        let mut connection = asked.connect()?;
        let schedule = self.schedule.as_deref();
        let mut items = firings::list(&mut connection, schedule, below, usize::from(self.limit) + 1)?;
        if items.is_empty()
            && let Some(schedule) = schedule
        {
            // Nothing of one that there is not: the nearest is named.
            crate::store::schedules::get(&mut connection, schedule)?;
        }
        let goes_on = items.len() > usize::from(self.limit);
        items.truncate(self.limit.into());
        let key = |last: &FiringShape| if schedule.is_some() { last.scheduled_for } else { last.id };
        let next_cursor = items.last().filter(|_| goes_on).map(|last| key(last).to_string());
        if asked.json {
            output::json(&json!({ "items": items, "next_cursor": next_cursor }))?;
            return Ok(ExitCode::SUCCESS);
        }
        let rows = items.iter().map(|firing| {
            let mut row = schedules::firing_row(firing);
            row.insert(0, firing.schedule.clone());
            row
        });
        let headings = ["SCHEDULE", "DUE", "OUTCOME", "LATE", "NODE", "WORK", "RESULT", "REASON"];
        table::print(&headings, rows.collect(), "Nothing has fired yet.")?;
        if let Some(cursor) = next_cursor {
            output::note(format!("There are more: --cursor {cursor}"));
        }
        Ok(ExitCode::SUCCESS)
    }
}
