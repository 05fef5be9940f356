//! `[tasks.*]`: a named handler with its policies.

use std::time::Duration;

use super::{Secret, Source};
use crate::model::{Backoff, Delivery, Retention};

/// `[tasks.NAME]`
#[derive(Debug, Clone)]
pub struct Task {
    /// The name, as in the section's title.
    pub name: String,
    /// What is called.
    pub handler: HandlerKind,
    /// Entries at once on this node.
    pub concurrency: usize,
    /// Entries at once over all nodes; 0 = no limit.
    pub max_running: usize,
    /// Starts over all nodes: at most this many in that time, spread evenly.
    pub rate: Option<(u32, Duration)>,
    /// True for `serial_by = "key"`.
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

/// Exactly one of `http`, `command`, `sql`, `pull`.
#[derive(Debug, Clone)]
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
}

/// `http = { … }`
#[derive(Debug, Clone)]
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
}
