//! Sorts database errors: which pass, which refuse, which mean that the connection is gone.
//!
//! diesel carries no SQLSTATE or error number, so kind and message decide; each text is provoked by a test.

use diesel::result::{ConnectionError, DatabaseErrorKind, Error as DieselError};

use crate::config::DatabaseUrl;
use crate::error::Error;

/// What an error means for whoever made the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// The connection is gone; another may work.
    Lost,
    /// Busy, deadlocked, out of time or out of space: the same call may succeed later.
    Passing,
    /// A unique key is taken.
    Unique,
    /// The statement was understood and refused.
    Refused,
}

/// Texts of PostgreSQL, SQLite and MySQL or MariaDB, in lower case, that mean "later".
const PASSING: [&str; 19] = [
    "deadlock",
    "could not serialize",
    "lock timeout",
    "statement timeout",
    "lock wait timeout",
    "record has changed since last read",
    "could not obtain lock",
    "tuple concurrently",
    "database is locked",
    "database table is locked",
    "database schema is locked",
    "no space left",
    "database or disk is full",
    "is full",
    "disk i/o error",
    "too many connections",
    "remaining connection slots",
    "read-only",
    "query execution was interrupted",
];

/// Texts that mean that the connection is gone.
const LOST: [&str; 20] = [
    "server closed the connection",
    "terminating connection",
    "connection to server",
    "no connection to the server",
    "could not receive data",
    "could not send data",
    "connection timed out",
    "connection reset",
    "connection refused",
    "broken pipe",
    "ssl syscall",
    "shutting down",
    "starting up",
    "in recovery mode",
    "server has gone away",
    "lost connection",
    "connection was killed",
    "connection was closed",
    "input/output error",
    "did not answer",
];

/// Texts that mean that the database takes no writes from anybody.
const NO_WRITES: [&str; 9] = [
    "no space left",
    "database or disk is full",
    "is full",
    "disk full",
    "read-only",
    "readonly database",
    "permission denied for",
    "command denied to user",
    "attempt to write a readonly",
];

/// True if a text of the database says that it takes no writes: full, read-only, or without the right to.
pub(super) fn says_no_writes(text: &str) -> bool {
    let text = text.to_lowercase();
    NO_WRITES.iter().any(|words| text.contains(words))
}

/// Sorts an error.
pub(super) fn classify(error: &DieselError) -> Fault {
    match error {
        DieselError::DatabaseError(DatabaseErrorKind::UniqueViolation, _) => Fault::Unique,
        DieselError::DatabaseError(DatabaseErrorKind::SerializationFailure, _) => Fault::Passing,
        DieselError::DatabaseError(DatabaseErrorKind::ClosedConnection, _) => Fault::Lost,
        DieselError::BrokenTransactionManager | DieselError::RollbackTransaction => Fault::Lost,
        other => by_text(&other.to_string().to_lowercase()),
    }
}

fn by_text(text: &str) -> Fault {
    let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
    if says(&LOST) {
        Fault::Lost
    } else if says(&PASSING) {
        Fault::Passing
    } else {
        Fault::Refused
    }
}

impl Fault {
    pub(super) fn is_lost(self) -> bool {
        self == Self::Lost
    }

    /// The crate's error, in the database's own words.
    pub(super) fn into_error(self, error: &DieselError) -> Error {
        let message = describe(error);
        match self {
            Self::Lost => Error::unreachable(message),
            Self::Passing => Error::transient(message),
            Self::Unique => Error::conflict(message),
            Self::Refused => Error::refused(message),
        }
    }
}

fn describe(error: &DieselError) -> String {
    match error {
        DieselError::DatabaseError(_, information) => match (information.details(), information.hint()) {
            (Some(details), _) => format!("{} ({details})", information.message()),
            (None, Some(hint)) => format!("{} ({hint})", information.message()),
            (None, None) => information.message().to_owned(),
        },
        other => other.to_string(),
    }
}

/// What a failed attempt to connect means: where, and in the server's words. Never the password.
pub(super) fn connecting(url: &DatabaseUrl, error: &ConnectionError) -> Error {
    let text = error.to_string();
    let text = text.trim().replace('\n', " ");
    let mut message = format!("cannot connect to {}: {}", url.describe(), url.mask(&text));
    if text.contains("expected authentication request") {
        message.push_str("; that is no PostgreSQL server: the URL of MySQL and MariaDB begins with mysql://");
    }
    let lower = text.to_lowercase();
    let final_words = ["password authentication failed", "access denied", "unknown database", "does not exist"];
    if final_words.iter().any(|word| lower.contains(word)) {
        Error::refused(message)
    } else {
        Error::unreachable(message)
    }
}

/// What it means that a server did not say a word to a client of MySQL.
#[cfg(feature = "mysql")]
pub(super) fn silent(url: &DatabaseUrl, waited: std::time::Duration) -> Error {
    let (place, waited) = (url.describe(), waited.as_secs());
    Error::unreachable(format!(
        "cannot connect to {place}: no MySQL or MariaDB server answered within {waited} s; the URL of PostgreSQL begins \
         with postgres://"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_the_servers_are_sorted() {
        assert_eq!(by_text("database is locked"), Fault::Passing);
        assert_eq!(by_text("canceling statement due to lock timeout"), Fault::Passing);
        assert_eq!(by_text("terminating connection due to administrator command"), Fault::Lost);
        assert_eq!(by_text("server did not answer for 20 s"), Fault::Lost);
        assert_eq!(by_text("column \"nope\" does not exist"), Fault::Refused);
        assert!(says_no_writes("could not extend file \"base/1/2\": No space left on device"));
        assert!(says_no_writes("cannot execute UPDATE in a read-only transaction"));
        assert!(!says_no_writes("canceling statement due to lock timeout"));
    }
}
