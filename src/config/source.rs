//! `[tasks.*.source]`: rows of the user's own table.

use std::time::Duration;

/// `[tasks.NAME.source]`
#[derive(Debug, Clone, PartialEq)]
pub struct Source {
    /// The schema, if `table` named one.
    pub schema: Option<String>,
    /// The table's bare name, unquoted.
    pub table: String,
    /// The key's columns, unquoted, in the file's order.
    pub key: Vec<String>,
    /// The predicate that says a row waits; SQL, as typed.
    pub pending: String,
    /// Set in the transaction that completes the entry.
    pub done: Option<WriteBack>,
    /// Set in the transaction that fails the entry.
    pub failed: Option<WriteBack>,
    /// The column that changes with the row.
    pub version: Option<String>,
    /// The payload's columns; `None` is all.
    pub columns: Option<Vec<String>>,
    /// The column by which rows are collected.
    pub order: Option<String>,
    /// Entries of this source alive at once.
    pub ahead: usize,
    /// Sweep all the time, this long apart over all nodes.
    pub every: Option<Duration>,
}

/// What marks a row.
#[derive(Debug, Clone, PartialEq)]
pub enum WriteBack {
    /// The part of an `UPDATE` after `SET`; SQL, as typed.
    Set(String),
    /// `"DELETE"`: the row goes.
    Delete,
}
