//! Problems of tasks: paused, held back, unknown, without rows to sweep.

use super::node::someone_works;
use super::words::{age, counted, first_line, moment};
use super::{Level, Problem};
use crate::store::status::Facts;
use crate::store::sweeps::Sweep;
use crate::store::tasks::{Held, Paused, TaskShape};

/// The code of the one problem that stands for all pauses.
pub(super) const ALL_PAUSED: &str = "all_paused";

/// Every declared task is paused, and entries are due.
pub(super) fn all_paused(facts: &Facts) -> Option<Problem> {
    let declared: Vec<_> = facts.tasks.iter().filter(|task| task.handler.is_some()).collect();
    let newest = declared.iter().filter_map(|task| task.paused.as_ref()).max_by_key(|paused| paused.since)?;
    let due: i64 = declared.iter().map(|task| task.due).sum();
    if due == 0 || declared.len() < 2 || declared.iter().any(|task| task.paused.is_none()) {
        return None;
    }
    let sentence = format!("All {} tasks are paused, {}", declared.len(), by_and_why(newest, facts.now));
    let mut problem = Problem::new(Level::Stopped, 6, ALL_PAUSED, sentence);
    problem.detail = Some(format!("{} Schedules go on firing.", wait(due, declared.iter().any(|task| task.at_least))));
    problem.since = Some(newest.since);
    problem.command = declared.first().map(|task| format!("soloist tasks resume {}", task.name));
    Some(problem)
}

pub(super) fn by_and_why(paused: &Paused, now: i64) -> String {
    let reason = match paused.reason.as_deref().map(first_line) {
        Some(reason) if !reason.is_empty() => format!(": \"{reason}\""),
        _ => String::new(),
    };
    format!("by {} since {}{reason}.", paused.by, moment(paused.since, now))
}

fn wait(n: i64, at_least: bool) -> String {
    format!("{} {}.", counted(n, at_least, "entry", "entries"), if n == 1 { "waits" } else { "wait" })
}

/// Tasks that somebody paused.
pub(super) fn paused(facts: &Facts) -> impl Iterator<Item = Problem> + '_ {
    facts.tasks.iter().filter_map(|task| task.paused.as_ref().map(|paused| (task, paused))).map(|(task, paused)| {
        let mut sentence = format!("`{}` is paused {}", task.name, by_and_why(paused, facts.now));
        if task.pending > 0 {
            sentence.push_str(&format!(" {}", wait(task.pending, task.at_least)));
        }
        let mut note = Problem::new(Level::Note, 26, "task_paused", sentence);
        note.command = Some(format!("soloist tasks resume {}", task.name));
        note.task = Some(task.name.clone());
        note.since = Some(paused.since);
        note
    })
}

/// Tasks whose host refuses all work.
pub(super) fn held(facts: &Facts) -> impl Iterator<Item = Problem> + '_ {
    facts.tasks.iter().filter_map(|task| task.held.as_ref().map(|held| (task, held))).map(|(task, held)| {
        let waits = if task.pending == 1 { "waits" } else { "wait" };
        let sentence = format!(
            "`{}` is held back: {} since {}, and {} {waits}.",
            task.name,
            what_the_host_does(&held.reason),
            moment(held.since, facts.now),
            counted(task.pending, task.at_least, "entry", "entries"),
        );
        let mut problem = Problem::new(Level::Broken, 7, "task_held", sentence);
        let reason = first_line(&held.reason);
        problem.detail = Some(format!("`{reason}`. {}No attempts are spent.", next_try(held, facts.now)));
        problem.command = Some(format!("soloist tasks show {}", task.name));
        problem.task = Some(task.name.clone());
        problem.since = Some(held.since);
        problem
    })
}

/// What a web hook's host does, in short; of other handlers the reason itself.
fn what_the_host_does(reason: &str) -> String {
    let reason = first_line(reason);
    let Some((_, words)) = reason.strip_prefix("POST ").and_then(|rest| rest.split_once(": ")) else {
        return reason.trim_end_matches('.').to_owned();
    };
    if words.starts_with(|c: char| c.is_ascii_digit()) {
        format!("its host answers {}", words.trim_end_matches('.'))
    } else {
        "its host cannot be connected to".to_owned()
    }
}

fn next_try(held: &Held, now: i64) -> String {
    match held.next_probe_at {
        Some(at) if at > now => format!("Next try in {}. ", age(at - now)),
        _ => "The next try is due. ".to_owned(),
    }
}

/// Tasks that have due entries and that no living node declares. Without a worker that is a consequence.
pub(super) fn unknown(facts: &Facts) -> impl Iterator<Item = Problem> + '_ {
    let unknown = |task: &&TaskShape| someone_works(facts) && task.due > 0 && task.handler.is_none();
    facts.tasks.iter().filter(unknown).map(|task| {
        #[allow(clippy::cast_possible_truncation)] // an age in seconds
        let since = task.oldest_due_age_s.map(|age| facts.now - (age * 1e6) as i64);
        let verb = if task.due == 1 { "waits" } else { "wait" };
        let from = since.map(|since| format!(" since {}", moment(since, facts.now))).unwrap_or_default();
        let entries = counted(task.due, task.at_least, "entry", "entries");
        let sentence = format!("No node knows the task `{}`: {entries} {verb} for it{from}.", task.name);
        let mut problem = Problem::new(Level::Broken, 10, "task_unknown", sentence);
        problem.detail = Some(match facts.declared.nearest(&task.name) {
            Some(nearest) => format!("The nearest declared task is `{nearest}`."),
            None => format!("The living nodes declare {}.", names(facts)),
        });
        problem.command = Some(format!("soloist entries list --task {}", task.name));
        problem.task = Some(task.name.clone());
        problem.since = since;
        problem
    })
}

fn names(facts: &Facts) -> String {
    let names: Vec<_> = facts.declared.tasks.keys().map(|name| format!("`{name}`")).collect();
    if names.is_empty() { "no task".to_owned() } else { names.join(", ") }
}

/// Sweeps that cannot go on.
pub(super) fn sweeps(facts: &Facts) -> impl Iterator<Item = Problem> + '_ {
    let failing = |sweep: &&Sweep| sweep.failed_since.is_some();
    facts.sweeps.iter().filter(failing).map(|sweep| {
        let since = sweep.failed_since.map(|since| format!(" since {}", moment(since, facts.now))).unwrap_or_default();
        let sentence = format!("`{}` finds no rows: its source cannot be read{since}.", sweep.task);
        let mut problem = Problem::new(Level::Broken, 13, "sweep_failed", sentence);
        problem.detail = sweep.error.as_deref().map(|error| format!("`{}`", first_line(error)));
        problem.command = Some("soloist check".to_owned());
        problem.task = Some(sweep.task.clone());
        problem.since = sweep.failed_since;
        problem
    })
}
