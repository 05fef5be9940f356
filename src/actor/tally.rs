//! Sums per task and minute, kept in memory and written now and then: the figures of status and metrics.
//!
//! What a killed node had not yet written is missing from the sums; nothing else depends on them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::model::sums::{End, Sample, Sums};
use crate::model::time::{Micros, SECOND};
use crate::telemetry::meters::{Meters, OfTask};

#[derive(Default)]
struct Minutes {
    by_minute: HashMap<(Micros, String), (Sums, bool)>,
}

/// The sums of this process; cheap to clone.
#[derive(Clone, Default)]
pub struct Tally {
    minutes: Arc<Mutex<Minutes>>,
    /// The same since the start, and more, for the metrics.
    pub meters: Meters,
}

impl Tally {
    /// Adds attempts of one task.
    pub fn add(&self, task: &str, samples: impl IntoIterator<Item = Sample>) {
        let mut minutes = self.minutes.lock().unwrap_or_else(PoisonError::into_inner);
        let mut current: Option<(Micros, Sums)> = None;
        let mut meter = OfTask::default();
        for sample in samples {
            if sample.end == End::Uncounted {
                continue;
            }
            meter.note(&sample);
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
        drop(minutes);
        if meter != OfTask::default() {
            self.meters.add(task, &meter);
        }
    }

    /// Totals that changed since the last call; minutes long past are forgotten once told.
    pub fn take_changed(&self) -> Vec<(Micros, String, Sums)> {
        let mut minutes = self.minutes.lock().unwrap_or_else(PoisonError::into_inner);
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
        let mut minutes = self.minutes.lock().unwrap_or_else(PoisonError::into_inner);
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
