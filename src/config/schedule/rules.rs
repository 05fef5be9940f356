//! The rules of a schedule that its fields do not carry in themselves: which go together, how long an interval may be.
//! Where a wrong one stands is the reader's.

use std::time::Duration;

use jiff::Timestamp;

use super::{Misfire, Overlap, Schedule, Trigger};
use crate::config::duration;
use crate::config::plain::Wrong;
use crate::model::time::Micros;

/// The fields that say when it fires.
pub const TRIGGERS: [&str; 3] = ["every", "cron", "at"];

/// What is wrong without any of them.
pub const NO_TRIGGER: &str = "nothing says when it fires";

/// What would be right.
pub const ONE_TRIGGER: &str = "exactly one of every = \"4h\", cron = \"0 3 * * *\", at = \"2027-01-01T00:00:00Z\"";

/// The words of `misfire`.
pub const MISFIRES: [(&str, Misfire); 3] = [("once", Misfire::Once), ("skip", Misfire::Skip), ("all", Misfire::All)];

/// The words of `overlap`.
pub const OVERLAPS: [(&str, Overlap); 3] =
    [("skip", Overlap::Skip), ("queue", Overlap::Queue), ("allow", Overlap::Allow)];

/// What is wrong with two of them.
pub fn two_triggers(one: &str, other: &str) -> String {
    format!("the schedule has two triggers, “{one}” and “{other}”")
}

/// An interval longer than this has its first due time past the year 9999.
pub fn longest_interval() -> Duration {
    let left = Timestamp::MAX.duration_since(Timestamp::now());
    let days = u64::try_from(left.as_secs()).unwrap_or_default() / 86_400;
    Duration::from_secs(days * 86_400)
}

/// That the end comes after the start; it is the end that is wrong otherwise.
pub fn bounds(start: Option<Timestamp>, end: Option<Timestamp>) -> Result<(), Wrong> {
    match (start, end) {
        (Some(start), Some(end)) if end <= start => {
            let help = "the schedule would never fire: give a later end, or take it out";
            Err(Wrong { reason: "is not after “start”".into(), help: help.into() })
        }
        _ => Ok(()),
    }
}

/// That it fires at all, and that jitter leaves each due time before the next; the field that is wrong otherwise.
pub fn fires(schedule: &Schedule) -> Result<(), (&'static str, Wrong)> {
    let never = |field, reason: &str, help: &str| {
        let help = format!("the schedule would never fire: {help}");
        Err((field, Wrong { reason: reason.into(), help }))
    };
    let Schedule { trigger, start, end, jitter, .. } = schedule;
    bounds(*start, *end).map_err(|wrong| ("end", wrong))?;
    // Bounded on both sides no clock is needed to know.
    if let (Trigger::Cron(_), Some(start), Some(_)) = (trigger, start, end)
        && schedule.timer(start.as_microsecond()).next(Micros::MIN).is_none()
    {
        return never("end", "is before the first due time after “start”", "give a later end");
    }
    match trigger {
        Trigger::At(at) if start.is_some_and(|start| *at < start) => {
            never("at", "is before “start”", "give a later moment, or take “start” out")
        }
        Trigger::At(at) if end.is_some_and(|end| *at > end) => {
            never("at", "is after “end”", "give an earlier moment, or take “end” out")
        }
        Trigger::Every(every) if jitter > every => {
            let help = format!("entries would pile up: at most the interval, {}", duration::format(*every));
            Err(("jitter", Wrong { reason: "is longer than the interval".into(), help }))
        }
        _ => Ok(()),
    }
}
