//! `soloist tasks`: what is declared, and how it stands.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::json;

use super::ask::{Asked, who};
use super::time_text::shown;
use super::{output, table};
use crate::error::{Error, Result};
use crate::model::{NewEntry, new_entry};
use crate::store::tasks::{self, Limits, TaskShape, declared};
use crate::store::{Lent, entries, holds, sweeps};

/// `soloist tasks`
#[derive(Debug, Subcommand)]
pub(super) enum Tasks {
    /// All tasks: declared ones, and those that entries wait for
    List,
    /// One task
    Show(Named),
    /// Start it now: a sweep of its source, or an entry
    Trigger(Trigger),
    /// Start no more of it, on all nodes, until it is resumed
    Pause(Pause),
    /// Let it go on
    Resume(Named),
    /// Try its host now, if it is held back
    Probe(Named),
}

/// A task's name.
#[derive(Debug, Args)]
pub(super) struct Named {
    task: String,
}

/// `soloist tasks trigger`
#[derive(Debug, Args)]
pub(super) struct Trigger {
    task: String,
    /// JSON, for a task without a source
    #[arg(long, value_name = "JSON")]
    payload: Option<String>,
}

/// `soloist tasks pause`
#[derive(Debug, Args)]
pub(super) struct Pause {
    task: String,
    /// Why; shown until it is resumed
    #[arg(long)]
    reason: Option<String>,
}

