//! The state of the whole as one sentence: the worst problem, or how well all is.

use serde::Serialize;
use utoipa::ToSchema;

use super::node::someone_works;
use super::words::{age, count, moment, number};
use super::{Found, Level};
use crate::model::time::{Micros, SECOND};
use crate::store::firings::FiringShape;
use crate::store::schedules::ScheduleShape;
use crate::store::status::Facts;

/// What waits for less is not late.
const LATE: f64 = 1.0;

/// The state of the whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Verdict {
    /// The worst that there is; `note` if all is well.
    pub level: Level,
    /// In a sentence.
    pub sentence: String,
    /// What makes it more precise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

fn well(sentence: impl Into<String>, detail: Option<String>) -> Verdict {
    Verdict { level: Level::Note, sentence: sentence.into(), detail }
}

/// What the facts come to: the worst problem, or how well all is.
pub fn verdict(facts: &Facts, found: &Found) -> Verdict {
    if let Some(worst) = found.problems.first() {
        return Verdict { level: worst.level, sentence: worst.sentence.clone(), detail: worst.detail.clone() };
    }
    let living = i64::try_from(facts.nodes.iter().filter(|node| node.is_living()).count()).unwrap_or(i64::MAX);
    let nodes = count(living, "node", "nodes");
    if living == 0 {
        let help = Some("Start one: soloist serve".to_owned());
        return well("No node is running, and no entry is due.", help);
    }
    let declared = facts.declared.tasks.len();
    if declared == 0 && someone_works(facts) {
        let help = "Write one in soloist.toml, or run: soloist init".to_owned();
        return well("Ready, but no task is declared: nothing can run.", Some(help));
    }
    let next = facts.next.iter().find_map(|schedule| Some((schedule, schedule.next_fire_at?)));
    let last = facts.last.iter().find_map(|firing| Some((firing, firing.fired_at?)));
    let waiting: i64 = facts.tasks.iter().map(|task| task.pending).sum();
    let done: i64 = facts.tasks.iter().map(|task| task.completed + task.running).sum();
    if waiting + done == 0 && last.is_none() {
        let tasks = count(i64::try_from(declared).unwrap_or(i64::MAX), "task", "tasks");
        let first = next.map(|(schedule, at)| first_firing(schedule, at, facts.now));
        return well(format!("Ready. {nodes}, {tasks} declared, nothing to do."), first);
    }
    let oldest = facts.tasks.iter().filter_map(|task| task.oldest_due_age_s).fold(0.0, f64::max);
    let rate: f64 = facts.tasks.iter().map(|task| task.ended_per_s * 60.0).sum();
    if oldest < LATE {
        let fires = fires(last, next, facts.now);
        return well(format!("All is well. {nodes}, nothing late{fires}."), pace(rate, oldest));
    }
    let due: i64 = facts.tasks.iter().map(|task| task.due).sum();
    #[allow(clippy::cast_possible_truncation)] // an age in seconds
    let oldest = age((oldest * 1e6) as i64);
    let waits = if waiting == 1 { "waits" } else { "wait" };
    let entries = count(waiting, "entry", "entries");
    match drained(due, rate, facts.now) {
        Some(end) => well(
            format!("All is well. {entries} {waits}, and {} a minute go out: done at about {end}.", rounded(rate)),
            Some(format!("The oldest has been due for {oldest}; {nodes}.")),
        ),
        None => well(format!("All is well. {nodes}; {entries} {waits}, the oldest due for {oldest}."), None),
    }
}

fn first_firing(schedule: &ScheduleShape, at: Micros, now: Micros) -> String {
    format!("First firing: `{}`, {}.", schedule.name, moment(at, now))
}

/// What fired last and what fires next.
fn fires(last: Option<(&FiringShape, Micros)>, next: Option<(&ScheduleShape, Micros)>, now: Micros) -> String {
    let last = last.map(|(firing, at)| {
        let ran = firing.ended_at.filter(|end| end - at >= SECOND).map(|end| format!(" for {}", age(end - at)));
        format!("; `{}` fired at {}{}", firing.schedule, moment(firing.scheduled_for, now), ran.unwrap_or_default())
    });
    let next = next.map(|(schedule, at)| format!("; next is `{}` at {}", schedule.name, moment(at, now)));
    [last, next].into_iter().flatten().collect()
}

/// How much is done, if anything is.
fn pace(per_minute: f64, oldest: f64) -> Option<String> {
    let waits = if oldest < 0.1 { "none waits".to_owned() } else { format!("none waits longer than {oldest:.1} s") };
    (per_minute >= 1.0).then(|| format!("{} entries a minute, {waits}.", rounded(per_minute)))
}

/// When all that is due will have ended, at the rate of the last minutes.
fn drained(due: i64, per_minute: f64, now: Micros) -> Option<String> {
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)] // minutes
    let left = (per_minute >= 1.0 && due > 0).then(|| (due as f64 / per_minute * 60e6) as i64)?;
    // What takes days is no forecast.
    (left < 2 * 86_400 * SECOND).then(|| moment(now + left, now))
}

fn rounded(per_minute: f64) -> String {
    #[allow(clippy::cast_possible_truncation)] // far below 2^53
    number(per_minute.round() as i64)
}
