//! What became of one attempt: a closed vocabulary, matched exhaustively.

use std::time::Duration;

/// What became of one attempt at one entry.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The work is done.
    Completed {
        /// The last of what the handler said, at most 1 KiB.
        output: Option<String>,
    },
    /// It did not work; another attempt may.
    Retry {
        /// In the handler's or the database's own words.
        error: String,
        /// The last of what the handler said, at most 16 KiB.
        output: Option<String>,
        /// The receiver's wish: no attempt before this much time has passed.
        not_before: Option<Duration>,
    },
    /// It did not work, and no other attempt will.
    Failed {
        /// In the handler's or the database's own words.
        error: String,
        /// The last of what the handler said, at most 16 KiB.
        output: Option<String>,
    },
    /// The host refuses all work of this task: the entry goes back with its attempt not counted, the task is held.
    Refused {
        /// Why, with the status or the system's own words.
        reason: String,
    },
    /// Ended before its time, by a stop or a lost lease: the entry goes back with its attempt not counted.
    HandedBack,
    /// The time-out of the attempt passed.
    TimedOut {
        /// The time-out that passed.
        after: Duration,
        /// The last of what the handler said, at most 16 KiB.
        output: Option<String>,
    },
    /// Written already, by the handler's own transaction.
    Recorded {
        /// True if the claim no longer stood, so that nothing was.
        lost: bool,
    },
    /// The handler panicked.
    Panicked {
        /// The panic's message.
        message: String,
    },
}

impl Outcome {
    /// Completed, with nothing to say.
    pub fn completed() -> Self {
        Self::Completed { output: None }
    }

    /// To be tried again, for this reason.
    pub fn retry(error: impl Into<String>) -> Self {
        Self::Retry { error: error.into(), output: None, not_before: None }
    }

    /// Failed for good, for this reason.
    pub fn failed(error: impl Into<String>) -> Self {
        Self::Failed { error: error.into(), output: None }
    }
}
