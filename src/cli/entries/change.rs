//! `soloist entries retry|cancel|delete`: by id, or all that a filter means.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::StateWord;
use crate::cli::ask::Asked;
use crate::cli::{output, time_text};
use crate::error::{Error, Result};
use crate::store::Lent;
use crate::store::entries::{self, Action, Bulk, Filter};

/// What is meant: ids, or a filter.
#[derive(Debug, Args)]
pub(in crate::cli) struct Change {
    /// These
    #[arg(value_name = "ID", conflicts_with_all = ["task", "state", "key", "error", "older_than"])]
    ids: Vec<i64>,
    /// All of this task
    #[arg(long)]
    task: Option<String>,
    /// All in this state
    #[arg(long)]
    state: Option<StateWord>,
    /// All with this key
    #[arg(long)]
    key: Option<String>,
    /// All whose last error holds this text
    #[arg(long)]
    error: Option<String>,
    /// All that were final, or else accepted, longer ago than this, such as 7d
    #[arg(long, value_name = "D", value_parser = time_text::span)]
    older_than: Option<i64>,
    /// Only count
    #[arg(long)]
    dry_run: bool,
}

impl Change {
    pub(super) fn run(self, asked: &Asked, action: Action) -> Result<ExitCode> {
        let filter = Filter {
            ids: (!self.ids.is_empty()).then(|| self.ids.clone()),
            task: self.task,
            state: self.state.map(StateWord::state),
            key: self.key,
            error: self.error,
            older_than: self.older_than,
            ..Filter::default()
        };
        if filter.is_everything() {
            let message = "say which entries: ids, or --task, --state, --key, --error, --older-than";
            return Err(Error::usage(message));
        }
        let mut connection = asked.connect()?;
        if !self.ids.is_empty() && !self.dry_run {
            return by_id(asked, &mut connection, action, &self.ids);
        }
        let bulk = entries::apply_in_bulk(&mut connection, action, &filter, self.dry_run)?;
        if asked.json {
            output::json(&bulk)?;
        } else {
            output::line(summary(action, &bulk, self.dry_run))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn done(action: Action) -> &'static str {
    match action {
        Action::Retry => "retried",
        Action::Cancel => "cancelled",
        Action::RunNow => "made due",
        Action::Delete => "deleted",
    }
}

fn summary(action: Action, bulk: &Bulk, dry_run: bool) -> String {
    let done = done(action);
    let left = if bulk.left_out == 0 { String::new() } else { format!(", {} left out", bulk.left_out) };
    if dry_run {
        return format!("{} of {} would be {done}{left}.", bulk.matched - bulk.left_out, bulk.matched);
    }
    format!("{} of {} {done}{left}.", bulk.changed, bulk.matched)
}

/// Each id by itself, so that each has its own reason if it is left out.
fn by_id(asked: &Asked, connection: &mut Lent, action: Action, ids: &[i64]) -> Result<ExitCode> {
    let mut changed = 0_usize;
    for id in ids {
        let result = match action {
            Action::Retry => entries::retry(connection, *id),
            Action::Cancel => entries::cancel(connection, *id),
            Action::RunNow => entries::run_now(connection, *id),
            Action::Delete => entries::delete(connection, *id),
        };
        match result {
            Ok(()) => {
                changed += 1;
                if !asked.json {
                    output::line(format!("entry {id} is {}", done(action)))?;
                }
            }
            Err(error) if error.is_conflict() || error.is_not_found() => output::error(asked, &error),
            Err(error) => return Err(error),
        }
    }
    if asked.json {
        output::json(&json!({ "matched": ids.len(), "changed": changed, "left_out": ids.len() - changed }))?;
    }
    Ok(ExitCode::from(u8::from(changed < ids.len())))
}
