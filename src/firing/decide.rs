//! The decision about all due times of one schedule up to now.

use std::time::Duration;

use super::Outcome;
use super::walk::{MOST, walk};
use crate::config::schedule::{Misfire, Overlap, Schedule};
use crate::model::time::{Micros, SECOND, micros};
use crate::trigger::Timer;

/// Due times that `misfire = "all"` makes up, at most.
const MADE_UP: usize = 1000;

/// Due times that one decision fires besides those made up: a schedule far behind must not hold up the others.
const AT_ONCE: usize = 200;

/// How long due times that were found late wait, each for the work of the one before it, where they would not have met
/// had anybody fired in time: the one before was fired only after this one was due, or its node is gone as all others
/// were and its work is yet to be rescued. Counted from when lateness was found, so that work that takes nearly as long
/// as the period does not stay late for ever.
const PATIENCE: Micros = 2 * SECOND;

/// How the work of the previous firing stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// There is none, or it has ended.
    Over,
    /// It waits to start, or runs.
    Going,
    /// It has failed and waits to be tried again.
    WaitsForRetry,
}

/// What a decision rests on.
#[derive(Debug, Clone)]
pub struct Situation<'a> {
    /// The policies.
    pub schedule: &'a Schedule,
    /// When it is due.
    pub timer: &'a Timer,
    /// The first due time that is not decided.
    pub next: Option<Micros>,
    /// A due time that waits for the work before it (`overlap = "queue"`).
    pub queued_for: Option<Micros>,
    /// True while a person has paused it.
    pub paused: bool,
    /// The work of the previous firing.
    pub work: Work,
    /// When that was decided.
    pub fired_at: Option<Micros>,
    /// The database's clock.
    pub now: Micros,
    /// A due time earlier than this is missed, not late.
    pub missed_before: Micros,
    /// When the next due time was found late, if it waits since then for the work before it.
    pub found_late: Option<Micros>,
    /// False if nothing may wait any more: the schedule is about to change.
    pub may_wait: bool,
}

/// What becomes of one due time, or of a run of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// It fires.
    Fire(Micros),
    /// From the first to the last, so many do not.
    Leave {
        /// Skipped or missed.
        outcome: Outcome,
        /// Why, for people.
        reason: &'static str,
        /// The first.
        from: Micros,
        /// The last.
        until: Micros,
        /// How many.
        count: u64,
    },
}

/// What becomes of all of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Decision {
    /// In the order of their due times, but for a due time that had waited, which comes first.
    pub items: Vec<Item>,
    /// The next due time; may be past already if one decision was not enough.
    pub next: Option<Micros>,
    /// The newest due time that is decided.
    pub decided_until: Option<Micros>,
    /// The due time that waits from now on.
    pub queued_for: Option<Micros>,
    /// True if the retry that the work waits for is to begin now.
    pub bring_forward: bool,
    /// When the next due time was found late, if it waits a moment for the work before it.
    pub found_late: Option<Micros>,
}

/// The firing before a due time.
struct Before {
    work: Work,
    fired_at: Option<Micros>,
}

impl Before {
    /// Another was fired.
    fn fire(&mut self, now: Micros) {
        *self = Self { work: Work::Going, fired_at: Some(now) };
    }
}

/// Decides; nothing is left undecided up to now but a queued due time, or what one decision does not reach.
pub fn decide(situation: &Situation<'_>) -> Decision {
    let mut decision = Decision { next: situation.next, queued_for: situation.queued_for, ..Decision::default() };
    let mut before = Before { work: situation.work, fired_at: situation.fired_at };
    if let Some(queued) = decision.queued_for
        && !situation.paused
        && (before.work == Work::Over || situation.schedule.overlap == Overlap::Allow)
    {
        decision.items.push(Item::Fire(queued));
        decision.queued_for = None;
        before.fire(situation.now);
    }
    if !situation.paused {
        missed(situation, &mut decision, &mut before);
    }
    in_time(situation, &mut decision, &mut before);
    decision
}

