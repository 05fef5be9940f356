//! Lists tasks: what living nodes declare, what has entries, what is paused or held.

use std::collections::{BTreeMap, BTreeSet};

use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Nullable, Text};
use serde::Serialize;
use utoipa::ToSchema;

use super::counts::{self, Counts, Recent, RunningOn, Scope};
use super::declared::{self, Declared};
use super::limits::{self, Limits};
use super::{kept, waiting};
use crate::error::Result;
use crate::model::entry;
use crate::model::time::{Micros, SECOND};
use crate::store::connection::Connection;
use crate::store::nodes;
use crate::store::statement::Statement;

/// A task as people see it. Completed and failed are of the last 24 h.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Task)]
pub struct TaskShape {
    /// Its name.
    pub name: String,
    /// `http`, `command`, `sql`, `pull`; nothing if no living node declares it.
    pub handler: Option<String>,
    /// True if its entries are rows of a user's table.
    pub source: bool,
    /// The living nodes that declare it.
    pub declared_by: Vec<String>,
    /// Entries at once on one node.
    pub concurrency: Option<i64>,
    /// What limits its starts over all nodes.
    #[serde(flatten, serialize_with = "limits::as_configured")]
    #[schema(value_type = limits::Configured)]
    pub limits: Limits,
    /// Attempts before an entry fails.
    pub max_attempts: i32,
    /// Who paused it, if it is paused.
    pub paused: Option<Paused>,
    /// Entries that wait, due or not.
    pub pending: i64,
    /// Entries that could start now.
    pub due: i64,
    /// True if that many wait, or more: nobody has counted them all.
    pub at_least: bool,
    /// Entries that run.
    pub running: i64,
    /// Entries that completed.
    pub completed: i64,
    /// Entries that failed for good.
    pub failed: i64,
    /// Completions a second, over the last 5 min.
    pub rate_per_s: f64,
    /// How long the oldest due entry has waited.
    pub oldest_due_age_s: Option<f64>,
    /// Why its host is not called, if it is held back.
    pub held: Option<Held>,
    /// How its attempts of the last 15 min went.
    #[serde(skip)]
    pub recent: Recent,
    /// Entries that came to an end a second, over the last 5 min.
    #[serde(skip)]
    pub ended_per_s: f64,
}

/// Who paused a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Paused {
    /// The person or token.
    pub by: String,
    /// When.
    #[serde(serialize_with = "entry::required_time")]
    #[schema(value_type = String, format = DateTime)]
    pub since: Micros,
    /// Why, if a reason was given.
    pub reason: Option<String>,
}

/// Why a task is held back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Held {
    /// When its host first refused.
    #[serde(serialize_with = "entry::required_time")]
    #[schema(value_type = String, format = DateTime)]
    pub since: Micros,
    /// In the host's or the system's own words.
    pub reason: String,
    /// When it is asked again.
    #[serde(serialize_with = "entry::optional_time")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub next_probe_at: Option<Micros>,
}

#[derive(QueryableByName)]
struct Kept {
    #[diesel(sql_type = Text)]
    name: String,
    #[diesel(sql_type = Nullable<Text>)]
    paused_by: Option<String>,
    #[diesel(sql_type = Nullable<BigInt>)]
    paused_since: Option<i64>,
    #[diesel(sql_type = Nullable<Text>)]
    paused_reason: Option<String>,
    #[diesel(sql_type = Nullable<BigInt>)]
    held_since: Option<i64>,
    #[diesel(sql_type = Nullable<Text>)]
    held_reason: Option<String>,
    #[diesel(sql_type = Nullable<BigInt>)]
    next_probe_at: Option<i64>,
    #[diesel(embed)]
    limits: limits::Columns,
}

impl Kept {
    /// True if somebody has paused it or its host refuses. Each task that was ever declared has a row.
    fn is_marked(&self) -> bool {
        self.paused_since.is_some() || self.held_since.is_some()
    }
}

/// One task, if a living node declares it, an entry waits for it, or somebody has paused it.
pub fn get(connection: &mut Connection, name: &str) -> Result<Option<TaskShape>> {
    let now = nodes::clock(connection)?;
    let declared = declared::living(connection)?;
    let tasks = shapes(connection, &declared, Scope { task: Some(name), now }, None)?;
    Ok(tasks.into_iter().next())
}

