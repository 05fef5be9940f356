//! From what a handler said to what is written: a task's policies applied to one outcome. Pure.

use std::time::Duration;

use super::{Settlement, Verdict};
use crate::model::failure;
use crate::model::sums::End;
use crate::model::{Entry, Outcome};
use crate::store::plan::TaskPlan;

/// What one outcome means.
#[derive(Debug)]
pub struct Judged {
    /// What is to be written.
    pub settlement: Settlement,
    /// For the sums.
    pub end: End,
    /// The host's words, if it refuses the whole task.
    pub hold: Option<String>,
    /// True if the handler's own transaction has written it already.
    pub recorded: bool,
}

/// Applies the policies of the entry's task to what became of its attempt.
pub fn judge(plan: &TaskPlan, entry: &Entry, outcome: Outcome) -> Judged {
    let mut hold = None;
    let mut recorded = false;
    let verdict = match outcome {
        Outcome::Completed { output } => Verdict::Completed { output },
        Outcome::Recorded { lost } => {
            recorded = true;
            if lost { Verdict::HandedBack } else { Verdict::Completed { output: None } }
        }
        Outcome::Retry { error, output, not_before } => again(plan, entry, error, output, not_before, "failed"),
        Outcome::TimedOut { after, output } => {
            let error = format!("{}{}", failure::TIMED_OUT, crate::config::duration::format(after));
            again(plan, entry, error, output, None, "timed_out")
        }
        Outcome::Panicked { message } => {
            again(plan, entry, format!("the handler panicked: {message}"), None, None, "panicked")
        }
        Outcome::Failed { error, output } => Verdict::Failed { error, output },
        // The host did no work: that costs no attempt, whatever the delivery.
        Outcome::Refused { reason } => {
            hold = Some(reason);
            Verdict::HandedBack
        }
        Outcome::HandedBack if plan.at_most_once() => {
            Verdict::Failed { error: failure::CUT_OFF.to_owned(), output: None }
        }
        Outcome::HandedBack => Verdict::HandedBack,
    };
    let end = match &verdict {
        Verdict::Completed { .. } | Verdict::Unneeded => End::Completed,
        Verdict::Retry { .. } => End::Retried,
        Verdict::Failed { .. } => End::Failed,
        Verdict::HandedBack => End::Uncounted,
    };
    let mut settlement = Settlement::new(entry.id, entry.claim, entry.attempt, verdict);
    settlement.started_at = Some(entry.started_at);
    settlement.scheduled = entry.scheduled_for.is_some();
    if entry.from_source {
        settlement.source_key.clone_from(&entry.key);
        settlement.source_version.clone_from(&entry.source_version);
    }
    Judged { settlement, end, hold, recorded }
}

fn again(
    plan: &TaskPlan,
    entry: &Entry,
    error: String,
    output: Option<String>,
    not_before: Option<Duration>,
    outcome: &'static str,
) -> Verdict {
    if entry.attempt >= entry.max_attempts || plan.at_most_once() {
        return Verdict::Failed { error, output };
    }
    let wait = plan.config.backoff.wait(entry.attempt, fastrand::f64());
    Verdict::Retry { after: wait.max(not_before.unwrap_or_default()), error, output, outcome }
}
