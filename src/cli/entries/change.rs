//! `soloist entries retry|cancel|delete`: by id, or all that a filter means.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::which::Which;
use crate::cli::ask::{Asked, who};
use crate::cli::output;
use crate::error::Result;
use crate::model::time;
use crate::store::Lent;
use crate::store::entries::{self, Action, Bulk, Filter};

/// The arguments of [`Which`], none of which goes with ids.
const WHICH: [&str; 7] = ["task", "state", "key", "error", "schedule", "older_than", "before"];

/// What is meant: ids, or a filter.
#[derive(Debug, Args)]
pub(in crate::cli) struct Change {
    /// These
    #[arg(value_name = "ID", conflicts_with_all = WHICH)]
    ids: Vec<i64>,
    #[command(flatten)]
    which: Which,
    /// Only count
    #[arg(long)]
    dry_run: bool,
}

impl Change {
    pub(super) fn run(self, asked: &Asked, action: Action) -> Result<ExitCode> {
        let ids = (!self.ids.is_empty()).then(|| self.ids.clone());
        let filter = Filter { ids, ..self.which.filter()? };
        filter.check_for(action)?;
        let mut connection = asked.connect()?;
        if !self.ids.is_empty() && !self.dry_run {
            return by_id(asked, &mut connection, action, &self.ids);
        }
        let bulk = entries::apply_in_bulk(&mut connection, action, &filter, self.dry_run, &who())?;
        if asked.json {
            output::json(&bulk)?;
        } else {
            output::line(summary(action, &bulk, self.dry_run))?;
            if self.dry_run {
                output::note(format!("To mean these and nothing later: --before {}", time::rfc3339(bulk.before)));
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn summary(action: Action, bulk: &Bulk, dry_run: bool) -> String {
    let done = action.done();
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
        match entries::act(connection, action, *id, &who()) {
            Ok(()) => {
                changed += 1;
                if !asked.json {
                    output::line(format!("entry {id} is {}", action.done()))?;
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
