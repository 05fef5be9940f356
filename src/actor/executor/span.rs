//! The span of a call: what stands on every log line of an attempt, and the trace that it carries on.

use tracing::Span;

use crate::model::{Entry, Trace};
use crate::store::settle::Verdict;

/// Ids of so many entries are named at most.
const NAMED: usize = 20;

/// The span of one call. Where no such line is wanted it costs nothing.
pub(super) fn of_call(node: &str, task: &str, entries: &[Entry], trace: Trace) -> Span {
    match entries {
        [entry] => tracing::info_span!(
            "attempt",
            node,
            task,
            entry = entry.id,
            attempt = entry.attempt,
            trace_id = format_args!("{:032x}", trace.id)
        ),
        entries => tracing::info_span!(
            "attempts",
            node,
            task,
            entries = ids(entries),
            trace_id = format_args!("{:032x}", trace.id)
        ),
    }
}

/// The span of results that are recorded together.
pub(super) fn of_results(node: &str, task: &str) -> Span {
    tracing::info_span!("results", node, task)
}

/// Says what became of an attempt; why stands with the entry, not in the log.
pub(super) fn tell(entry: &Entry, verdict: &Verdict) {
    let outcome = match verdict {
        Verdict::Failed { .. } => {
            tracing::info!(entry = entry.id, attempt = entry.attempt, "it failed for good");
            return;
        }
        Verdict::Completed { .. } | Verdict::Unneeded => "completed",
        Verdict::Retry { .. } => "to be tried again",
        Verdict::HandedBack => "handed back",
    };
    tracing::debug!(entry = entry.id, attempt = entry.attempt, outcome, "it has ended");
}

fn ids(entries: &[Entry]) -> String {
    let ids: Vec<_> = entries.iter().take(NAMED).map(|entry| entry.id.to_string()).collect();
    let rest = entries.len().saturating_sub(NAMED);
    if rest > 0 { format!("{} and {rest} more", ids.join(",")) } else { ids.join(",") }
}
