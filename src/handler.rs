//! What works an entry: a web hook, a command, an SQL statement, a Rust closure.
//!
//! A handler gets claimed entries and says what became of each. It must not write to the store: recording is
//! the acknowledger's.

pub mod command;
pub mod note;
mod output;
pub mod webhook;

use std::future::pending;
use std::time::Duration;

use futures_util::future::LocalBoxFuture;
use tokio_util::sync::CancellationToken;

use crate::model::{Entry, Outcome, Trace};

/// One call of a handler: entries of one task, at most `batch` of them.
#[derive(Debug)]
pub struct Call {
    /// Never empty.
    pub entries: Vec<Entry>,
    /// The time-out of the attempt, in all; `None`: only the lease rules.
    pub timeout: Option<Duration>,
    /// Cancelled when the call must end now: its claim is lost, or the drain is over. The handler ends what it
    /// started and answers `HandedBack` for what did not finish.
    pub stop: CancellationToken,
    /// The trace that the call goes on with, and the span of the call itself.
    pub trace: Trace,
}

/// The trace that a call of these goes on with: that of the entries if they share one, else a new one.
pub fn trace_of(entries: &[Entry]) -> Trace {
    let mut traces = entries.iter().map(|entry| entry.trace);
    match traces.next().flatten() {
        Some(first) if traces.all(|other| other.is_some_and(|other| other.id == first.id)) => first.child(),
        _ => Trace::begin(),
    }
}

/// What works entries of one task. Lives on the executor's arbiter; its futures never leave it.
pub trait Handler {
    /// Works the entries; one outcome an entry, in their order. Never panics on bad answers or bad payloads.
    fn call(&self, call: Call) -> LocalBoxFuture<'_, Vec<Outcome>>;

    /// True if every entry completes at once and no call need be made.
    fn is_immediate(&self) -> bool {
        false
    }
}

/// Ends when the time-out has passed, with the time-out.
async fn passed(timeout: Option<Duration>) -> Duration {
    match timeout {
        Some(after) => {
            tokio::time::sleep(after).await;
            after
        }
        None => pending().await,
    }
}
