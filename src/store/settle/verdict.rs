//! What may be written of a claimed entry, and for whom.

use std::time::Duration;

use crate::model::time::Micros;
use crate::store::source::TableSource;

/// What is to be written of one claimed entry.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// The work is done.
    Completed {
        /// What the handler said.
        output: Option<String>,
    },
    /// There was nothing to do: the row is gone or no longer pending.
    Unneeded,
    /// Another attempt after this wait.
    Retry {
        /// From now.
        after: Duration,
        /// Why it did not work.
        error: String,
        /// What the handler said.
        output: Option<String>,
        /// What the attempt is called in its record: `failed`, `timed_out`, `panicked` or `lost`.
        outcome: &'static str,
    },
    /// Failed for good.
    Failed {
        /// Why.
        error: String,
        /// What the handler said.
        output: Option<String>,
    },
    /// Back to pending at once, the attempt not counted.
    HandedBack,
}

/// One claimed entry and what is to be written of it.
#[derive(Debug, Clone)]
pub struct Settlement {
    /// The entry.
    pub id: i64,
    /// The claim under which it was worked.
    pub claim: i64,
    /// Its attempt.
    pub attempt: i32,
    /// Its key, if its row is to be marked.
    pub source_key: Option<String>,
    /// What the source's `version` column held at the claim.
    pub source_version: Option<String>,
    /// When the attempt started.
    pub started_at: Option<Micros>,
    /// What is to be written.
    pub verdict: Verdict,
    /// True if the claim's attempt is taken back although the entry ends.
    pub uncounted: bool,
    /// False if no record of the attempt is to be made.
    pub recorded: bool,
    /// True if a schedule's firing tells what became of it.
    pub scheduled: bool,
}

impl Settlement {
    /// A settlement of an entry that stands for no row.
    pub fn new(id: i64, claim: i64, attempt: i32, verdict: Verdict) -> Self {
        Self {
            id,
            claim,
            attempt,
            source_key: None,
            source_version: None,
            started_at: None,
            verdict,
            uncounted: false,
            recorded: true,
            scheduled: false,
        }
    }

    /// True if one statement with nothing but ids can write it.
    pub(super) fn is_plain(&self) -> bool {
        self.verdict == Verdict::Completed { output: None } && self.attempt == 1 && self.source_key.is_none()
    }
}

/// What holds for all settlements of one call: they are of one task.
pub struct Context<'a> {
    /// The node that worked them; for the record of attempts.
    pub node_id: i64,
    /// Where rows are marked.
    pub source: Option<&'a TableSource>,
    /// True if a completed entry is deleted at its end.
    pub drop_completed: bool,
    /// True if a failed entry is deleted at its end.
    pub drop_failed: bool,
}

impl Context<'_> {
    /// Without source, everything kept.
    pub fn ending(node_id: i64) -> Self {
        Self { node_id, source: None, drop_completed: false, drop_failed: false }
    }
}
