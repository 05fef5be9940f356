//! When handlers were called: what `bench` measures waits with. Pure but for the lock that lets threads share it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// When handlers were called, by entry; cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct StartTimes(Arc<Mutex<Vec<(i64, Instant)>>>);

impl StartTimes {
    /// Notes that these entries are started at this instant.
    pub fn note(&self, entries: impl IntoIterator<Item = i64>, at: Instant) {
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        noted.extend(entries.into_iter().map(|entry| (entry, at)));
    }

    /// All that were noted so far.
    pub fn noted(&self) -> Vec<(i64, Instant)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl PartialEq for StartTimes {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
