//! A walk over due times that were missed, however many: which are passed over, which are the newest.

use std::time::Duration;

use crate::model::time::{Micros, micros};
use crate::trigger::{Kind, Timer, interval};

/// Due times that one decision looks at, at most: the next goes on where it ends.
pub(super) const MOST: usize = 20_000;

/// A run of due times: the first, the last, how many.
pub(super) type Run = (Micros, Micros, u64);

/// The due times from `next` to `last`: a run of those that are passed over, the newest `wanted` of them, and the due
/// time after. Nothing if there is none. If one walk does not reach `last`, none of those is the newest yet.
pub(super) fn walk(
    timer: &Timer,
    next: Option<Micros>,
    last: Micros,
    wanted: usize,
) -> Option<(Option<Run>, Vec<Micros>, Option<Micros>)> {
    let first = next.filter(|due| *due <= last)?;
    let mut passed: Option<Run> = None;
    let mut due = Some(first);
    if let Kind::Every { anchor, every } = timer.kind {
        // By arithmetic: a fast interval may have been down for years.
        let behind = micros(every.saturating_mul(u32::try_from(wanted).unwrap_or(u32::MAX)));
        let end = timer.end.map_or(last, |end| end.min(last));
        let until = last_point(anchor, every, end.saturating_sub(behind)).filter(|until| *until >= first);
        if let Some(until) = until {
            passed = Some((first, until, interval::count(anchor, every, first - 1, until)));
            due = timer.next(until);
        }
    }
    let mut newest = Vec::new();
    while let Some(at) = due.filter(|at| *at <= last) {
        if newest.len() == MOST + wanted {
            due = newest.get(MOST).copied().or(due);
            newest.truncate(MOST);
            let run = (newest.first().copied()?, newest.last().copied()?, MOST as u64);
            return Some((Some(run), Vec::new(), due));
        }
        newest.push(at);
        due = timer.next(at);
    }
    let before = newest.len().saturating_sub(wanted);
    let kept = newest.split_off(before);
    if let (Some(from), Some(until)) = (newest.first(), newest.last()) {
        let run = passed.get_or_insert((*from, *until, 0));
        *run = (run.0, *until, run.2 + newest.len() as u64);
    }
    Some((passed, kept, due))
}

/// The newest point of a grid that is not later than `at`.
fn last_point(anchor: Micros, every: Duration, at: Micros) -> Option<Micros> {
    let points = interval::count(anchor, every, anchor.saturating_sub(1), at).checked_sub(1)?;
    anchor.checked_add(micros(every).checked_mul(Micros::try_from(points).ok()?)?)
}
