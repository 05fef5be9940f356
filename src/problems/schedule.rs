//! Problems of schedules: nobody fires them, nobody declares them, nodes declare them differently, somebody paused them.

use super::task::by_and_why;
use super::words::moment;
use super::{Level, Problem};
use crate::model::time::SECOND;
use crate::store::status::Facts;

/// A schedule is due, and no living node fires.
pub(super) fn none_fires(facts: &Facts) -> Option<Problem> {
    let late = |at: &i64| *at < facts.now - 2 * SECOND;
    let first = facts.next.iter().find(|schedule| schedule.next_fire_at.as_ref().is_some_and(late))?;
    let since = first.next_fire_at?;
    if facts.nodes.iter().any(|node| node.is_living() && node.has("scheduler")) {
        return None;
    }
    let sentence = format!("No node fires schedules: `{}` was due at {}.", first.name, moment(since, facts.now));
    let mut problem = Problem::new(Level::Stopped, 5, "no_scheduler", sentence);
    let living: Vec<_> = facts.nodes.iter().filter(|node| node.is_living()).map(|node| node.name.as_str()).collect();
    problem.detail = Some(match living.as_slice() {
        [] => "No node is running.".to_owned(),
        [one] => format!("{one} lives, without the role scheduler."),
        all => format!("{} live, none with the role scheduler.", all.join(", ")),
    });
    problem.command = Some("soloist serve".to_owned());
    problem.schedule = Some(first.name.clone());
    problem.since = Some(since);
    Some(problem)
}

/// Schedules that no living node declares any more, while nodes live.
pub(super) fn undeclared(facts: &Facts) -> impl Iterator<Item = Problem> + '_ {
    let someone_lives = facts.nodes.iter().any(|node| node.is_living());
    facts.silent.iter().filter(move |schedule| someone_lives && !schedule.declared).map(|schedule| {
        let sentence = format!("`{}` no longer fires: no living node declares it.", schedule.name);
        let mut problem = Problem::new(Level::Risk, 12, "schedule_undeclared", sentence);
        problem.detail = Some("It keeps its phase and its pause until a node declares it again.".to_owned());
        problem.command = Some(format!("soloist schedules show {}", schedule.name));
        problem.schedule = Some(schedule.name.clone());
        problem
    })
}

/// Schedules that living nodes declare differently.
pub(super) fn differing(facts: &Facts) -> impl Iterator<Item = Problem> + '_ {
    facts.differing.iter().filter_map(|(name, nodes)| {
        let (speaks, others) = nodes.split_last()?;
        let sentence = format!("Nodes declare `{name}` differently: {speaks} speaks, not {}.", others.join(", "));
        let mut problem = Problem::new(Level::Risk, 24, "declarations_differ", sentence);
        problem.detail = Some("The node that started or re-read its configuration last speaks.".to_owned());
        problem.command = Some(format!("soloist schedules show {name}"));
        problem.schedule = Some(name.clone());
        Some(problem)
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
