//! Sums of attempts, with waits and runs in buckets: what status and metrics count.

use super::time::{Micros, SECOND};

/// Upper ends of the buckets of waits and runs, in microseconds; a last bucket takes the rest.
pub const BUCKETS: [Micros; 17] = [
    1_000,
    2_000,
    5_000,
    10_000,
    20_000,
    50_000,
    100_000,
    200_000,
    500_000,
    SECOND,
    2 * SECOND,
    5 * SECOND,
    10 * SECOND,
    30 * SECOND,
    60 * SECOND,
    300 * SECOND,
    1800 * SECOND,
];

/// How an attempt ended, as far as sums go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Completed.
    Completed,
    /// To be tried again.
    Retried,
    /// Failed for good.
    Failed,
    /// Handed back: not counted.
    Uncounted,
}

/// One attempt, for the sums.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// When it started, on the database's clock.
    pub started_at: Micros,
    /// From due to start.
    pub wait: Micros,
    /// From start to end.
    pub run: Micros,
    /// How it ended.
    pub end: End,
}

/// What happened to a task in one minute.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sums {
    /// Attempts started.
    pub started: i64,
    /// Attempts that completed their entry.
    pub completed: i64,
    /// Attempts after which the entry is tried again.
    pub retried: i64,
    /// Attempts that failed their entry for good.
    pub failed: i64,
    /// Waits by bucket.
    pub waits: [i64; BUCKETS.len() + 1],
    /// Runs by bucket.
    pub runs: [i64; BUCKETS.len() + 1],
}

impl Sums {
    /// Adds one attempt.
    pub fn note(&mut self, sample: &Sample) {
        let bucket = |span: Micros| BUCKETS.iter().position(|end| span <= *end).unwrap_or(BUCKETS.len());
        self.started += 1;
        match sample.end {
            End::Completed => self.completed += 1,
            End::Retried => self.retried += 1,
            End::Failed => self.failed += 1,
            End::Uncounted => {}
        }
        self.waits[bucket(sample.wait)] += 1;
        self.runs[bucket(sample.run)] += 1;
    }
}
