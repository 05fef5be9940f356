//! What a change of clocks did to a due time, so that it can be said beside it.

use std::fmt;

use super::cron::{Cron, LONGEST_GAP};
use super::zone::Zone;
use crate::model::time::{Micros, SECOND};

/// What a change of clocks did to a due time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Moved {
    /// The local time that was meant, such as `02:30`, does not exist: it comes at the first instant after.
    Gap(String),
    /// This local time comes twice, and this is the first pass.
    FirstPass(String),
    /// This local time comes twice, and this is the second pass.
    SecondPass(String),
}

/// What a change of clocks did to the due time `at` of `cron`; `None` on most days.
pub fn moved(cron: &Cron, zone: &Zone, at: Micros) -> Option<Moved> {
    let second = at.div_euclid(SECOND);
    let period = zone.period(second);
    let local = second + period.offset;
    if let Some((since, before)) = period.since {
        let gap = period.offset - before;
        if second < since - gap {
            return Some(Moved::SecondPass(clock(local)));
        }
        let missing = cron.next_local(since + before).filter(|missing| *missing < since + period.offset);
        if let Some(missing) = missing.filter(|_| second == since && gap <= LONGEST_GAP && !cron.real_time) {
            return Some(Moved::Gap(clock(missing)));
        }
    }
    let until = period.until?;
    let again = second + period.offset - zone.period(until).offset;
    (again >= until && second < until).then(|| Moved::FirstPass(clock(local)))
}

/// A local time as a clock shows it.
fn clock(local: i64) -> String {
    let time = local.rem_euclid(86_400);
    let (hour, minute, second) = (time / 3600, time / 60 % 60, time % 60);
    let seconds = if second == 0 { String::new() } else { format!(":{second:02}") };
    format!("{hour:02}:{minute:02}{seconds}")
}

impl fmt::Display for Moved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gap(time) => write!(f, "{time} does not exist that day: clocks go forward"),
            Self::FirstPass(time) => write!(f, "{time} comes twice that day: this is the first"),
            Self::SecondPass(time) => write!(f, "{time} comes twice that day: this is the second"),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn said(cron: &str, zone: &str, after: &str) -> Vec<String> {
        let (cron, zone) = (Cron::parse(cron).unwrap(), Zone::get(zone).unwrap());
        let mut at = after.parse::<jiff::Timestamp>().unwrap().as_microsecond();
        let next = || {
            at = cron.next(&zone, at).unwrap();
            moved(&cron, &zone, at).map(|moved| moved.to_string()).unwrap_or_default()
        };
        std::iter::repeat_with(next).take(3).collect()
    }

    #[test]
    fn a_due_time_says_what_became_of_it() {
        let spring = said("30 2 * * *", "Europe/Berlin", "2025-03-28T12:00:00Z");
        assert_eq!(spring, ["", "02:30 does not exist that day: clocks go forward", ""]);
        let autumn = said("30 2 * * *", "Europe/Berlin", "2025-10-24T12:00:00Z");
        assert_eq!(autumn, ["", "02:30 comes twice that day: this is the first", ""]);
        let both = said("0 * * * *", "Europe/Berlin", "2025-10-25T23:30:00Z");
        let passes =
            ["02:00 comes twice that day: this is the first", "02:00 comes twice that day: this is the second", ""];
        assert_eq!(both, passes);
        // Real time loses nothing in a gap, and a change of calendar moves nothing.
        assert_eq!(said("0 * * * *", "Europe/Berlin", "2025-03-30T00:30:00Z"), ["", "", ""]);
        assert_eq!(said("0 0 * * *", "Pacific/Apia", "2011-12-30T09:30:00Z"), ["", "", ""]);
    }
}
