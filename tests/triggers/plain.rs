//! A second evaluator, as plain as can be: it looks at every minute or second of a window, one after the other. It
//! shares no code with the first, and knows only the forms of fields that the walk uses.

use std::collections::BTreeSet;

use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};
use jiff::{Timestamp, ToSpan};

/// An expression of lists of `*`, `n`, `a-b`, `*/s` and `L`.
pub struct Plain {
    pub text: &'static str,
    fields: Vec<Vec<bool>>,
    last_day: bool,
    both_days: bool,
    real_time: bool,
}

/// A stretch of time in a zone, looked at step by step.
pub struct Window {
    from: Timestamp,
    to: Timestamp,
    /// Each instant with what clocks show.
    instants: Vec<(Timestamp, DateTime)>,
    /// Each time of clocks, whether it exists or not, with some to spare.
    walls: Vec<DateTime>,
}

impl Window {
    /// Later than `from` and not later than `to`, both on whole minutes; `step` in seconds.
    pub fn new(zone: &TimeZone, from: Timestamp, to: Timestamp, step: usize) -> Self {
        let steps = |from: i64, to: i64| (from..=to).step_by(step).map(|at| Timestamp::from_second(at).unwrap());
        let as_if_utc = |at| Offset::UTC.to_timestamp(zone.to_datetime(at)).unwrap().as_second();
        let instants = steps(from.as_second() + step as i64, to.as_second());
        let spare = if step == 60 { 86_400 } else { 3 * 3600 };
        let walls = steps(as_if_utc(from) - spare, as_if_utc(to) + spare);
        Self {
            from,
            to,
            instants: instants.map(|at| (at, zone.to_datetime(at))).collect(),
            walls: walls.map(|at| Offset::UTC.to_datetime(at)).collect(),
        }
    }
}

impl Plain {
    pub fn new(text: &'static str) -> Self {
        let mut fields: Vec<&str> = text.split(' ').collect();
        if fields.len() == 5 {
            fields.insert(0, "0");
        }
        let bounds = [(0, 59), (0, 59), (0, 23), (1, 31), (1, 12), (0, 6)];
        let sets = fields.iter().zip(bounds).map(|(field, (low, high))| set(field, low, high)).collect();
        Self {
            text,
            fields: sets,
            last_day: fields[3] == "L",
            both_days: fields[3].starts_with('*') || fields[5].starts_with('*'),
            real_time: fields[..3].iter().any(|field| field.starts_with('*')),
        }
    }

    fn matches(&self, at: DateTime) -> bool {
        let has = |field: usize, number: i8| self.fields[field][number as usize];
        let date = has(3, at.day()) || self.last_day && at.day() == at.days_in_month();
        let weekday = has(5, at.weekday().to_sunday_zero_offset());
        let day = if self.both_days { date && weekday } else { date || weekday };
        day && has(0, at.second()) && has(1, at.minute()) && has(2, at.hour()) && has(4, at.month())
    }

    /// Every due time in the window, in order.
    pub fn due(&self, zone: &TimeZone, window: &Window) -> Vec<Timestamp> {
        if self.real_time {
            let matching = window.instants.iter().filter(|(_, clock)| self.matches(*clock));
            return matching.map(|(at, _)| *at).collect();
        }
        let matching = window.walls.iter().filter(|wall| self.matches(**wall));
        let due: BTreeSet<Timestamp> = matching.filter_map(|wall| on_the_wall(zone, *wall)).collect();
        due.into_iter().filter(|at| *at > window.from && *at <= window.to).collect()
    }
}

/// When a clock on the wall first shows this time, or the first instant after the gap that swallowed it.
fn on_the_wall(zone: &TimeZone, wall: DateTime) -> Option<Timestamp> {
    match zone.to_ambiguous_timestamp(wall).offset() {
        AmbiguousOffset::Unambiguous { offset } => offset.to_timestamp(wall).ok(),
        AmbiguousOffset::Fold { before, .. } => before.to_timestamp(wall).ok(),
        AmbiguousOffset::Gap { before, after } => {
            if after.seconds() - before.seconds() > 3 * 3600 {
                return None;
            }
            let mut at = before.to_timestamp(wall).ok()?;
            while zone.to_offset(at - 1.second()) == after {
                at -= 1.second();
            }
            Some(at)
        }
    }
}

fn set(field: &str, low: usize, high: usize) -> Vec<bool> {
    let mut set = vec![false; high + 1];
    for item in field.split(',').filter(|item| *item != "L") {
        let (range, step) = item.split_once('/').unwrap_or((item, "1"));
        let (first, last) = match range.split_once('-') {
            Some((first, last)) => (first.parse().unwrap(), last.parse().unwrap()),
            None if range == "*" => (low, high),
            None => (range.parse().unwrap(), range.parse().unwrap()),
        };
        for number in (first..=last).step_by(step.parse().unwrap()) {
            set[number] = true;
        }
    }
    set
}
