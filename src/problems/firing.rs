//! Problems of due times: missed, skipped, late, or moved by a change of clocks.

use super::schedule::fires;
use super::words::{age, count, moment, number};
use super::{Level, Problem};
use crate::model::time::{Micros, SECOND};
use crate::store::node_list::NodeShape;
use crate::store::schedules::ScheduleShape;
use crate::store::status::{Facts, Unfired};
use crate::trigger::{Kind, moved};

/// A run in the way that is younger is how the schedule is meant.
const LONG: Micros = 60 * SECOND;
/// Changes of clocks within this are told.
const SOON: Micros = 7 * 86_400 * SECOND;
/// A change moves what is due this close to it, and no more due times than these are looked at.
const NEAR: Micros = 3 * 3600 * SECOND;
const LOOKED: usize = 1000;

/// Due times that were missed and not made up, until one fires again.
pub(super) fn missed(facts: &Facts) -> impl Iterator<Item = Problem> + '_ {
    facts.unfired.iter().filter(|(unfired, _)| unfired.outcome == "missed" && fires(facts)).map(|(unfired, _)| {
        let Unfired { schedule, scheduled_for, .. } = unfired;
        let until = unfired.until.unwrap_or(*scheduled_for);
        let sentence = match unfired.count.unwrap_or(1) {
            1 => format!("`{schedule}` did not run at {}.", moment(*scheduled_for, facts.now)),
            n => format!(
                "`{schedule}` did not run at {} due times from {} to {}.",
                number(n),
                moment(*scheduled_for, facts.now),
                moment(until, facts.now)
            ),
        };
        let mut problem = Problem::new(Level::Broken, 11, "firing_missed", sentence);
        let reason = unfired.reason.as_deref().unwrap_or("missed");
        problem.detail = Some(format!("{}It was {reason}.", nobody_fired(facts, *scheduled_for)));
        problem.command = Some(format!("soloist schedules fire {schedule}"));
        problem.schedule = Some(schedule.clone());
        problem.since = Some(*scheduled_for);
        problem
    })
}

/// From when to when no scheduler lived, if none that lives now had started then.
fn nobody_fired(facts: &Facts, at: Micros) -> String {
    let schedulers = || facts.nodes.iter().filter(|node| node.has("scheduler"));
    let Some(back) = schedulers().filter(|node| node.is_living()).map(|node| node.started_at).min() else {
        return String::new();
    };
    if back <= at {
        return String::new();
    }
    let end = |node: &NodeShape| node.stopped_at.unwrap_or(node.lease_until);
    let last = schedulers().filter(|node| !node.is_living()).map(end).filter(|end| *end <= back).max();
    let from = last.map(|last| format!(" from {}", moment(last, facts.now))).unwrap_or_default();
    format!("No scheduler lived{from} to {}. ", moment(back, facts.now))
}

/// Due times that were skipped since the run before goes on for long.
pub(super) fn skipped(facts: &Facts) -> impl Iterator<Item = Problem> + '_ {
    let in_the_way = |unfired: &Unfired| {
        let entry = unfired.entry_id.and(unfired.started_at).map(|since| (unfired.entry_for.unwrap_or(since), since));
        entry.or_else(|| unfired.sweep_id.and(unfired.swept_from).map(|since| (since, since)))
    };
    facts.unfired.iter().filter(|(unfired, _)| unfired.outcome == "skipped").filter_map(move |(unfired, usual)| {
        let (due, since) = in_the_way(unfired).filter(|(_, since)| facts.now - since > LONG)?;
        let (schedule, now) = (&unfired.schedule, facts.now);
        let skipped = match unfired.count.unwrap_or(1) {
            1 => format!("`{schedule}` skipped {}", moment(unfired.scheduled_for, now)),
            n => format!("`{schedule}` skipped {} since {}", due_times(n), moment(unfired.scheduled_for, now)),
        };
        let what = if unfired.entry_id.is_some() { "run" } else { "sweep" };
        let sentence = format!("{skipped}: the {what} of {} still goes on.", moment(due, now));
        let mut problem = Problem::new(Level::Risk, 18, "firing_skipped", sentence);
        let usual = usual.map(|usual| format!("; {} is usual", age(usual))).unwrap_or_default();
        problem.detail = Some(format!("It has run for {}{usual}.", age(now - since)));
        problem.command = Some(match unfired.entry_id {
            Some(id) => format!("soloist entries show {id}"),
            None => format!("soloist schedules show {schedule}"),
        });
        problem.schedule = Some(schedule.clone());
        problem.since = Some(unfired.scheduled_for);
        Some(problem)
    })
}

fn due_times(n: i64) -> String {
    count(n, "due time", "due times")
}

/// Due times fire, and late.
pub(super) fn late(facts: &Facts) -> Option<Problem> {
    let lateness = facts.lateness;
    // One of a hundred may be late, and the few that fire while another node takes over.
    if lateness.late < 3 || lateness.late * 100 <= lateness.fired {
        return None;
    }
    let of = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
    let sentence = format!(
        "Firings are late: {} of {} of the last 5 min by more than a second, one by {}.",
        number(of(lateness.late)),
        number(of(lateness.fired)),
        age(lateness.latest)
    );
    let mut problem = Problem::new(Level::Risk, 22, "firings_late", sentence);
    problem.detail = Some("The database answers late, or the nodes that fire are starved.".to_owned());
    problem.command = Some("soloist firings list".to_owned());
    problem.since = Some(lateness.since);
    Some(problem)
}

/// Changes of clocks that move a due time within a week.
pub(super) fn moved_by_clocks(facts: &Facts) -> impl Iterator<Item = Problem> + '_ {
    facts.next.iter().filter_map(|schedule| change(schedule, facts.now))
}

fn change(schedule: &ScheduleShape, now: Micros) -> Option<Problem> {
    let timer = schedule.definition.clone().schedule(&schedule.name).ok()?.timer(0);
    let Kind::Cron { cron, zone } = &timer.kind else { return None };
    let change = zone.next_change(now).filter(|change| *change < now + SOON)?;
    let first = schedule.next_fire_at?.max(change - NEAR);
    let times = std::iter::successors(timer.next(first - 1), |at| timer.next(*at));
    let mut near = times.take(LOOKED).take_while(|at| *at < change + NEAR);
    // What follows real time loses nothing, and comes twice as it should.
    let (at, how) = near.find_map(|at| Some((at, moved(cron, zone, at).filter(|_| !cron.follows_real_time())?)))?;
    let local = zone.local(at);
    let day = local.strftime("%A %-d %B");
    let sentence = format!(
        "Clocks change on {day} in {}: `{}` fires at {}, once.",
        zone.name(),
        schedule.name,
        local.strftime("%H:%M")
    );
    let mut note = Problem::new(Level::Note, 28, "clocks_change", sentence);
    note.detail = Some(format!("{how}."));
    note.command = Some(format!("soloist schedules show {}", schedule.name));
    note.schedule = Some(schedule.name.clone());
    note.since = None;
    Some(note)
}
