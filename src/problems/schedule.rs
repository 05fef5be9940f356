//! Problems of schedules: nobody fires them, nobody declares them, nodes declare them differently, somebody paused them.

use super::node::is_rolling;
use super::task::by_and_why;
use super::words::{listed, moment, quoted};
use super::{Level, Problem};
use crate::model::time::SECOND;
use crate::store::status::Facts;

/// The code of schedules that nobody fires.
pub(super) const NO_SCHEDULER: &str = "no_scheduler";

/// True if a living node fires schedules.
pub(super) fn fires(facts: &Facts) -> bool {
    facts.nodes.iter().any(|node| node.is_living() && node.has("scheduler"))
}

/// A schedule is due, or nodes declare some, and no living node fires.
pub(super) fn none_fires(facts: &Facts) -> Option<Problem> {
    if fires(facts) {
        return None;
    }
    let late = |at: &i64| *at < facts.now - 2 * SECOND;
    let due: Vec<_> = facts.next.iter().filter(|schedule| schedule.next_fire_at.as_ref().is_some_and(late)).collect();
    let (level, sentence) = match due.as_slice() {
        [] => (Level::Broken, declared_in_vain(&facts.unheard)?),
        [first, more @ ..] => {
            let since = first.next_fire_at.map(|at| moment(at, facts.now)).unwrap_or_default();
            let others = if more.is_empty() { String::new() } else { format!(", and {} more are due", more.len()) };
            (Level::Stopped, format!("No node fires schedules: `{}` was due at {since}{others}.", first.name))
        }
    };
    let mut problem = Problem::new(level, 5, NO_SCHEDULER, sentence);
    let living: Vec<_> = facts.nodes.iter().filter(|node| node.is_living()).map(|node| node.name.as_str()).collect();
    problem.detail = Some(match living.as_slice() {
        [] => "No node is running.".to_owned(),
        [one] => format!("{one} lives, without the role scheduler."),
        all => format!("{} live, none with the role scheduler.", listed(all)),
    });
    problem.command = Some("soloist serve".to_owned());
    problem.schedule = due.first().map(|first| first.name.clone());
    problem.since = due.first().and_then(|first| first.next_fire_at);
    Some(problem)
}

/// Nothing may be due yet, or nobody has ever looked: it will not fire either way.
fn declared_in_vain(names: &[String]) -> Option<String> {
    match names {
        [] => None,
        [one] => Some(format!("No node fires schedules, and `{one}` is declared.")),
        all => Some(format!("No node fires schedules, and {} are declared: {}.", all.len(), quoted(all))),
    }
}

/// Schedules that no living node declares any more, while nodes live.
pub(super) fn undeclared(facts: &Facts) -> Option<Problem> {
    let stopped: Vec<_> = facts.silent.iter().filter(|schedule| !schedule.declared).map(|s| s.name.as_str()).collect();
    // Where nobody fires at all, that comes first.
    if !fires(facts) {
        return None;
    }
    let (sentence, keep) = match stopped.as_slice() {
        [] => return None,
        [one] => (format!("`{one}` no longer fires: no living node declares it."), "It keeps its phase and its pause"),
        all => (
            format!("{} schedules no longer fire: no living node declares {}.", all.len(), quoted(all)),
            "They keep their phases and pauses",
        ),
    };
    let mut problem = Problem::new(Level::Risk, 12, "schedule_undeclared", sentence);
    problem.detail =
        Some(format!("{keep} until a node declares {} again.", if stopped.len() == 1 { "it" } else { "them" }));
    problem.command = Some(match stopped.as_slice() {
        [one] => format!("soloist schedules show {one}"),
        _ => "soloist schedules list".to_owned(),
    });
    problem.schedule = if let [one] = stopped.as_slice() { Some((*one).to_owned()) } else { None };
    Some(problem)
}

/// Schedules that living nodes declare differently; not while nodes are just being replaced by another version.
pub(super) fn differing(facts: &Facts) -> impl Iterator<Item = Problem> + '_ {
    let rolling = is_rolling(facts);
    facts.differing.iter().filter(move |_| !rolling).filter_map(|(name, nodes)| {
        let (speaks, others) = nodes.split_last()?;
        let sentence = format!("Nodes declare `{name}` differently: {speaks} speaks, not {}.", listed(others));
        let mut problem = Problem::new(Level::Risk, 24, "declarations_differ", sentence);
        problem.detail = Some("The node that started or re-read its configuration last speaks.".to_owned());
        problem.command = Some(format!("soloist schedules show {name}"));
        problem.schedule = Some(name.clone());
        Some(problem)
    })
}

/// All schedules are held.
pub(super) fn held(facts: &Facts) -> Option<Problem> {
    let paused = &facts.held.as_ref()?.paused;
    let sentence = format!("All schedules are paused {}", by_and_why(paused, facts.now));
    let mut note = Problem::new(Level::Note, 25, "schedules_held", sentence);
    note.command = Some("soloist schedules resume --all".to_owned());
    note.since = Some(paused.since);
    Some(note)
}

/// Schedules that nodes declare, of which another was made by people before.
pub(super) fn taken(facts: &Facts) -> impl Iterator<Item = Problem> + '_ {
    facts.taken.iter().map(|(name, origin)| {
        let sentence = format!("`{name}` fires as it was made {}, not as nodes declare it.", origin.place());
        let mut problem = Problem::new(Level::Risk, 24, "schedule_taken", sentence);
        problem.detail = Some("What nodes declare comes into force once that is removed.".to_owned());
        problem.command = Some(format!("soloist schedules remove {name}"));
        problem.schedule = Some(name.clone());
        problem
    })
}

/// Schedules that somebody paused.
pub(super) fn paused(facts: &Facts) -> impl Iterator<Item = Problem> + '_ {
    facts.silent.iter().filter_map(|schedule| schedule.paused.as_ref().map(|paused| (schedule, paused))).map(
        |(schedule, paused)| {
            let sentence = format!("The schedule `{}` is paused {}", schedule.name, by_and_why(paused, facts.now));
            let mut note = Problem::new(Level::Note, 26, "schedule_paused", sentence);
            note.command = Some(format!("soloist schedules resume {}", schedule.name));
            note.schedule = Some(schedule.name.clone());
            note.since = Some(paused.since);
            note
        },
    )
}
