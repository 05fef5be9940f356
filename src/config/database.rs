//! `[database]`: where the entries are, and how they are claimed.

use std::time::Duration;

use super::Secret;

/// `[database]`
#[derive(Debug, Clone, PartialEq)]
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

impl Default for Database {
    fn default() -> Self {
        Self {
            url: DatabaseUrl::Sqlite { path: "soloist.db".into(), memory: false },
            connections: 4,
            claim: ClaimChoice::default(),
            wake: Wake::default(),
            pooler: false,
            synchronous: Synchronous::default(),
            keep_firings: Duration::from_secs(30 * 86_400),
        }
    }
}

/// A database URL, sorted by backend and in the form that the driver takes.
#[derive(Debug, Clone, PartialEq, Eq)]
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

impl DatabaseUrl {
    /// Where it is, for a person to read: never a password.
    pub fn describe(&self) -> String {
        match self {
            Self::Sqlite { memory: true, .. } => "SQLite in memory".to_owned(),
            Self::Sqlite { path, .. } => format!("SQLite at {path}"),
            Self::Postgres(url) => format!("PostgreSQL at {}", place(url)),
            Self::Mysql(url) => format!("MySQL at {}", place(url)),
        }
    }

    /// The password, as it stands in the URL and as it is meant; none if the URL has none.
    pub fn passwords(&self) -> Vec<String> {
        let (Self::Postgres(secret) | Self::Mysql(secret)) = self else { return Vec::new() };
        let url = url::Url::parse(secret.expose()).ok();
        let written = url.and_then(|url| url.password().map(str::to_owned)).filter(|password| !password.is_empty());
        written.map_or_else(Vec::new, |written| {
            let meant = percent_encoding::percent_decode_str(&written).decode_utf8_lossy().into_owned();
            vec![written, meant]
        })
    }

    /// `text` with the password of this URL taken out, should a driver have put it in.
    pub fn mask(&self, text: &str) -> String {
        let (Self::Postgres(secret) | Self::Mysql(secret)) = self else { return text.to_owned() };
        match url::Url::parse(secret.expose()).ok().and_then(|url| url.password().map(str::to_owned)) {
            Some(password) if !password.is_empty() => text.replace(&password, "…"),
            _ => text.to_owned(),
        }
    }
}

/// Host, port and database of a URL.
fn place(secret: &Secret) -> String {
    match url::Url::parse(secret.expose()) {
        Ok(url) => {
            let host = url.host_str().filter(|host| !host.is_empty()).unwrap_or("localhost");
            let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
            format!("{host}{port}{}", url.path())
        }
        Err(_) => "an address that cannot be read".to_owned(),
    }
}
