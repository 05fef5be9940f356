//! An entry: one unit of work for one task.

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::time::{self, Micros};
use super::trace::Trace;

/// Where an entry stands. The words are those of the column `soloist_entries.state`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Waits until `run_at`, then may be claimed.
    Pending,
    /// Claimed by a node or an outside worker.
    Running,
    /// Done. Final.
    Completed,
    /// Attempts used up, or failed for good. Final.
    Failed,
    /// Taken back by a person. Final.
    Cancelled,
}

impl State {
    /// All states, in the order of a life.
    pub const ALL: [State; 5] = [Self::Pending, Self::Running, Self::Completed, Self::Failed, Self::Cancelled];

    /// The word that the database holds.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// The state that a word means.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.word() == word)
    }

    /// True for the three states that nothing but `retry` leaves.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

/// An entry as a handler gets it: claimed, with its payload. It serialises to the body of a web hook and to the
/// standard input of a command.
#[derive(Debug, Clone, Serialize)]
pub struct Entry {
    /// 64-bit, grows, never used twice.
    pub id: i64,
    /// The task that works it.
    pub task: String,
    /// The dedupe key, or the key of the source row; a composite key is a JSON array as text.
    pub key: Option<String>,
    /// JSON, digit for digit as it was stored.
    pub payload: Box<RawValue>,
    /// 1 for the first attempt.
    pub attempt: i32,
    /// Attempts in all before the entry fails.
    pub max_attempts: i32,
    /// The due time of the firing that made it, if one did.
    #[serde(serialize_with = "optional_time")]
    pub scheduled_for: Option<Micros>,
    /// When it was accepted.
    #[serde(serialize_with = "required_time")]
    pub created_at: Micros,
    /// The same on every attempt, unique over installations.
    pub idempotency_key: String,
    /// The claim number: every write for this attempt is fenced by it.
    #[serde(skip)]
    pub claim: i64,
    /// The incarnation that claimed it.
    #[serde(skip)]
    pub node_id: i64,
    /// True if it stands for a row of the task's source.
    #[serde(skip)]
    pub from_source: bool,
    /// What the source's `version` column held when the row was read.
    #[serde(skip)]
    pub source_version: Option<String>,
    /// When this attempt was claimed, on the database's clock.
    #[serde(skip)]
    pub started_at: Micros,
    /// When it was due: what it waited for is counted from here.
    #[serde(skip)]
    pub run_at: Micros,
    /// The trace in which it was accepted, if whoever handed it over named one.
    #[serde(skip)]
    pub trace: Option<Trace>,
}

pub(crate) fn required_time<S: Serializer>(at: &Micros, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&time::rfc3339(*at))
}

pub(crate) fn optional_time<S: Serializer>(at: &Option<Micros>, to: S) -> Result<S::Ok, S::Error> {
    match at {
        Some(at) => required_time(at, to),
        None => to.serialize_none(),
    }
}
