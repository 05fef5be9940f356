//! Intervals: a grid of equal steps from an anchor. Elapsed time, whatever clocks on walls do.

use std::time::Duration;

use super::last_instant;
use crate::model::time::Micros;

/// The first of `anchor`, `anchor + every`, `anchor + 2 × every`, … strictly later than `after`; `None` past the year
/// 9999, and for an `every` under a microsecond.
pub fn next(anchor: Micros, every: Duration, after: Micros) -> Option<Micros> {
    let step = step(every)?;
    let at = i128::from(anchor) + reached(anchor, step, after) * step;
    Micros::try_from(at).ok().filter(|at| *at <= last_instant())
}

/// How many points of the grid are later than `after` and not later than `until`.
pub fn count(anchor: Micros, every: Duration, after: Micros, until: Micros) -> u64 {
    let Some(step) = step(every) else { return 0 };
    let points = reached(anchor, step, until) - reached(anchor, step, after);
    u64::try_from(points).unwrap_or_default()
}

fn step(every: Duration) -> Option<i128> {
    i128::try_from(every.as_micros()).ok().filter(|step| *step > 0)
}

/// How many points of the grid are not later than `at`.
fn reached(anchor: Micros, step: i128, at: Micros) -> i128 {
    match i128::from(at) - i128::from(anchor) {
        ..0 => 0,
        passed => passed / step + 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn the_anchor_is_the_first_point() {
        assert_eq!(next(1000, MINUTE, Micros::MIN), Some(1000));
        assert_eq!(next(1000, MINUTE, 999), Some(1000));
        assert_eq!(next(1000, MINUTE, 1000), Some(60_001_000));
        assert_eq!(count(1000, MINUTE, 999, 1000), 1);
        assert_eq!(count(1000, MINUTE, 1000, 60_000_999), 0);
        assert_eq!(count(1000, MINUTE, 0, 60_001_000), 2);
        assert_eq!(count(1000, MINUTE, 5000, 0), 0);
    }

    #[test]
    fn nothing_overflows() {
        assert_eq!(next(0, Duration::MAX, 0), None);
        assert_eq!(next(0, MINUTE, Micros::MAX), None);
        assert_eq!(next(Micros::MAX, MINUTE, Micros::MIN), None);
        assert_eq!(next(Micros::MIN, MINUTE, Micros::MIN), Some(Micros::MIN + 60_000_000));
        assert_eq!(next(0, Duration::ZERO, 0), None);
        assert_eq!(count(Micros::MIN, Duration::from_micros(1), Micros::MIN, Micros::MAX), u64::MAX);
        assert_eq!(count(0, Duration::ZERO, 0, 1), 0);
    }
}