/// All tasks, by name.
pub fn list(connection: &mut Connection) -> Result<Vec<TaskShape>> {
    let now = nodes::clock(connection)?;
    let declared = declared::living(connection)?;
    let running = running_on(connection, now)?;
    list_at(connection, &declared, &running, now)
}

/// What runs, by node and task.
pub(in crate::store) fn running_on(connection: &mut Connection, now: Micros) -> Result<Vec<RunningOn>> {
    counts::running_on(connection, Scope { task: None, now })
}

/// All tasks, by name, with ages at an instant, and what runs of them.
pub(in crate::store) fn list_at(
    connection: &mut Connection,
    declared: &Declared,
    running: &[RunningOn],
    now: Micros,
) -> Result<Vec<TaskShape>> {
    shapes(connection, declared, Scope { task: None, now }, Some(running))
}

fn shapes(
    connection: &mut Connection,
    declared: &Declared,
    scope: Scope<'_>,
    running: Option<&[RunningOn]>,
) -> Result<Vec<TaskShape>> {
    let mut counts = counts::sums(connection, scope)?;
    let read = match running {
        Some(running) => running.to_vec(),
        None => counts::running_on(connection, scope)?,
    };
    for row in read {
        counts.entry(row.task).or_default().running += row.n;
    }
    let sql = format!(
        "SELECT name, paused_by, paused_since, paused_reason, held_since, held_reason, next_probe_at, {} \
         FROM soloist_tasks",
        limits::COLUMNS
    );
    let rows: Vec<Kept> = connection.load(Statement::new(sql))?;
    let mut rows: BTreeMap<_, _> = rows.into_iter().map(|row| (row.name.clone(), row)).collect();
    let waiting = match scope.task {
        Some(task) => vec![task.to_owned()],
        None => [waiting::names(connection)?, waiting::names_of_failed(connection)?].concat(),
    };
    let marked: Vec<_> = rows.values().filter(|row| row.is_marked()).map(|row| row.name.clone()).collect();
    let known = declared.tasks.keys().chain(counts.keys()).chain(&marked).chain(&waiting);
    let meant = |name: &&String| scope.task.is_none_or(|task| task == name.as_str());
    let names: BTreeSet<String> = known.filter(meant).map(String::to_owned).collect();
    let kept = kept::all(connection)?;
    let mut tasks = Vec::with_capacity(names.len());
    for name in names {
        let mut of = counts.remove(&name).unwrap_or_default();
        counts::add_entries(connection, &name, scope.now, kept.get(&name), &mut of)?;
        let row = rows.remove(&name);
        // Of which nothing waits, runs or has ended, and which nobody declares or has paused, is none.
        if row.as_ref().is_some_and(Kept::is_marked) || of != Counts::default() || declared.tasks.contains_key(&name) {
            tasks.push(shape(name, &of, row, declared, scope.now));
        }
    }
    Ok(tasks)
}

fn shape(name: String, counts: &Counts, kept: Option<Kept>, declared: &Declared, now: Micros) -> TaskShape {
    let declaration = declared.tasks.get(&name);
    let (paused, held, limits) = kept.map_or((None, None, Limits::default()), |kept| {
        let paused = kept.paused_since.map(|since| Paused {
            by: kept.paused_by.unwrap_or_default(),
            since,
            reason: kept.paused_reason,
        });
        let held = kept.held_since.map(|since| Held {
            since,
            reason: kept.held_reason.unwrap_or_default(),
            next_probe_at: kept.next_probe_at,
        });
        (paused, held, kept.limits.into())
    });
    #[allow(clippy::cast_precision_loss)] // shown to a millisecond
    let seconds = |at: Micros| ((now - at) / 1000).max(0) as f64 / (SECOND / 1000) as f64;
    TaskShape {
        handler: declaration.map(|task| task.handler.clone()),
        source: declaration.is_some_and(|task| task.source),
        declared_by: declaration.map(|task| task.nodes.clone()).unwrap_or_default(),
        concurrency: declaration.map(|task| task.concurrency),
        limits,
        max_attempts: declared.max_attempts(&name),
        name,
        paused,
        pending: counts.pending,
        due: counts.due,
        at_least: counts.at_least,
        running: counts.running,
        completed: counts.completed,
        failed: counts.failed,
        rate_per_s: counts.rate_per_s(),
        oldest_due_age_s: counts.oldest_due_at.map(seconds),
        held,
        recent: counts.recent,
        ended_per_s: counts.ended_per_s(),
    }
}
