//! "Why did the firing of 02:30 not happen?", and when a schedule fires next: one sentence, the first that is true.
//!
//! Pure over rows of one moment.

use crate::model::time::{Micros, SECOND};
use crate::problems::words::{age, first_line, moment, number};
use crate::store::firings::FiringShape;
use crate::store::schedules::ScheduleShape;
use crate::trigger::{Kind, Timer, Zone};

/// What a sentence rests on.
#[derive(Debug, Clone)]
pub struct Facts<'a> {
    /// The schedule.
    pub schedule: &'a ScheduleShape,
    /// When it is due.
    pub timer: &'a Timer,
    /// True if a living node fires schedules.
    pub scheduler_lives: bool,
    /// True while all schedules are held.
    pub all_held: bool,
    /// The database's clock.
    pub now: Micros,
}

/// When it fires next, or why it does not.
pub fn next(facts: &Facts<'_>) -> String {
    let Facts { schedule, now, .. } = *facts;
    if let Some(hindered) = hindered(facts) {
        return hindered;
    }
    match schedule.next_fire_at {
        None => "Nothing is to come: its times are over.".to_owned(),
        Some(at) if at > now => format!("Fires next at {}, in {}.", moment(at, now), age(at - now)),
        Some(at) => format!("Due since {}: it fires when a scheduler looks.", moment(at, now)),
    }
}

/// What became of the due time `at`; `firings` are those of the schedule up to then, newest first.
pub fn at(facts: &Facts<'_>, firings: &[FiringShape], at: Micros) -> String {
    let covers = |firing: &&FiringShape| firing.scheduled_for == at || firing.until.is_some_and(|until| until >= at);
    let is_due = facts.timer.next(at - 1) == Some(at);
    // A run names its ends alone: a time between them that is not due is in none.
    if let Some(firing) = firings.iter().find(covers).filter(|firing| is_due || firing.scheduled_for == at) {
        return recorded(firing, facts.now);
    }
    if !is_due {
        return not_due(facts, at);
    }
    let hindered = hindered(facts);
    if at > facts.now {
        return hindered.unwrap_or_else(|| format!("It is still to come, in {}.", age(at - facts.now)));
    }
    if facts.schedule.next_fire_at.is_some_and(|next| next <= at) {
        return hindered.unwrap_or_else(|| "It is due, and fires when a scheduler looks.".to_owned());
    }
    let gone = "It is not on record: the schedule was made later, or the record is older than keep_firings.";
    hindered.filter(|_| !facts.schedule.declared).unwrap_or_else(|| gone.to_owned())
}

/// What keeps it from firing at all.
fn hindered(facts: &Facts<'_>) -> Option<String> {
    let schedule = facts.schedule;
    let name = &schedule.name;
    if !schedule.declared {
        return Some("It has stopped: no living node declares it. It goes on when one does.".to_owned());
    }
    if let Some(paused) = &schedule.paused {
        let reason = match paused.reason.as_deref().map(first_line) {
            Some(reason) if !reason.is_empty() => format!(": \"{reason}\""),
            _ => String::new(),
        };
        let since = moment(paused.since, facts.now);
        let which = if facts.all_held { "--all" } else { name };
        let resume = format!("To let it fire again: soloist schedules resume {which}");
        return Some(format!("It is paused by {} since {since}{reason}. {resume}", paused.by));
    }
    if !facts.scheduler_lives {
        return Some("No living node fires schedules. To run one: soloist serve".to_owned());
    }
    None
}

fn recorded(firing: &FiringShape, now: Micros) -> String {
    let reason = firing.reason.as_deref().map(first_line).unwrap_or_default();
    let Some(fired_at) = firing.fired_at else {
        let run = match (firing.count, firing.until) {
            (Some(count @ 2..), Some(until)) => {
                format!(" So were {} due times up to {}.", number(count), moment(until, now))
            }
            _ => String::new(),
        };
        return format!("It was {}: {reason}.{run}", firing.outcome);
    };
    let late = age(fired_at - firing.scheduled_for);
    let node = firing.node.as_deref().map(|node| format!(" on {node}")).unwrap_or_default();
    let by = if reason.is_empty() { String::new() } else { format!(" ({reason})") };
    let work = match (firing.entry_id, firing.sweep_id) {
        (Some(id), _) => format!("entry {id}"),
        (None, Some(id)) => format!("sweep {id}"),
        (None, None) => "its work".to_owned(),
    };
    let result = match (&firing.result, firing.ended_at) {
        (Some(result), Some(ended)) => format!("is {result} since {}", moment(ended, now)),
        (Some(result), None) => format!("is {result}"),
        (None, _) => "has not ended".to_owned(),
    };
    format!("It fired, {late} late{node}{by}: {work} {result}.")
}

fn not_due(facts: &Facts<'_>, at: Micros) -> String {
    let timer = facts.timer;
    if timer.start.is_some_and(|start| at < start) {
        return "It is before the start of the schedule.".to_owned();
    }
    if timer.end.is_some_and(|end| at > end) {
        return "It is after the end of the schedule.".to_owned();
    }
    let utc = Zone::utc();
    let zone = if let Kind::Cron { zone, .. } = &timer.kind { zone } else { &utc };
    let around: Vec<_> = [before(timer, at), timer.next(at)].into_iter().flatten().map(|at| shown(at, zone)).collect();
    match around.as_slice() {
        [] => "That is no due time, and there is none around it.".to_owned(),
        [one] => format!("That is no due time; the nearest is {one}."),
        [one, other, ..] => format!("That is no due time; those around it are {one} and {other}."),
    }
}

/// A time on the clocks of its zone, and in UTC.
fn shown(at: Micros, zone: &Zone) -> String {
    let local = zone.local(at).strftime("%Y-%m-%d %H:%M:%S").to_string();
    match zone.name() {
        "UTC" => format!("{local} UTC"),
        name => format!("{local} {name} ({} UTC)", Zone::utc().local(at).strftime("%H:%M:%S")),
    }
}

/// The last due time before `at`, unless it is more than eleven years earlier.
fn before(timer: &Timer, at: Micros) -> Option<Micros> {
    const MINUTE: Micros = 60 * SECOND;
    for minutes in [1, 60, 1440, 45_000, 600_000, 6_000_000] {
        let from = at.saturating_sub(minutes * MINUTE);
        let due = std::iter::successors(timer.next(from), |due| timer.next(*due));
        if let Some(last) = due.take_while(|due| *due < at).last() {
            return Some(last);
        }
    }
    None
}
