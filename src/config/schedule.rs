//! `[schedules.*]`: read and checked for form here; triggers are evaluated elsewhere.

use std::time::Duration;

/// `[schedules.NAME]`
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    /// The name, as in the section's title.
    pub name: String,
    /// What it fires.
    pub task: String,
    /// When it fires.
    pub trigger: Trigger,
    /// IANA name of the zone in which `cron` is read.
    pub timezone: String,
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
            timezone: "UTC".into(),
            payload: None,
            start: None,
            end: None,
            jitter: Duration::ZERO,
            misfire: Misfire::default(),
            misfire_grace: None,
            overlap: Overlap::default(),
        }
    }
}

/// One of `every`, `cron`, `at`.
#[derive(Debug, Clone, PartialEq)]
pub enum Trigger {
    /// An interval, at least 100 ms.
    Every(Duration),
    /// A cron expression, as typed.
    Cron(String),
    /// A moment.
    At(jiff::Timestamp),
}

/// `misfire = …`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overlap {
    /// The due time is skipped.
    #[default]
    Skip,
    /// One waits.
    Queue,
    /// It runs beside the other.
    Allow,
}
