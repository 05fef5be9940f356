//! `soloist entries show`: one entry, with what was tried.

use std::process::ExitCode;

use clap::Args;

use crate::cli::ask::Asked;
use crate::cli::output;
use crate::cli::table::cut;
use crate::cli::time_text::shown;
use crate::error::{Error, Result};
use crate::next;
use crate::store::entries::{self, AttemptShape, EntryShape};
use crate::store::{nodes, tasks};

/// `soloist entries show`
#[derive(Debug, Args)]
pub(in crate::cli) struct Show {
    id: i64,
}

impl Show {
    pub(super) fn run(self, asked: &Asked) -> Result<ExitCode> {
        let mut connection = asked.connect()?;
        let entry = entries::get(&mut connection, self.id)?
            .ok_or_else(|| Error::not_found(format!("there is no entry {}", self.id)))?;
        if asked.json {
            output::json(&entry)?;
            return Ok(ExitCode::SUCCESS);
        }
        let now = nodes::clock(&mut connection)?;
        let task = tasks::get(&mut connection, &entry.task)?;
        print(&entry)?;
        let waits = match &task {
            Some(task) => entries::waits(&mut connection, &entry, task, now)?,
            None => None,
        };
        output::line(format!("\n{}", next::next(&entry, task.as_ref(), waits.as_ref(), now)))?;
        Ok(ExitCode::SUCCESS)
    }
}

fn print(entry: &EntryShape) -> Result<()> {
    let field = |name: &str, value: &str| output::line(format!("{name:<16} {value}").trim_end());
    let optional = |name: &str, value: Option<String>| value.map_or(Ok(()), |value| field(name, &value));
    field("entry", &entry.id.to_string())?;
    field("task", &entry.task)?;
    field("state", entry.state.word())?;
    optional("key", entry.key.as_deref().map(|key| cut(key, 255)))?;
    field("attempt", &format!("{} of {}", entry.attempt, entry.max_attempts))?;
    field("priority", &entry.priority.to_string())?;
    optional("node", entry.node.clone())?;
    field("accepted", &shown(entry.created_at))?;
    field("run at", &shown(entry.run_at))?;
    optional("started", entry.started_at.map(shown))?;
    optional("finished", entry.finished_at.map(shown))?;
    optional("schedule", entry.schedule.clone())?;
    optional("scheduled for", entry.scheduled_for.map(shown))?;
    field("idempotency key", &entry.idempotency_key)?;
    optional("payload", entry.payload.as_ref().map(|payload| cut(&payload.get().replace('\n', " "), 2000)))?;
    optional("error", entry.error.as_deref().map(text))?;
    for attempt in entry.attempts.iter().flatten() {
        print_attempt(attempt)?;
    }
    Ok(())
}

fn print_attempt(attempt: &AttemptShape) -> Result<()> {
    let node = attempt.node.as_deref().map(|node| format!(" on {node}")).unwrap_or_default();
    let started = attempt.started_at.map(|at| format!(" from {}", shown(at))).unwrap_or_default();
    let ended = shown(attempt.finished_at);
    output::line(format!("\nattempt {}: {}{node}{started} to {ended}", attempt.attempt, attempt.outcome))?;
    for (name, said) in [("error", &attempt.error), ("output", &attempt.output)] {
        if let Some(said) = said.as_deref().filter(|said| !said.trim().is_empty()) {
            output::line(format!("  {name}: {}", text(said).replace('\n', "\n    ")))?;
        }
    }
    Ok(())
}

/// All lines of a text, without what would steer a terminal.
fn text(said: &str) -> String {
    said.trim_end().chars().map(|c| if c.is_control() && c != '\n' && c != '\t' { '\u{fffd}' } else { c }).collect()
}
