//! When a schedule is due: intervals, cron expressions and moments as pure functions of time.
//!
//! Owns the rules of triggers and their reading in words. Must not know a clock, a database or the configuration.

pub mod cron;
pub mod interval;
mod moved;
pub mod words;
mod zone;

use std::time::Duration;

use jiff::Timestamp;

use crate::model::time::Micros;

pub use cron::{Cron, CronError};
pub use moved::{Moved, moved};
pub use zone::{Zone, ZoneError};

/// The shortest interval: what is due more often is a loop of your own.
pub const SHORTEST: Duration = Duration::from_millis(100);

/// A trigger with its bounds.
#[derive(Debug, Clone, PartialEq)]
pub struct Timer {
    /// What makes it due.
    pub kind: Kind,
    /// Nothing is due before this instant.
    pub start: Option<Micros>,
    /// Nothing is due after this instant.
    pub end: Option<Micros>,
}

/// What makes a schedule due.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// Elapsed time, counted from an anchor that is itself due.
    Every {
        /// The first due time.
        anchor: Micros,
        /// From one due time to the next.
        every: Duration,
    },
    /// A cron expression on the clocks of a zone.
    Cron {
        /// The expression.
        cron: Cron,
        /// Whose clocks are meant.
        zone: Zone,
    },
    /// One moment.
    At(Micros),
}

impl Timer {
    /// A trigger without bounds.
    pub fn new(kind: Kind) -> Self {
        Self { kind, start: None, end: None }
    }

    /// The first due time strictly later than `after`, within the bounds; `None` if there is none up to the year 9999.
    pub fn next(&self, after: Micros) -> Option<Micros> {
        let after = self.start.map_or(after, |start| after.max(start.saturating_sub(1)));
        let next = match &self.kind {
            Kind::Every { anchor, every } => interval::next(*anchor, *every, after),
            Kind::Cron { cron, zone } => cron.next(zone, after),
            Kind::At(moment) => (*moment > after).then_some(*moment),
        };
        next.filter(|at| self.end.is_none_or(|end| *at <= end))
    }
}

/// The last instant that a trigger can name: the end of the year 9999.
pub fn last_instant() -> Micros {
    Timestamp::MAX.as_microsecond()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::model::time::SECOND;

    const HOUR: Micros = 3600 * SECOND;

    #[test]
    fn bounds_are_inclusive() {
        let hourly = Kind::Cron { cron: Cron::parse("0 * * * *").unwrap(), zone: Zone::utc() };
        let timer = Timer { kind: hourly, start: Some(2 * HOUR), end: Some(3 * HOUR) };
        assert_eq!(timer.next(Micros::MIN), Some(2 * HOUR));
        assert_eq!(timer.next(2 * HOUR), Some(3 * HOUR));
        assert_eq!(timer.next(3 * HOUR), None);
        let late = Timer { start: Some(2 * HOUR + 1), ..timer };
        assert_eq!(late.next(0), Some(3 * HOUR));
    }

    #[test]
    fn an_interval_keeps_its_grid_behind_a_later_start() {
        let kind = Kind::Every { anchor: HOUR, every: Duration::from_secs(3600) };
        assert_eq!(Timer::new(kind.clone()).next(0), Some(HOUR));
        let bounded = Timer { start: Some(HOUR + 1), ..Timer::new(kind) };
        assert_eq!(bounded.next(0), Some(2 * HOUR));
    }

    #[test]
    fn a_moment_is_due_once() {
        let timer = Timer::new(Kind::At(HOUR));
        assert_eq!((timer.next(HOUR - 1), timer.next(HOUR)), (Some(HOUR), None));
        assert_eq!(Timer { end: Some(HOUR - 1), ..timer.clone() }.next(0), None);
        assert_eq!(Timer { start: Some(HOUR + 1), ..timer }.next(0), None);
    }
}
