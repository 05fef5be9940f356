//! The one error type of the crate: opaque, with predicates.
//!
//! Owns how an error reads and what may be asked of it. Which database error is passing is decided in
//! `store::fault`, not here.

use std::fmt;

/// What went wrong, in a sentence for a person, with what may be asked of it.
#[derive(Debug, Clone)]
pub struct Error {
    kind: Kind,
    message: String,
    entry_id: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Usage,
    Transient,
    Unreachable,
    Conflict,
    NotFound,
    Refused,
    Internal,
}

/// The result of everything that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Wrong usage or configuration: the person who typed it can mend it. Exit code 2.
    pub fn usage(message: impl fmt::Display) -> Self {
        Self::new(Kind::Usage, message)
    }

    /// A passing fault: the same call may succeed later.
    pub fn transient(message: impl fmt::Display) -> Self {
        Self::new(Kind::Transient, message)
    }

    /// A passing fault: the database cannot be reached, or the connection to it is gone.
    pub fn unreachable(message: impl fmt::Display) -> Self {
        Self::new(Kind::Unreachable, message)
    }

    /// Somebody else holds what was asked for.
    pub fn conflict(message: impl fmt::Display) -> Self {
        Self::new(Kind::Conflict, message)
    }

    /// What was named does not exist.
    pub fn not_found(message: impl fmt::Display) -> Self {
        Self::new(Kind::NotFound, message)
    }

    /// The database understood and refused: repeating the call changes nothing.
    pub fn refused(message: impl fmt::Display) -> Self {
        Self::new(Kind::Refused, message)
    }

    /// Something that should not happen.
    pub fn internal(message: impl fmt::Display) -> Self {
        Self::new(Kind::Internal, message)
    }

    fn new(kind: Kind, message: impl fmt::Display) -> Self {
        Self { kind, message: message.to_string(), entry_id: None }
    }

    /// The same error with what was being done put before it.
    #[must_use]
    pub fn context(self, doing: impl fmt::Display) -> Self {
        Self { message: format!("{doing}: {}", self.message), ..self }
    }

    /// The same error with the entry that stands in the way.
    #[must_use]
    pub fn with_entry(self, id: i64) -> Self {
        Self { entry_id: Some(id), ..self }
    }

    /// The entry that stands in the way, of a conflict: the holder of a key, or the one that runs.
    pub fn entry_id(&self) -> Option<i64> {
        self.entry_id
    }

    /// True for wrong usage or configuration.
    pub fn is_usage(&self) -> bool {
        self.kind == Kind::Usage
    }

    /// True if the same call may succeed later.
    pub fn is_transient(&self) -> bool {
        matches!(self.kind, Kind::Transient | Kind::Unreachable)
    }

    /// True if the database cannot be reached, or the connection to it is gone.
    pub fn is_unreachable(&self) -> bool {
        self.kind == Kind::Unreachable
    }

    /// True if somebody else holds what was asked for.
    pub fn is_conflict(&self) -> bool {
        self.kind == Kind::Conflict
    }

    /// True if what was named does not exist.
    pub fn is_not_found(&self) -> bool {
        self.kind == Kind::NotFound
    }

    /// True if the database understood and refused.
    pub fn is_refused(&self) -> bool {
        self.kind == Kind::Refused
    }

    /// A stable word for programs.
    pub fn code(&self) -> &'static str {
        match self.kind {
            Kind::Usage => "usage",
            Kind::Transient | Kind::Unreachable => "transient",
            Kind::Conflict => "conflict",
            Kind::NotFound => "not_found",
            Kind::Refused => "refused",
            Kind::Internal => "internal",
        }
    }

    /// The exit code of a command that ends with this error.
    pub fn exit_code(&self) -> u8 {
        if self.is_usage() { 2 } else { 1 }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
