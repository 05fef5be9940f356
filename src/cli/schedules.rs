//! `soloist schedules`: what fires when, and what people do to it.

mod add;
mod change;
mod fields;
mod import;
mod show;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::json;

use super::ask::{Asked, who};
use super::time_text::{due, shown};
use super::{output, table};
use crate::error::Result;
use crate::store::schedules::{self, Origin, ScheduleShape};
use crate::store::{Lent, sweeps};
use crate::trigger::words;

pub(super) use show::firing_row;

/// Schedules that are read at once.
const PAGE: usize = 500;

/// `soloist schedules`
#[derive(Debug, Subcommand)]
pub(super) enum Schedules {
    /// All schedules: when each fires next and last
    List,
    /// One schedule: its next times, its last firings, and why a time did not fire
    Show(show::Show),
    /// Make one; it stays until it is removed
    Add(Box<add::Add>),
    /// Change one that no node declares; its phase and its pause stay
    Change(Box<change::Change>),
    /// Make those that APScheduler's export_jobs() wrote: all of them, or none
    Import(import::Import),
    /// Remove one that no node declares; what it has made goes on
    Remove(Named),
    /// Fire it no more, on all nodes, until it is resumed
    Pause(Pause),
    /// Let it fire again, from its next due time on
    Resume(Resume),
    /// Fire it now, beside its due times
    Fire(Named),
}

/// A schedule's name.
#[derive(Debug, Args)]
pub(super) struct Named {
    name: String,
}

/// `soloist schedules pause`
#[derive(Debug, Args)]
pub(super) struct Pause {
    #[command(flatten)]
    which: Which,
    /// Why; shown until it is resumed
    #[arg(long)]
    reason: Option<String>,
}

/// `soloist schedules resume`
#[derive(Debug, Args)]
pub(super) struct Resume {
    #[command(flatten)]
    which: Which,
}

/// One schedule, or all.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Which {
    name: Option<String>,
    /// All at once, those too that are still to come; each keeps a pause of its own
    #[arg(long)]
    all: bool,
}

impl Schedules {
    pub(super) fn run(self, asked: &Asked) -> Result<ExitCode> {
        match self {
            Self::List => list(asked, &mut asked.connect()?)?,
            Self::Show(show) => show.run(asked)?,
            Self::Add(add) => add.run(asked)?,
            Self::Change(change) => change.run(asked)?,
            Self::Import(import) => import.run(asked)?,
            Self::Remove(Named { name }) => {
                schedules::remove(&mut *asked.connect()?, &name, &who())?;
                let words = format!("{name} is removed; what it has made goes on.");
                said(asked, &words, &json!({ "name": name, "removed": true }))?;
            }
            Self::Pause(Pause { which: Which { name: Some(name), .. }, reason }) => {
                let schedule = schedules::pause(&mut *asked.connect()?, &name, &who(), reason.as_deref())?;
                said(asked, &format!("{name} is paused on all nodes; what it has made goes on."), &schedule)?;
            }
            Self::Pause(Pause { reason, .. }) => {
                let reason = reason.as_deref().unwrap_or(schedules::ALL_PAUSED);
                schedules::hold(&mut *asked.connect()?, false, &who(), reason)?;
                let words = "all schedules are paused on all nodes; what they have made goes on.";
                said(asked, words, &json!({ "all": true, "paused": true }))?;
            }
            Self::Resume(Resume { which: Which { name: Some(name), .. } }) => {
                let schedule = schedules::resume(&mut *asked.connect()?, &name, &who())?;
                let next = schedule.next_fire_at.map(|at| format!(", next at {}", due(at)));
                let held = schedule
                    .paused
                    .as_ref()
                    .map(|_| " once all schedules do: soloist schedules resume --all".to_owned());
                said(asked, &format!("{name} fires again{}.", next.or(held).unwrap_or_default()), &schedule)?;
            }
            Self::Resume(_) => {
                schedules::release(&mut *asked.connect()?, &who())?;
                let words = "all schedules fire again that have no pause of their own.";
                said(asked, words, &json!({ "all": true, "paused": false }))?;
            }
            Self::Fire(Named { name }) => fire(asked, &mut asked.connect()?, &name)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn said(asked: &Asked, words: &str, json: &impl serde::Serialize) -> Result<()> {
    if asked.json { output::json(json) } else { output::line(words) }
}

fn fire(asked: &Asked, connection: &mut Lent, name: &str) -> Result<()> {
    let made = schedules::fire(connection, name, &who())?;
    match made.sweep_id {
        Some(sweep) if asked.json => {
            output::json(&json!({ "sweep": sweep, "collected": sweeps::collected(connection, sweep)? }))
        }
        Some(sweep) => output::line(format!("sweep {sweep} is asked for.")),
        None if asked.json => output::json(&json!({ "entries": made.entry_id.iter().collect::<Vec<_>>() })),
        None => made.entry_id.iter().try_for_each(output::line),
    }
}

fn list(asked: &Asked, connection: &mut Lent) -> Result<()> {
    let mut all: Vec<ScheduleShape> = Vec::new();
    loop {
        let after = all.last().map(|schedule| schedule.name.clone());
        let mut page = schedules::list(connection, after.as_deref(), PAGE)?;
        let is_last = page.len() < PAGE;
        all.append(&mut page);
        if is_last {
            break;
        }
    }
    if asked.json {
        return output::json(&json!({ "items": all, "next_cursor": null }));
    }
    let rows = all.iter().map(|schedule| {
        vec![
            schedule.name.clone(),
            when(schedule),
            schedule.definition.task.clone(),
            schedule.next_fire_at.map(due).unwrap_or_default(),
            schedule.last_fired_at.map(shown).unwrap_or_default(),
            state(schedule),
        ]
    });
    table::print(&["NAME", "WHEN", "TASK", "NEXT", "LAST", "STATE"], rows.collect(), "There is no schedule.")
}

/// When it fires, in words; as it was typed if this version cannot read it.
fn when(schedule: &ScheduleShape) -> String {
    let definition = &schedule.definition;
    let typed = || [&definition.cron, &definition.every].into_iter().flatten().next().cloned().unwrap_or_default();
    match definition.clone().schedule(&schedule.name) {
        Ok(read) => words::timer(&read.timer(0)),
        Err(_) => typed(),
    }
}

/// How a schedule stands, in a word or two.
fn state(schedule: &ScheduleShape) -> String {
    match schedule {
        ScheduleShape { declared: false, .. } => "stopped: nobody declares it".to_owned(),
        ScheduleShape { paused: Some(paused), .. } => format!("paused by {}", table::cut(&paused.by, 40)),
        ScheduleShape { next_fire_at: None, .. } => "nothing is to come".to_owned(),
        _ => "fires".to_owned(),
    }
}

/// What it does from now on, in a sentence.
fn from_now_on(schedule: &ScheduleShape) -> String {
    let next = match schedule.next_fire_at {
        Some(at) => format!("next at {}", due(at)),
        None => "but nothing is to come".to_owned(),
    };
    format!("{} fires {} {}; {next}.", schedule.name, schedule.definition.task, when(schedule))
}

/// Where it was made, in words.
fn origin(schedule: &ScheduleShape) -> &'static str {
    match schedule.origin {
        Origin::Config => "declared by nodes",
        Origin::Api => "made over the API",
        Origin::Cli => "made by a command",
    }
}
