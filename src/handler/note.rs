//! A handler that notes when it was called: what `bench` measures waits with.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;

use super::{Call, Handler};
use crate::model::Outcome;

/// When handlers were called, by entry; cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct StartTimes(Arc<Mutex<Vec<(i64, Instant)>>>);

impl StartTimes {
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

/// Notes the instant and completes.
pub struct NoteHandler(pub StartTimes);

impl Handler for NoteHandler {
    fn call(&self, call: Call) -> LocalBoxFuture<'_, Vec<Outcome>> {
        let now = Instant::now();
        let mut noted = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        noted.extend(call.entries.iter().map(|entry| (entry.id, now)));
        std::future::ready(vec![Outcome::completed(); call.entries.len()]).boxed_local()
    }
}
