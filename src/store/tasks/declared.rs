//! Which tasks the living nodes declare, and how.

use std::collections::BTreeMap;
use std::time::Duration;

use diesel::QueryableByName;
use diesel::sql_types::Text;
use serde::{Deserialize, Serialize};

use super::limits::Limits;
use crate::config::nearest;
use crate::config::{Dedupe, HandlerKind, Task};
use crate::error::Result;
use crate::model::{Backoff, Delivery, Keep};
use crate::store::connection::Connection;
use crate::store::statement::Statement;

/// Attempts of a task that nobody declares, and of one that says nothing of it.
const USUAL_ATTEMPTS: i32 = 10;

/// What a node says of a task that it can work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeclaredTask {
    /// `http`, `command`, `sql` or `pull`.
    #[serde(default)]
    pub handler: String,
    /// True if its entries are rows of a user's table.
    #[serde(default)]
    pub source: bool,
    /// Attempts before an entry fails.
    #[serde(default = "usual_attempts")]
    pub max_attempts: i32,
    /// Entries at once on one node.
    #[serde(default)]
    pub concurrency: i64,
    /// How long after a failure.
    #[serde(default)]
    pub backoff: DeclaredBackoff,
    /// True if no entry is started twice.
    #[serde(default)]
    pub at_most_once: bool,
    /// True if the dedupe key is free from the start on.
    #[serde(default)]
    pub frees_key_at_start: bool,
    /// True if a completed entry is deleted at its end.
    #[serde(default)]
    pub drops_completed: bool,
    /// True if a failed entry is deleted at its end.
    #[serde(default)]
    pub drops_failed: bool,
    /// What limits its starts over all nodes.
    #[serde(default)]
    pub limits: Limits,
    /// The nodes that declare it, oldest declaration first.
    #[serde(skip)]
    pub nodes: Vec<String>,
}

fn usual_attempts() -> i32 {
    USUAL_ATTEMPTS
}

impl From<&Task> for DeclaredTask {
    fn from(task: &Task) -> Self {
        let handler = match task.handler {
            HandlerKind::Http(_) => "http",
            HandlerKind::Command(_) => "command",
            HandlerKind::Sql(_) => "sql",
            HandlerKind::Pull => "pull",
            HandlerKind::Noop | HandlerKind::Note(_) => "noop",
        };
        let drops = |keep| keep == Keep::For(Duration::ZERO);
        Self {
            handler: handler.to_owned(),
            source: task.source.is_some(),
            max_attempts: task.max_attempts,
            concurrency: i64::try_from(task.concurrency).unwrap_or(i64::MAX),
            backoff: task.backoff.into(),
            at_most_once: task.delivery == Delivery::AtMostOnce,
            frees_key_at_start: task.dedupe == Dedupe::UntilStart,
            drops_completed: drops(task.keep.completed),
            drops_failed: drops(task.keep.failed),
            limits: Limits {
                max_running: i64::try_from(task.max_running).unwrap_or(i64::MAX),
                rate: task.rate,
                serial: task.serial,
                keys_held: task.dedupe != Dedupe::None,
            },
            nodes: Vec::new(),
        }
    }
}

/// A [`Backoff`] as it is declared.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DeclaredBackoff {
    first_ms: u64,
    factor: f64,
    max_ms: u64,
    jitter: f64,
}

impl Default for DeclaredBackoff {
    fn default() -> Self {
        Backoff::default().into()
    }
}

impl From<Backoff> for DeclaredBackoff {
    fn from(backoff: Backoff) -> Self {
        let ms = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
        Self { first_ms: ms(backoff.first), factor: backoff.factor, max_ms: ms(backoff.max), jitter: backoff.jitter }
    }
}

impl From<DeclaredBackoff> for Backoff {
    fn from(declared: DeclaredBackoff) -> Self {
        Self {
            first: Duration::from_millis(declared.first_ms),
            factor: declared.factor,
            max: Duration::from_millis(declared.max_ms),
            jitter: declared.jitter,
        }
    }
}

/// What the living nodes declare. Where they differ, the one that declared last speaks.
#[derive(Debug, Clone, Default)]
pub struct Declared {
    /// By name.
    pub tasks: BTreeMap<String, DeclaredTask>,
}

impl Declared {
    /// Attempts of a task before an entry fails.
    pub fn max_attempts(&self, task: &str) -> i32 {
        self.tasks.get(task).map_or(USUAL_ATTEMPTS, |declared| declared.max_attempts)
    }

    /// The declared name that is most like this one, if one is like it.
    pub fn nearest(&self, name: &str) -> Option<&str> {
        nearest::nearest(name, self.tasks.keys().map(String::as_str))
    }
}

/// Which tasks are declared by a node whose lease has not ended.
pub fn living(connection: &mut Connection) -> Result<Declared> {
    #[derive(QueryableByName)]
    struct Declaration {
        #[diesel(sql_type = Text)]
        name: String,
        #[diesel(sql_type = Text)]
        body: String,
        #[diesel(sql_type = Text)]
        node: String,
    }
    let sql = connection.dialect().sql(
        "SELECT d.name, d.body, n.name AS node FROM soloist_declarations d JOIN soloist_nodes n ON n.id = d.node_id \
         WHERE d.kind = 'task' AND n.lease_until > {now} AND n.stopped_at IS NULL ORDER BY d.declared_at, d.node_id",
    );
    let mut declared = Declared::default();
    for row in connection.load::<Declaration>(Statement::new(sql))? {
        let Ok(mut task) = serde_json::from_str::<DeclaredTask>(&row.body) else { continue };
        if let Some(older) = declared.tasks.remove(&row.name) {
            task.nodes = older.nodes;
        }
        task.nodes.push(row.node);
        declared.tasks.insert(row.name, task);
    }
    Ok(declared)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_nearest_name_is_one_that_is_like_it() {
        let task: DeclaredTask = serde_json::from_str("{}").unwrap();
        let tasks = ["thumbnail", "mail"].map(|name| (name.to_owned(), task.clone())).into();
        let declared = Declared { tasks };
        assert_eq!(declared.nearest("thumbnial"), Some("thumbnail"));
        assert_eq!(declared.nearest("mial"), Some("mail"));
        assert_eq!(declared.nearest("report"), None);
        assert_eq!(declared.max_attempts("report"), 10);
    }
}
