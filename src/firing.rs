//! What becomes of due times: which fire, which are skipped, which were missed. Pure: no database, no clock.
//!
//! Owns the rules of misfire, grace, overlap and jitter; when a time is due at all is the trigger's business, and that a
//! due time fires once is the store's.

mod decide;
mod give_up;
mod jitter;
#[cfg(test)]
mod tests;
mod walk;

pub use decide::{Decision, Item, Situation, Work, decide, missed_before};
pub use give_up::give_up;
pub use jitter::offset;

use crate::config::schedule::Schedule;
use crate::model::time::Micros;
use crate::trigger::{Kind, Timer};

/// Whether a due time fired, and if not, why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Its entry or sweep was made.
    Fired,
    /// It was found in time and left out.
    Skipped,
    /// It was found too late and not made up.
    Missed,
}

impl Outcome {
    /// As the database and the API have it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Fired => "fired",
            Self::Skipped => "skipped",
            Self::Missed => "missed",
        }
    }
}

/// The first due time of a schedule that is new or has changed at `now`, after those that were decided already.
///
/// A moment comes even if it is past, once; of a grid only what is still to come.
pub fn first_due(timer: &Timer, now: Micros, decided_until: Option<Micros>) -> Option<Micros> {
    match timer.kind {
        Kind::At(moment) if decided_until == Some(moment) => None,
        Kind::At(moment) => timer.next(moment - 1),
        _ => timer.next(decided_until.map_or(now, |until| until.max(now))),
    }
}

/// True if both are due at the same times, whatever else differs.
pub fn is_due_alike(one: &Schedule, other: &Schedule) -> bool {
    one.trigger == other.trigger && one.timezone == other.timezone && one.start == other.start && one.end == other.end
}
