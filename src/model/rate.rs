//! A rate of starts, spread evenly: how many may start now, and when the next may. Pure.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::time::{Micros, SECOND};

/// Starts that were left out in so long may be made up: nobody looks at the very instant at which one is allowed. It
/// is also what may start at once after a rest, and one more.
const SLACK: Micros = SECOND / 10;

/// So many starts in such a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rate {
    /// How many, at least 1.
    pub starts: i64,
    /// In how long, in microseconds.
    pub span: Micros,
}

impl Rate {
    /// How many may start now; `next` is when the next may, if that was said before.
    pub fn room(self, next: Option<Micros>, now: Micros) -> usize {
        let from = self.from(next, now);
        if from > now {
            return 0;
        }
        let due = i128::from(now - from) * i128::from(self.starts) / i128::from(self.span.max(1));
        usize::try_from(due).unwrap_or(usize::MAX).saturating_add(1)
    }

    /// When the next may start once so many have started now.
    pub fn next(self, next: Option<Micros>, now: Micros, started: usize) -> Micros {
        self.from(next, now).saturating_add(self.span_of(started))
    }

    /// How long so many starts take.
    pub fn span_of(self, starts: usize) -> Micros {
        let starts = i128::try_from(starts).unwrap_or(i128::MAX);
        let of = i128::from(self.starts.max(1));
        let span = (starts.saturating_mul(i128::from(self.span)).saturating_add(of - 1)) / of;
        Micros::try_from(span).unwrap_or(Micros::MAX)
    }

    /// Later than one start from now it is only if the clock was set back, or the rate was another.
    fn from(self, next: Option<Micros>, now: Micros) -> Micros {
        let earliest = now.saturating_sub(SLACK);
        next.unwrap_or(earliest).clamp(earliest, now.saturating_add(self.span_of(1)))
    }
}

impl Rate {
    /// For a sentence: `100 a second`.
    pub fn in_words(self) -> String {
        let unit = match self.span / SECOND {
            1 => "a second",
            60 => "a minute",
            3600 => "an hour",
            86_400 => "a day",
            _ => return self.to_string(),
        };
        format!("{} {unit}", self.starts)
    }
}

impl fmt::Display for Rate {
    /// As in the configuration: `100/s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = match self.span / SECOND {
            1 => "s",
            60 => "m",
            3600 => "h",
            86_400 => "d",
            seconds => return write!(f, "{} in {seconds} s", self.starts),
        };
        write!(f, "{}/{unit}", self.starts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Micros = 1_800_000_000 * SECOND;

    /// Starts all that may whenever it looks, which is every `step`; what started when, in microseconds from `NOW`.
    fn starts(rate: Rate, step: Micros, until: Micros) -> Vec<Micros> {
        let (mut next, mut all) = (None, Vec::new());
        for at in (0..until).step_by(usize::try_from(step).unwrap_or(1)) {
            let room = rate.room(next, NOW + at);
            all.extend(std::iter::repeat_n(at, room));
            next = Some(rate.next(next, NOW + at, room));
        }
        all
    }

    #[test]
    fn it_is_kept_whatever_the_step() {
        for (count, step, most) in
            [(10, 1000, 2), (10, 70_000, 2), (100, 20_000, 11), (1000, 20_000, 101), (3, 7000, 1)]
        {
            let all = starts(Rate { starts: count, span: SECOND }, step, 10 * SECOND);
            let expected = usize::try_from(count).unwrap_or(0) * 10;
            assert!(all.len() >= expected && all.len() <= expected + most, "{count}/s, {step}: {}", all.len());
            let at_once = all.iter().filter(|at| **at == 0).count();
            assert_eq!(at_once, most, "{count}/s");
            let in_a_second = |from: Micros| all.iter().filter(|at| (from..from + SECOND).contains(*at)).count();
            let busiest = all.iter().map(|at| in_a_second(*at)).max().unwrap_or(0);
            assert!(busiest <= expected / 10 + most, "{count}/s, {step}: {busiest}");
        }
    }

    #[test]
    fn rare_starts_come_one_by_one() {
        let daily = Rate { starts: 1, span: 86_400 * SECOND };
        assert_eq!(daily.room(None, NOW), 1);
        let next = daily.next(None, NOW, 1);
        assert!(next > NOW + 86_300 * SECOND);
        assert_eq!((daily.room(Some(next), next - 1), daily.room(Some(next), next)), (0, 1));
        assert_eq!((daily.to_string().as_str(), daily.in_words().as_str()), ("1/d", "1 a day"));
    }

    #[test]
    fn a_clock_that_was_set_back_stops_nothing() {
        let rate = Rate { starts: 10, span: SECOND };
        assert_eq!(rate.room(Some(NOW + 3600 * SECOND), NOW), 0);
        assert_eq!(rate.next(Some(NOW + 3600 * SECOND), NOW, 0), NOW + SECOND / 10);
    }

    #[test]
    fn extremes_overflow_nowhere() {
        let rate = Rate { starts: 1_000_000, span: SECOND };
        assert_eq!(rate.span_of(usize::MAX), Micros::MAX);
        assert_eq!(rate.room(Some(Micros::MIN), NOW), 100_001);
        assert!(Rate { starts: 1, span: 86_400 * SECOND }.next(None, NOW, usize::MAX) == Micros::MAX);
    }
}
