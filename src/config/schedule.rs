//! `[schedules.*]`: what fires and by which policies. When it is due is `trigger`'s.

mod definition;
pub mod rules;
pub mod wanted;

use std::time::Duration;

pub use definition::Definition;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::model::time::Micros;
use crate::trigger::{Cron, Kind, Timer, Zone};

/// `[schedules.NAME]`
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    /// The name, as in the section's title.
    pub name: String,
    /// What it fires.
    pub task: String,
    /// When it fires.
    pub trigger: Trigger,
    /// The zone on whose clocks `cron` is read.
    pub timezone: Zone,
    /// JSON, for a task without a source.
    pub payload: Option<String>,
    /// Nothing before this instant.
    pub start: Option<jiff::Timestamp>,
    /// Nothing after this instant.
    pub end: Option<jiff::Timestamp>,
    /// Puts off the entry's `run_at`.
    pub jitter: Duration,
    /// What becomes of missed due times.
    pub misfire: Misfire,
    /// Missed longer ago than this is not made up.
    pub misfire_grace: Option<Duration>,
    /// What becomes of a due time while the last one's work goes on.
    pub overlap: Overlap,
}

impl Schedule {
    /// A schedule with every policy at its default.
    pub fn new(name: impl Into<String>, task: impl Into<String>, trigger: Trigger) -> Self {
        Self {
            name: name.into(),
            task: task.into(),
            trigger,
            timezone: Zone::utc(),
            payload: None,
            start: None,
            end: None,
            jitter: Duration::ZERO,
            misfire: Misfire::default(),
            misfire_grace: None,
            overlap: Overlap::default(),
        }
    }

    /// When it is due. An interval counts from `start`, which is itself due, else from the instant `first_seen`.
    pub fn timer(&self, first_seen: Micros) -> Timer {
        let start = self.start.map(jiff::Timestamp::as_microsecond);
        let kind = match &self.trigger {
            Trigger::Every(every) => Kind::Every { anchor: start.unwrap_or(first_seen), every: *every },
            Trigger::Cron(cron) => Kind::Cron { cron: cron.clone(), zone: self.timezone.clone() },
            Trigger::At(moment) => Kind::At(moment.as_microsecond()),
        };
        Timer { kind, start, end: self.end.map(jiff::Timestamp::as_microsecond) }
    }
}

/// One of `every`, `cron`, `at`.
#[derive(Debug, Clone, PartialEq)]
pub enum Trigger {
    /// An interval, at least 100 ms.
    Every(Duration),
    /// A cron expression.
    Cron(Cron),
    /// A moment.
    At(jiff::Timestamp),
}

/// `misfire = …`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Misfire {
    /// The newest missed fires.
    #[default]
    Once,
    /// None does.
    Skip,
    /// Each of the newest 1000 does.
    All,
}

/// `overlap = …`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Overlap {
    /// The due time is skipped.
    #[default]
    Skip,
    /// One waits.
    Queue,
    /// It runs beside the other.
    Allow,
}
