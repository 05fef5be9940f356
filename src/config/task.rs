//! `[tasks.*]`: a named handler with its policies.

use std::fmt;
use std::time::Duration;

use super::{Secret, Source};
use crate::model::start_times::StartTimes;
use crate::model::{Backoff, Delivery, Rate, Retention};

/// `[tasks.NAME]`
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// The name, as in the section's title.
    pub name: String,
    /// What is called.
    pub handler: HandlerKind,
    /// Entries at once on this node.
    pub concurrency: usize,
    /// Entries at once over all nodes; 0 = no limit.
    pub max_running: usize,
    /// Starts over all nodes.
    pub rate: Option<Rate>,
    /// True for `serial_by = "key"`: entries of one key one at a time, in order, over all nodes.
    pub serial: bool,
    /// Entries in one handler call.
    pub batch: usize,
    /// Of one attempt, in all.
    pub timeout: Timeout,
    /// Attempts before an entry fails; 1 with `at_most_once`.
    pub max_attempts: i32,
    /// How long after a failure.
    pub backoff: Backoff,
    /// Whether it may be started again when nobody knows.
    pub delivery: Delivery,
    /// Run inside the transaction that claims; SQL and Rust handlers only. `None`: the default of the claim strategy.
    pub transaction: Option<bool>,
    /// When the dedupe key is free again.
    pub dedupe: Dedupe,
    /// How long finished entries are kept.
    pub keep: Retention,
    /// Rows of the user's own table.
    pub source: Option<Source>,
}

impl Task {
    /// A task with every policy at its default.
    pub fn new(name: impl Into<String>, handler: HandlerKind) -> Self {
        let timeout = Timeout::After(handler.default_timeout());
        let transaction = if handler.may_share_a_transaction() { None } else { Some(false) };
        Self {
            name: name.into(),
            handler,
            concurrency: 8,
            max_running: 0,
            rate: None,
            serial: false,
            batch: 1,
            timeout,
            max_attempts: 10,
            backoff: Backoff::default(),
            delivery: Delivery::default(),
            transaction,
            dedupe: Dedupe::default(),
            keep: Retention::default(),
            source: None,
        }
    }
}

/// Exactly one of `http`, `command`, `sql`, `pull`.
#[derive(Debug, Clone, PartialEq)]
pub enum HandlerKind {
    /// `http = { … }`
    Http(WebHook),
    /// `command = [ … ]`: the program and its arguments.
    Command(Vec<String>),
    /// `sql = "…"`
    Sql(String),
    /// `pull = true`: worked by outside workers.
    Pull,
    /// Completes at once; `bench` measures with it. Not to be had in a file.
    Noop,
    /// Notes when it was called; `bench` measures waits with it. Not to be had in a file.
    Note(StartTimes),
}

impl HandlerKind {
    /// The key in the file.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Http(_) => "http",
            Self::Command(_) => "command",
            Self::Sql(_) => "sql",
            Self::Pull => "pull",
            Self::Noop => "noop",
            Self::Note(_) => "note",
        }
    }

    fn default_timeout(&self) -> Duration {
        match self {
            Self::Command(_) => Duration::from_secs(3600),
            _ => Duration::from_secs(60),
        }
    }

    /// True if its effect can commit together with the completion.
    fn may_share_a_transaction(&self) -> bool {
        matches!(self, Self::Sql(_))
    }
}

/// `http = { … }`
#[derive(Clone, PartialEq)]
pub struct WebHook {
    /// Where to post.
    pub url: url::Url,
    /// For `Authorization: Bearer`.
    pub token: Option<Secret>,
    /// Signing keys, newest first; each signs.
    pub secrets: Vec<Secret>,
    /// Further headers, names and values as in the file.
    pub headers: Vec<(String, String)>,
}

impl fmt::Debug for WebHook {
    /// Without what may be secret: the values of headers.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("WebHook")
            .field("url", &super::mask::masked(self.url.as_str()))
            .field("token", &self.token)
            .field("secrets", &self.secrets)
            .field("headers", &headers)
            .finish()
    }
}

/// `timeout = …`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timeout {
    /// The attempt is ended after this long.
    After(Duration),
    /// `"none"`: only the lease rules.
    None,
}

/// `dedupe = …`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dedupe {
    /// Until the entry is final.
    #[default]
    UntilEnd,
    /// `"until_start"`: one more may wait while it runs.
    UntilStart,
    /// `"none"`: any number of entries may have it. The default with `serial_by`, where it says the order.
    None,
}
