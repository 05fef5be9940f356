//! What people may do to entries, and from which states on.

use crate::model::State;

/// What may be done to an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Failed or cancelled back to pending, with the task's attempts once more.
    Retry,
    /// Pending or running to cancelled.
    Cancel,
    /// Pending: due now.
    RunNow,
    /// Gone, with its attempts; not while it runs.
    Delete,
}

impl Action {
    /// The states that it starts from.
    pub fn from_states(self) -> &'static [State] {
        match self {
            Self::Retry => &[State::Failed, State::Cancelled],
            Self::Cancel => &[State::Pending, State::Running],
            Self::RunNow => &[State::Pending],
            Self::Delete => &[State::Pending, State::Completed, State::Failed, State::Cancelled],
        }
    }

    /// The same in words.
    pub fn from_words(self) -> String {
        self.from_states().iter().map(|state| state.word()).collect::<Vec<_>>().join(", ")
    }

    /// As the API and the audit log have it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::Cancel => "cancel",
            Self::RunNow => "run-now",
            Self::Delete => "delete",
        }
    }

    /// What has become of an entry to which it was done.
    pub fn done(self) -> &'static str {
        match self {
            Self::Retry => "retried",
            Self::Cancel => "cancelled",
            Self::RunNow => "made due",
            Self::Delete => "deleted",
        }
    }
}
