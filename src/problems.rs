//! What is wrong, in sentences: the one place where problems are worked out, for CLI, API, metrics and dashboard.
//!
//! Pure over rows of one moment. A cause hides its consequences; the order is the same for everyone.

mod database;
mod duty;
mod failure;
mod firing;
mod node;
mod pace;
mod schedule;
mod task;
mod verdict;
pub(crate) mod words;

use serde::Serialize;
use utoipa::ToSchema;

use crate::model::entry;
use crate::model::time::Micros;
use crate::store::status::Facts;
pub use verdict::{Verdict, verdict};

/// How bad a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Nothing is wrong: somebody chose it.
    Note,
    /// It may become one.
    Risk,
    /// Something does not work.
    Broken,
    /// Nothing works.
    Stopped,
}

impl Level {
    /// The word that people type.
    pub fn word(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Risk => "risk",
            Self::Broken => "broken",
            Self::Stopped => "stopped",
        }
    }
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Problem {
    /// How bad it is.
    pub level: Level,
    /// Stable; for scripts and alerts.
    pub code: &'static str,
    /// What is so, since when, with what effect.
    pub sentence: String,
    /// Why, in the words of whoever said it, and what Soloist does by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The command that mends it or shows more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The task that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The schedule that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
    /// The node that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Since when it is so.
    #[serde(serialize_with = "entry::optional_time")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub since: Option<Micros>,
    /// Its place among those of its level: causes first.
    #[serde(skip)]
    rank: u8,
}

impl Problem {
    fn new(level: Level, rank: u8, code: &'static str, sentence: String) -> Self {
        let nothing = None;
        Self {
            level,
            code,
            sentence,
            detail: None,
            command: None,
            task: nothing.clone(),
            schedule: nothing.clone(),
            node: nothing,
            since: None,
            rank,
        }
    }
}

/// All that was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// What is wrong, worst first.
    pub problems: Vec<Problem>,
    /// What somebody chose.
    pub notes: Vec<Problem>,
}

/// Works out what is wrong.
pub fn find(facts: &Facts) -> Found {
    if let Some(away) = database::away(facts) {
        return Found { problems: vec![away], notes: Vec::new() };
    }
    let mut problems = Vec::new();
    problems.extend(database::refuses(facts));
    problems.extend(node::none_works(facts));
    problems.extend(schedule::none_fires(facts));
    problems.extend(task::all_paused(facts));
    problems.extend(task::held(facts));
    problems.extend(failure::failing(facts));
    problems.extend(pace::still(facts));
    problems.extend(task::unknown(facts));
    problems.extend(firing::missed(facts));
    problems.extend(schedule::undeclared(facts));
    problems.extend(task::sweeps(facts));
    problems.extend(failure::unmarked(facts));
    problems.extend(duty::stuck(facts));
    problems.extend(pace::behind(facts));
    problems.extend(node::silent(facts));
    problems.extend(firing::skipped(facts));
    problems.extend(pace::long(facts));
    problems.extend(failure::cut_off(facts));
    problems.extend(failure::failed(facts));
    problems.extend(firing::late(facts));
    problems.extend(node::clock_jumped(facts));
    problems.extend(schedule::differing(facts));
    problems.extend(schedule::taken(facts));
    problems.extend(node::losing(facts));
    hide_consequences(&mut problems);
    let mut notes: Vec<Problem> = if problems.iter().any(|problem| problem.code == task::ALL_PAUSED) {
        Vec::new()
    } else {
        task::paused(facts).collect()
    };
    notes.extend(schedule::held(facts));
    notes.extend(schedule::paused(facts));
    notes.extend(node::draining(facts));
    notes.extend(firing::moved_by_clocks(facts));
    notes.extend(node::versions_differ(facts));
    problems.sort_by(|a, b| order(a).cmp(&order(b)));
    notes.sort_by(|a, b| order(a).cmp(&order(b)));
    Found { problems, notes }
}

/// Leaves out what follows from another problem. What follows from one of the same task is not even found.
fn hide_consequences(problems: &mut Vec<Problem>) {
    if problems.iter().any(|problem| problem.code == database::REFUSED) {
        problems.retain(|problem| match problem.code {
            node::NO_WORKER | schedule::NO_SCHEDULER => false,
            _ => problem.level == Level::Stopped,
        });
    }
}

type Order<'a> = (std::cmp::Reverse<Level>, u8, Micros, Option<&'a str>);

fn order(problem: &Problem) -> Order<'_> {
    let name = problem.task.as_deref().or(problem.schedule.as_deref()).or(problem.node.as_deref());
    (std::cmp::Reverse(problem.level), problem.rank, problem.since.unwrap_or(Micros::MAX), name)
}

#[cfg(test)]
mod tests;
