//! The state of the whole: what the problems are worked out from, and the shape that CLI and API show.

use std::collections::BTreeMap;

use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Nullable, Text};
use serde::Serialize;

use super::connection::Connection;
use super::firings::{self, FiringShape};
use super::node_list::{self, Leader, NodeShape};
use super::nodes;
use super::schedules::{self, ScheduleShape};
use super::statement::Statement;
use super::sweeps::{self, Sweep};
use super::tasks::declared::{self, Declared};
use super::tasks::{self, TaskShape};
use crate::error::Result;
use crate::model::entry;
use crate::model::time::{Micros, SECOND};
use crate::problems::{self, Problem, Verdict};

/// Schedules and firings that are shown of each kind.
const SHOWN: usize = 10;

const DAY: Micros = 86_400 * SECOND;
/// Failed entries that are read to name the most frequent error.
const SAMPLE: i64 = 1000;

/// Rows of one moment, from which problems are worked out.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// The database's clock.
    pub now: Micros,
    /// All tasks.
    pub tasks: Vec<TaskShape>,
    /// Nodes seen in the last day, newest incarnation first.
    pub nodes: Vec<NodeShape>,
    /// Entries that each node still holds.
    pub held_by: BTreeMap<i64, i64>,
    /// Entries that were taken over from each node in the last day.
    pub taken_over: BTreeMap<i64, i64>,
    /// Errors of entries that failed for good in the last day, newest first, with their task; a bounded sample.
    pub failures: Vec<(String, String)>,
    /// Sweeps that are not over.
    pub sweeps: Vec<Sweep>,
    /// What living nodes declare.
    pub declared: Declared,
    /// Who fires first.
    pub leader: Option<Leader>,
    /// Schedules that fire next, soonest first.
    pub next: Vec<ScheduleShape>,
    /// Schedules that do not fire: paused, or declared by nobody any more.
    pub silent: Vec<ScheduleShape>,
    /// What fired last, newest first.
    pub last: Vec<FiringShape>,
    /// Schedules that living nodes declare differently, and those nodes, the one that speaks last.
    pub differing: Vec<(String, Vec<String>)>,
}

/// The state of the whole, as people see it.
#[derive(Debug, Clone, Serialize)]
pub struct Status {
    /// When it was looked at, on the database's clock.
    #[serde(serialize_with = "entry::required_time")]
    pub as_of: Micros,
    /// The state in a sentence.
    pub verdict: Verdict,
    /// What is wrong, worst first.
    pub problems: Vec<Problem>,
    /// What somebody chose and should not forget: pauses.
    pub notes: Vec<Problem>,
    /// Who fires first.
    pub leader: Option<Leader>,
    /// Nodes that live.
    pub nodes: Vec<NodeShape>,
    /// All tasks.
    pub tasks: Vec<TaskShape>,
    /// Schedules that fire next, soonest first.
    pub next_firings: Vec<ScheduleShape>,
    /// What fired last or was left out, newest first.
    pub last_firings: Vec<FiringShape>,
}

/// Looks at everything once.
pub fn read(connection: &mut Connection) -> Result<Status> {
    Ok(of(facts(connection)?))
}

/// What a set of facts comes to.
pub fn of(facts: Facts) -> Status {
    let found = problems::find(&facts);
    let verdict = problems::verdict(&facts, &found);
    let Facts { now, tasks, nodes, leader, next, last, .. } = facts;
    Status {
        as_of: now,
        verdict,
        problems: found.problems,
        notes: found.notes,
        leader,
        nodes: nodes.into_iter().filter(NodeShape::is_living).collect(),
        tasks,
        next_firings: next,
        last_firings: last,
    }
}

/// Reads what problems are worked out from.
pub fn facts(connection: &mut Connection) -> Result<Facts> {
    let now = nodes::clock(connection)?;
    let declared = declared::living(connection)?;
    let tasks = tasks::list_at(connection, &declared, now)?;
    let failures =
        if tasks.iter().any(|task| task.failed > 0) { failures(connection, now, &tasks)? } else { Vec::new() };
    Ok(Facts {
        now,
        nodes: node_list::seen_since(connection, now - DAY, now)?,
        held_by: held_by(connection)?,
        taken_over: taken_over(connection, now)?,
        failures,
        sweeps: sweeps::open(connection, None)?,
        leader: node_list::leader(connection)?,
        next: schedules::next_firings(connection, SHOWN)?,
        silent: schedules::silent(connection, SHOWN)?,
        last: firings::list(connection, None, None, SHOWN)?,
        differing: schedules::differing(connection, SHOWN)?,
        tasks,
        declared,
    })
}

#[derive(QueryableByName)]
struct PerNode {
    #[diesel(sql_type = BigInt)]
    node_id: i64,
    #[diesel(sql_type = BigInt)]
    n: i64,
}

fn held_by(connection: &mut Connection) -> Result<BTreeMap<i64, i64>> {
    let sql = "SELECT node_id, count(*) AS n FROM soloist_entries \
               WHERE state = 'running' AND node_id IS NOT NULL AND finished_at IS NULL GROUP BY node_id";
    let rows: Vec<PerNode> = connection.load(Statement::new(sql))?;
    Ok(rows.into_iter().map(|row| (row.node_id, row.n)).collect())
}

fn taken_over(connection: &mut Connection, now: Micros) -> Result<BTreeMap<i64, i64>> {
    let sql = "SELECT node_id, count(*) AS n FROM soloist_attempts \
               WHERE outcome = 'lost' AND node_id IS NOT NULL AND finished_at > ? GROUP BY node_id";
    let rows: Vec<PerNode> = connection.load(Statement::new(sql).bind(now - DAY))?;
    Ok(rows.into_iter().map(|row| (row.node_id, row.n)).collect())
}

fn failures(connection: &mut Connection, now: Micros, tasks: &[TaskShape]) -> Result<Vec<(String, String)>> {
    #[derive(QueryableByName)]
    struct Failure {
        #[diesel(sql_type = Text)]
        task: String,
        #[diesel(sql_type = Nullable<Text>)]
        error: Option<String>,
    }
    let mut failures = Vec::new();
    let sql = "SELECT task, error FROM soloist_entries WHERE task = ? AND state = 'failed' AND finished_at > ? \
               ORDER BY finished_at DESC LIMIT ?";
    for task in tasks.iter().filter(|task| task.failed > 0) {
        let statement = Statement::new(sql).bind(task.name.as_str()).bind(now - DAY).bind(SAMPLE);
        let rows: Vec<Failure> = connection.load(statement)?;
        failures.extend(rows.into_iter().map(|row| (row.task, row.error.unwrap_or_default())));
    }
    Ok(failures)
}
