//! A handler that notes when it was called: what `bench` measures waits with.

use std::time::Instant;

use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;

use super::{Call, Handler};
use crate::model::Outcome;
use crate::model::start_times::StartTimes;

/// Notes the instant and completes.
pub struct NoteHandler(pub StartTimes);

impl Handler for NoteHandler {
    fn call(&self, call: Call) -> LocalBoxFuture<'_, Vec<Outcome>> {
        self.0.note(call.entries.iter().map(|entry| entry.id), Instant::now());
        std::future::ready(vec![Outcome::completed(); call.entries.len()]).boxed_local()
    }
}