impl Tasks {
    pub(super) fn run(self, asked: &Asked) -> Result<ExitCode> {
        let mut connection = asked.connect()?;
        match self {
            Self::List => list(asked, &mut connection)?,
            Self::Show(Named { task }) => {
                let task = known(&mut connection, &task)?;
                if asked.json { output::json(&task)? } else { show(&task)? }
            }
            Self::Trigger(trigger) => trigger.run(asked, &mut connection)?,
            Self::Pause(Pause { task, reason }) => {
                known_or_nobody(&mut connection, &task)?;
                let paused = tasks::pause(&mut connection, &task, &who(), reason.as_deref())?;
                let words = if paused { "is paused on all nodes; what runs goes on" } else { "was paused already" };
                said(asked, &task, words, json!({ "task": task, "paused": true, "changed": paused }))?;
            }
            Self::Resume(Named { task }) => {
                let resumed = tasks::resume(&mut connection, &task, &who())?;
                if !resumed {
                    known_or_nobody(&mut connection, &task)?;
                }
                let words = if resumed { "goes on" } else { "was not paused" };
                said(asked, &task, words, json!({ "task": task, "paused": false, "changed": resumed }))?;
            }
            Self::Probe(Named { task }) => {
                if !holds::probe_now(&mut connection, &task, &who())? {
                    known_or_nobody(&mut connection, &task)?;
                    return Err(Error::conflict(format!("{task} is not held back: its host is called as it is due")));
                }
                said(asked, &task, "is tried now", json!({ "task": task, "probed": true }))?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Trigger {
    fn run(self, asked: &Asked, connection: &mut Lent) -> Result<()> {
        new_entry::check_name("task", &self.task)?;
        known_or_nobody(connection, &self.task)?;
        if self.has_source(asked, connection)? {
            if self.payload.is_some() {
                let message = format!("payload: {} has a source, whose rows are its payloads; leave it out", self.task);
                return Err(Error::usage(message));
            }
            let sweep = sweeps::request(connection, &self.task)?;
            if asked.json {
                return output::json(&json!({ "sweep": sweep, "collected": 0 }));
            }
            return output::line(format!("sweep {sweep} of the source of {} is asked for.", self.task));
        }
        let payload = self.payload.unwrap_or_else(|| "null".to_owned());
        let ids = entries::insert(connection, &[NewEntry::new(self.task, payload)])?;
        if asked.json {
            return output::json(&json!({ "entries": ids }));
        }
        ids.iter().try_for_each(output::line)
    }
}

impl Trigger {
    /// As the living nodes declare it; without them, as the configuration has it.
    fn has_source(&self, asked: &Asked, connection: &mut Lent) -> Result<bool> {
        if let Some(declared) = declared::living(connection)?.tasks.get(&self.task) {
            return Ok(declared.source);
        }
        Ok(asked.config()?.tasks.get(&self.task).is_some_and(|task| task.source.is_some()))
    }
}

fn said(asked: &Asked, task: &str, words: &str, json: serde_json::Value) -> Result<()> {
    if asked.json { output::json(&json) } else { output::line(format!("{task} {words}.")) }
}

fn known(connection: &mut Lent, name: &str) -> Result<TaskShape> {
    if let Some(task) = tasks::get(connection, name)? {
        return Ok(task);
    }
    Err(unknown(&declared::living(connection)?, name))
}

/// Lets a name pass that nobody knows while no node lives: it may be declared by one that starts.
fn known_or_nobody(connection: &mut Lent, name: &str) -> Result<()> {
    new_entry::check_name("task", name)?;
    let declared = declared::living(connection)?;
    if declared.tasks.is_empty() || declared.tasks.contains_key(name) || tasks::get(connection, name)?.is_some() {
        return Ok(());
    }
    Err(unknown(&declared, name))
}

fn unknown(declared: &declared::Declared, name: &str) -> Error {
    let nearest = match declared.nearest(name) {
        Some(near) => format!("; the nearest is “{near}”"),
        None => String::new(),
    };
    Error::not_found(format!("no living node declares the task “{name}”, and no entry waits for it{nearest}"))
}

fn list(asked: &Asked, connection: &mut Lent) -> Result<()> {
    let tasks = tasks::list(connection)?;
    if asked.json {
        return output::json(&json!({ "items": tasks, "next_cursor": null }));
    }
    let rows = tasks.iter().map(|task| {
        vec![
            task.name.clone(),
            task.handler.clone().unwrap_or_default(),
            counted(task.pending, task),
            counted(task.due, task),
            task.running.to_string(),
            task.declared_by.join(", "),
            state(task),
        ]
    });
    let headings = ["TASK", "HANDLER", "PENDING", "DUE", "RUNNING", "DECLARED BY", "STATE"];
    table::print(&headings, rows.collect(), "No living node declares a task, and no entry waits.")
}

fn show(task: &TaskShape) -> Result<()> {
    let field = |name: &str, value: String| output::line(format!("{name:<14} {value}").trim_end());
    field("task", task.name.clone())?;
    field("state", state(task))?;
    field("handler", task.handler.clone().unwrap_or_else(|| "declared by no living node".to_owned()))?;
    field("declared by", task.declared_by.join(", "))?;
    field("source", if task.source { "rows of a table" } else { "none" }.to_owned())?;
    field("max attempts", task.max_attempts.to_string())?;
    if task.limits.any() {
        field("limits", limits(&task.limits))?;
    }
    field("pending", format!("{}, of which {} are due", counted(task.pending, task), counted(task.due, task)))?;
    field("running", task.running.to_string())?;
    field("last 24 h", format!("{} completed, {} failed for good", task.completed, task.failed))?;
    if let Some(held) = &task.held {
        let next = held.next_probe_at.map(|at| format!("; next try at {}", shown(at))).unwrap_or_default();
        field("held back", format!("since {}: {}{next}", shown(held.since), table::cut(&held.reason, 300)))?;
    }
    if let Some(paused) = &task.paused {
        let reason =
            paused.reason.as_deref().map(|reason| format!(": {}", table::cut(reason, 300))).unwrap_or_default();
        field("paused", format!("by {} since {}{reason}", paused.by, shown(paused.since)))?;
    }
    Ok(())
}

/// What waits of a task, with a `+` where nobody has counted all of it.
pub(super) fn counted(n: i64, task: &TaskShape) -> String {
    if task.at_least && n >= tasks::CAP { format!("{n}+") } else { n.to_string() }
}

/// What limits the starts of a task over all nodes.
fn limits(limits: &Limits) -> String {
    let mut parts = Vec::new();
    if limits.max_running > 0 {
        parts.push(format!("{} at once over all nodes", limits.max_running));
    }
    parts.extend(limits.rate.map(|rate| format!("{rate} over all nodes")));
    if limits.serial {
        parts.push("entries of one key one at a time".to_owned());
    }
    parts.join(", ")
}

/// How a task stands, in a word or two.
pub(super) fn state(task: &TaskShape) -> String {
    let word = match task {
        TaskShape { paused: Some(_), .. } => "paused",
        TaskShape { held: Some(_), .. } => "held back",
        TaskShape { handler: None, .. } => "unknown to every node",
        TaskShape { running: 1.., .. } => "runs",
        TaskShape { due: 1.., .. } => "due",
        TaskShape { pending: 1.., .. } => "waits",
        _ => "idle",
    };
    word.to_owned()
}
