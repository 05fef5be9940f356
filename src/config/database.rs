//! `[database]`: where the entries are, and how they are claimed.

use std::time::Duration;

use super::Secret;

/// `[database]`
#[derive(Debug, Clone)]
pub struct Database {
    /// The database, in the form that its driver takes.
    pub url: DatabaseUrl,
    /// DB actors, one connection each.
    pub connections: usize,
    /// Which statement claims.
    pub claim: ClaimChoice,
    /// How a node learns of new entries (PostgreSQL).
    pub wake: Wake,
    /// True behind a transaction pooler: no LISTEN, no cached statements, no lasting SET.
    pub pooler: bool,
    /// What a commit survives on SQLite.
    pub synchronous: Synchronous,
    /// How long firings are kept.
    pub keep_firings: Duration,
}

/// A database URL, sorted by backend and in the form that the driver takes.
#[derive(Debug, Clone)]
pub enum DatabaseUrl {
    /// A path, or a `file:` URI for a database in memory.
    Sqlite {
        /// What SQLite opens.
        path: String,
        /// True for `sqlite::memory:`: one process, keeps nothing.
        memory: bool,
    },
    /// `postgres://…`
    Postgres(Secret),
    /// `mysql://…`; MariaDB too
    Mysql(Secret),
}

/// `claim = …`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClaimChoice {
    /// Skip-locked where the server has it, else atomic update.
    #[default]
    Auto,
    /// `FOR UPDATE SKIP LOCKED`
    SkipLocked,
    /// A conditional `UPDATE` whose affected rows say who won.
    AtomicUpdate,
}

/// `wake = …`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Wake {
    /// By LISTEN.
    #[default]
    Notify,
    /// By asking every `poll`; the trigger that notifies is taken away.
    Poll,
}

/// `synchronous = …`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Synchronous {
    /// Survives a power cut.
    #[default]
    Full,
    /// Faster; survives a crash of the process only.
    Normal,
}