/// Due times that are missed, by `misfire`.
fn missed(situation: &Situation<'_>, decision: &mut Decision, before: &mut Before) {
    let schedule = situation.schedule;
    let last = (situation.missed_before - 1).min(situation.now);
    let oldest = schedule.misfire_grace.map_or(Micros::MIN, |grace| situation.now.saturating_sub(micros(grace)));
    let wanted = match schedule.misfire {
        Misfire::Skip => 0,
        Misfire::Once => 1,
        Misfire::All => MADE_UP,
    };
    let Some((passed, candidates, next)) = walk(situation.timer, decision.next, last, wanted) else { return };
    let too_old = "missed for longer than misfire_grace";
    let reason = match schedule.misfire {
        Misfire::Skip => "missed, and misfire is skip",
        Misfire::Once => "missed, and only the newest is made up",
        Misfire::All => "missed, and only the newest 1000 are made up",
    };
    if let Some((from, until, count)) = passed {
        let reason = if until < oldest { too_old } else { reason };
        decision.leave(Outcome::Missed, reason, from, until, count);
    }
    for due in candidates {
        if due < oldest {
            decision.leave(Outcome::Missed, too_old, due, due, 1);
        } else if schedule.misfire == Misfire::All {
            decision.fire(due);
            before.fire(situation.now);
        } else if is_to_wait(situation, decision, before, due) {
            decision.found_late = Some(found_late(situation));
            decision.next = Some(due);
            return;
        } else {
            one(situation, decision, before, due);
        }
    }
    decision.next = next;
}

/// Due times that are late at most, by `overlap`.
fn in_time(situation: &Situation<'_>, decision: &mut Decision, before: &mut Before) {
    // What is missed and was not reached comes first, the next time.
    let from = if situation.paused { Micros::MIN } else { situation.missed_before };
    let (mut looked, mut fired) = (0, 0);
    while let Some(due) = decision.next.filter(|due| (from..=situation.now).contains(due)) {
        if looked == MOST || fired == AT_ONCE {
            return;
        }
        looked += 1;
        if situation.paused {
            decision.leave(Outcome::Skipped, "the schedule is paused", due, due, 1);
        } else if is_to_wait(situation, decision, before, due) {
            decision.found_late = Some(found_late(situation));
            return;
        } else {
            fired += usize::from(one(situation, decision, before, due));
        }
        decision.next = situation.timer.next(due);
    }
}

/// True if a due time is neither fired nor skipped yet, see [`PATIENCE`].
fn is_to_wait(situation: &Situation<'_>, decision: &Decision, before: &Before, due: Micros) -> bool {
    let in_the_way = match situation.schedule.overlap {
        Overlap::Skip => before.work == Work::Going,
        Overlap::Queue => decision.queued_for.is_some(),
        Overlap::Allow => false,
    };
    let late = due < situation.missed_before || before.fired_at.is_some_and(|at| at >= due);
    situation.may_wait && in_the_way && late && situation.now - found_late(situation) < PATIENCE
}

/// When what is late was found.
fn found_late(situation: &Situation<'_>) -> Micros {
    situation.found_late.unwrap_or(situation.now)
}

/// One due time by `overlap`; true if it fires.
fn one(situation: &Situation<'_>, decision: &mut Decision, before: &mut Before, due: Micros) -> bool {
    let overlap = situation.schedule.overlap;
    if overlap == Overlap::Allow || (before.work == Work::Over && decision.queued_for.is_none()) {
        decision.fire(due);
        before.fire(situation.now);
        return true;
    }
    match (overlap, before.work) {
        (Overlap::Skip, Work::WaitsForRetry) => {
            decision.bring_forward = true;
            before.work = Work::Going;
            decision.leave(Outcome::Skipped, "the retry of the one before was brought forward", due, due, 1);
        }
        (Overlap::Queue, _) if decision.queued_for.is_none() => {
            decision.queued_for = Some(due);
            decision.decided_until = Some(due);
        }
        (Overlap::Queue, _) => decision.leave(Outcome::Skipped, "one waits already", due, due, 1),
        _ => decision.leave(Outcome::Skipped, "the one before still goes on", due, due, 1),
    }
    false
}

impl Decision {
    fn fire(&mut self, due: Micros) {
        self.items.push(Item::Fire(due));
        self.decided_until = Some(due);
    }

    /// A run of unfired ones is one item, as long as the reason is the same.
    fn leave(&mut self, outcome: Outcome, reason: &'static str, first: Micros, last: Micros, more: u64) {
        self.decided_until = Some(last);
        if let Some(Item::Leave { outcome: before, reason: why, until, count, .. }) = self.items.last_mut()
            && (*before, *why) == (outcome, reason)
        {
            *until = last;
            *count += more;
            return;
        }
        self.items.push(Item::Leave { outcome, reason, from: first, until: last, count: more });
    }
}

/// A due time earlier than this, found at `now`, is missed: more than the lease and 5 s late, or from before any living
/// scheduler had started.
pub fn missed_before(now: Micros, lease: Duration, oldest_scheduler: Option<Micros>) -> Micros {
    let late = now.saturating_sub(micros(lease + Duration::from_secs(5)));
    // A clock that was set back may be behind a start.
    oldest_scheduler.filter(|since| *since <= now).map_or(late, |since| since.max(late))
}
