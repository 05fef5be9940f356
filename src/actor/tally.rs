//! Sums per task and minute, kept in memory and written now and then: the figures of status and metrics.
//!
//! What a killed node had not yet written is missing from the sums; nothing else depends on them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::model::time::{Micros, SECOND};

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

#[derive(Default)]
struct Minutes {
    by_minute: HashMap<(Micros, String), (Sums, bool)>,
}

/// The sums of this process; cheap to clone.
#[derive(Clone, Default)]
pub struct Tally(Arc<Mutex<Minutes>>);

impl Tally {
    /// Adds attempts of one task.
    pub fn add(&self, task: &str, samples: impl IntoIterator<Item = Sample>) {
        let mut minutes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut current: Option<(Micros, Sums)> = None;
        for sample in samples {
            if sample.end == End::Uncounted {
                continue;
            }
            let minute = (sample.started_at + sample.run).div_euclid(60 * SECOND) * 60 * SECOND;
            match &mut current {
                Some((at, sums)) if *at == minute => sums.note(&sample),
                _ => {
                    minutes.merge(task, current.take());
                    let mut sums = Sums::default();
                    sums.note(&sample);
                    current = Some((minute, sums));
                }
            }
        }
        minutes.merge(task, current);
    }

    /// Totals that changed since the last call; minutes long past are forgotten once told.
    pub fn take_changed(&self) -> Vec<(Micros, String, Sums)> {
        let mut minutes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let newest = minutes.by_minute.keys().map(|(minute, _)| *minute).max().unwrap_or(0);
        let mut changed = Vec::new();
        minutes.by_minute.retain(|(minute, task), (sums, dirty)| {
            if std::mem::take(dirty) {
                changed.push((*minute, task.clone(), sums.clone()));
            }
            // An attempt that ended hours ago can still come in late; its minute then starts anew and would overwrite
            // what was written, so a minute is kept for as long as one may.
            *minute > newest - 7200 * SECOND
        });
        changed
    }

    /// Takes back that these were written, so that they are told again.
    pub fn put_back(&self, changed: &[(Micros, String, Sums)]) {
        let mut minutes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (minute, task, _) in changed {
            if let Some((_, dirty)) = minutes.by_minute.get_mut(&(*minute, task.clone())) {
                *dirty = true;
            }
        }
    }
}

impl Minutes {
    fn merge(&mut self, task: &str, part: Option<(Micros, Sums)>) {
        let Some((minute, part)) = part else { return };
        let (sums, dirty) = self.by_minute.entry((minute, task.to_owned())).or_default();
        sums.started += part.started;
        sums.completed += part.completed;
        sums.retried += part.retried;
        sums.failed += part.failed;
        for (all, new) in sums.waits.iter_mut().chain(&mut sums.runs).zip(part.waits.iter().chain(&part.runs)) {
            *all += new;
        }
        *dirty = true;
    }
}

impl Sums {
    fn note(&mut self, sample: &Sample) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_told_once_and_grow() {
        let tally = Tally::default();
        let sample = |at, end| Sample { started_at: at, wait: 1_500, run: 0, end };
        tally.add("t", [sample(60 * SECOND, End::Completed), sample(61 * SECOND, End::Failed)]);
        let first = tally.take_changed();
        assert_eq!(first.len(), 1);
        assert_eq!((first[0].2.started, first[0].2.completed, first[0].2.failed), (2, 1, 1));
        assert_eq!(first[0].2.waits[1], 2);
        assert!(tally.take_changed().is_empty());
        tally.add("t", [sample(62 * SECOND, End::Retried), sample(63 * SECOND, End::Uncounted)]);
        assert_eq!(tally.take_changed()[0].2.started, 3);
    }
}
