//! The state of the whole: what the problems are worked out from, and the shape that CLI and API show.
//!
//! Every fact comes from an index, from sums or from a count that is kept: a look costs the same at any size.

mod due_times;
mod facts;
mod failures;
mod last_seen;
mod running;
mod writes;

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

use super::connection::Connection;
use super::duties::{DutyShape, Standing};
use super::firings::FiringShape;
use super::node_list::{Leader, NodeShape};
use super::schedules::{Hold, Origin, ScheduleShape};
use super::sweeps::Sweep;
use super::tasks::TaskShape;
use super::tasks::declared::Declared;
use super::tasks::kept::Kept;
use crate::error::Result;
use crate::model::entry;
use crate::model::time::Micros;
use crate::problems::{self, Problem, Verdict};

pub use due_times::{Lateness, Unfired};
pub use facts::facts;
pub use failures::Failure;
pub use last_seen::LastSeen;
pub use running::LongRun;

/// Rows of one moment, from which problems are worked out.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// The database's clock.
    pub now: Micros,
    /// Why the database cannot be reached, and since when, if it cannot. All else is then of an earlier moment.
    pub away: Option<Away>,
    /// Why the database refuses writes, if it does.
    pub refused: Option<String>,
    /// All tasks.
    pub tasks: Vec<TaskShape>,
    /// Nodes seen in the last day, newest incarnation first.
    pub nodes: Vec<NodeShape>,
    /// Entries that each node still holds.
    pub held_by: BTreeMap<i64, i64>,
    /// Entries that were taken over from each node in the last day.
    pub taken_over: BTreeMap<i64, i64>,
    /// Entries that failed for good in the last day, newest first of each task; a bounded sample.
    pub failures: Vec<Failure>,
    /// Attempts of the last minutes that did not work; a bounded sample.
    pub attempts: Vec<Failure>,
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
    /// How all schedules are held, if they are.
    pub held: Option<Hold>,
    /// What fired last, newest first.
    pub last: Vec<FiringShape>,
    /// Schedules that living nodes declare differently, and those nodes, the one that speaks last.
    pub differing: Vec<(String, Vec<String>)>,
    /// Schedules that living nodes declare and that are in force as people made them.
    pub taken: Vec<(String, Origin)>,
    /// Schedules that living nodes declare, while none of them fires any.
    pub unheard: Vec<String>,
    /// Schedules whose newest due time did not fire, and what a run of theirs usually takes.
    pub unfired: Vec<(Unfired, Option<Micros>)>,
    /// How late due times fired of late.
    pub lateness: Lateness,
    /// What runs for more than a minute, oldest first, and what is usual.
    pub long: Vec<(LongRun, Option<Micros>)>,
    /// When tasks whose entries wait for long last started one.
    pub last_starts: BTreeMap<String, Micros>,
    /// Counts that are kept, by task.
    pub kept: BTreeMap<String, Kept>,
    /// What entries usually wait, and what an attempt takes, of tasks that may fall behind.
    pub usual: BTreeMap<String, Usual>,
    /// How the duties of the living nodes stand.
    pub standing: Standing,
}

/// What is usual of a task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usual {
    /// From due to start.
    pub wait: Option<Micros>,
    /// From start to end.
    pub run: Option<Micros>,
}

/// A database that cannot be reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Away {
    /// In the words of whoever said it.
    pub error: String,
    /// Since when, on this host's clock.
    pub since: Micros,
    /// Of when the other facts are, if there are any.
    pub facts_of: Option<Micros>,
}

/// The state of the whole, as people see it.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Status {
    /// When it was looked at, on the database's clock.
    #[serde(serialize_with = "entry::required_time")]
    #[schema(value_type = String, format = DateTime)]
    pub as_of: Micros,
    /// True if the database could not be reached: all but problem and verdict is then of that moment.
    #[serde(skip)]
    pub away: bool,
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
    /// How the background duties of each living node stand.
    pub duties: Vec<DutyShape>,
}

/// Looks at everything once.
pub fn read(connection: &mut Connection) -> Result<Status> {
    Ok(of(facts(connection)?))
}

/// What a set of facts comes to.
pub fn of(facts: Facts) -> Status {
    let found = problems::find(&facts);
    let verdict = problems::verdict(&facts, &found);
    let Facts { now, away, tasks, nodes, leader, next, last, standing, .. } = facts;
    Status {
        away: away.is_some(),
        as_of: away.and_then(|away| away.facts_of).unwrap_or(now),
        verdict,
        problems: found.problems,
        notes: found.notes,
        leader,
        nodes: nodes.into_iter().filter(NodeShape::is_living).collect(),
        tasks,
        next_firings: next,
        last_firings: last,
        duties: standing.duties,
    }
}
