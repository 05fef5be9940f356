//! The three triggers of APScheduler, and what each makes of a schedule.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::Wrong;
use super::cron::CronFields;
use super::times::Moment;
use crate::config::duration;
use crate::config::schedule::{Schedule, Trigger as Due, rules};
use crate::trigger::Zone;

/// A trigger, as far as it was given.
#[derive(Debug, Clone, PartialEq)]
pub struct Trigger {
    /// What makes it due.
    pub when: When,
    /// On whose clocks.
    pub zone: Zone,
    /// Nothing before; an interval counts from it.
    pub start: Option<Moment>,
    /// Nothing after.
    pub end: Option<Moment>,
    /// Puts off what is due by up to this much; nothing to leave it as it is.
    pub jitter: Option<Duration>,
}

/// What makes it due.
#[derive(Debug, Clone, PartialEq)]
pub enum When {
    /// Fields of clock and calendar.
    Cron(CronFields),
    /// Equal steps.
    Interval(Duration),
    /// One moment; now if it is not given.
    Date(Option<Moment>),
}

impl Trigger {
    /// Makes the schedule due by it. `now` is the first due time of a date that was not given, and an interval without a
    /// start begins one step after it.
    pub(super) fn apply(&self, schedule: &mut Schedule, now: Timestamp) -> Result<(), Wrong> {
        schedule.trigger = match &self.when {
            When::Cron(fields) => Due::Cron(fields.expression()?),
            When::Interval(every) => Due::Every(*every),
            When::Date(at) => Due::At(at.as_ref().map_or(now, |moment| moment.at)),
        };
        schedule.timezone = self.zone.clone();
        schedule.start = self.start(now).map(|moment| moment.at);
        schedule.end = self.end.as_ref().map(|moment| moment.at);
        schedule.jitter = self.jitter.unwrap_or(schedule.jitter);
        rules::bounds(schedule.start, schedule.end).map_err(|_| {
            Wrong::new("end_date", "is not after start_date: the job would never run; give a later one, or take it out")
        })
    }

    fn start(&self, now: Timestamp) -> Option<Moment> {
        match (&self.when, &self.start) {
            (When::Interval(every), None) => Some(Moment::on(&self.zone, now.checked_add(*every).ok()?)),
            (_, start) => start.clone(),
        }
    }

    /// Its members as the original shows them, applied at `now`.
    pub(super) fn shown(&self, now: Timestamp) -> Map<String, Value> {
        let mut members = Map::new();
        let mut add = |name: &str, value: Value| drop(members.insert(name.to_owned(), value));
        match &self.when {
            When::Cron(_) => add("trigger", "cron".into()),
            When::Interval(_) => add("trigger", "interval".into()),
            When::Date(at) => {
                add("trigger", "date".into());
                let at = at.clone().unwrap_or_else(|| Moment::on(&self.zone, now));
                add("run_date", at.shown.into());
            }
        }
        for (name, moment) in [("start_date", self.start(now)), ("end_date", self.end.clone())] {
            if let Some(moment) = moment {
                add(name, moment.shown.into());
            }
        }
        match &self.when {
            When::Cron(fields) => fields.shown().for_each(|(name, text)| add(name, text.into())),
            When::Interval(every) => spans(*every).for_each(|(name, number)| add(name, number.into())),
            When::Date(_) => {}
        }
        members
    }
}

/// Units of an interval, with their seconds.
pub(super) const UNITS: [(&str, u64); 5] =
    [("weeks", 604_800), ("days", 86_400), ("hours", 3600), ("minutes", 60), ("seconds", 1)];

/// An interval in the units of which it has any. What is finer than a second the original does not show either.
pub(super) fn spans(every: Duration) -> impl Iterator<Item = (&'static str, u64)> {
    let mut rest = every.as_secs();
    UNITS.into_iter().filter_map(move |(unit, seconds)| {
        let number = rest / seconds;
        rest %= seconds;
        (number > 0).then_some((unit, number))
    })
}

/// An interval of so many microseconds; none at all is a second, as in the original.
pub(super) fn interval(micros: i128, now: Timestamp) -> Result<When, Wrong> {
    let wrong = |why: &str| Err(Wrong::new("trigger", format!("the interval {why}")));
    if micros == 0 {
        return Ok(When::Interval(Duration::from_secs(1)));
    }
    if micros % 1000 != 0 {
        return wrong("is finer than a millisecond, which is the finest here");
    }
    let Ok(milliseconds) = u64::try_from(micros / 1000) else { return wrong("is negative, or too long") };
    let every = duration::interval(&format!("{milliseconds}ms"), now.as_microsecond());
    every.map(When::Interval).map_err(|why| Wrong::new("trigger", format!("the interval {why}")))
}

/// A jitter of so many seconds.
pub(super) fn jitter(seconds: f64) -> Result<Duration, Wrong> {
    let span = Duration::try_from_secs_f64(seconds).ok().filter(|span| *span <= duration::LONGEST);
    let rounded = span.map(|span| Duration::from_millis(u64::try_from(span.as_millis()).unwrap_or(u64::MAX)));
    rounded.ok_or_else(|| Wrong::new("jitter", format!("is a number of seconds from 0 up, not {seconds}")))
}
