//! Rows of a user's own table: what a source reads, collects and writes back.
//!
//! The only place that touches tables that are not Soloist's.

pub mod catalog;

use std::collections::HashMap;

use super::connection::Connection;
use crate::error::Result;

/// A row that still waits.
#[derive(Debug)]
pub struct SourceRow {
    /// JSON.
    pub payload: String,
    /// What the `version` column holds.
    pub version: Option<String>,
}

/// A row to be marked.
#[derive(Debug, Clone)]
pub struct Mark {
    /// The entry.
    pub id: i64,
    /// The row's key as the entry holds it.
    pub key: String,
    /// The attempt.
    pub attempt: i32,
    /// What the `version` column held.
    pub version: Option<String>,
    /// Why it failed.
    pub error: Option<String>,
}

/// A source resolved against the database.
#[derive(Debug)]
pub struct TableSource {}

impl TableSource {
    /// Reads.
    pub fn read(&self, _: &mut Connection, _: &[(i64, String)]) -> Result<HashMap<i64, SourceRow>> {
        Ok(HashMap::new())
    }
    /// Marks.
    pub fn mark_done(&self, _: &mut Connection, _: &[Mark]) -> Result<Vec<(i64, String)>> {
        Ok(Vec::new())
    }
    /// Marks.
    pub fn mark_failed(&self, _: &mut Connection, _: &[Mark]) -> Result<Vec<(i64, String)>> {
        Ok(Vec::new())
    }
}
