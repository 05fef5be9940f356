//! What is wrong, in sentences: the one place where problems are worked out, for CLI, API, metrics and dashboard.
//!
//! Pure over rows of one moment. A cause hides its consequences; the order is the same for everyone.

mod node;
mod schedule;
mod task;
mod verdict;
pub(crate) mod words;

use serde::Serialize;

use crate::model::entry;
use crate::model::time::Micros;
use crate::store::status::Facts;
pub use verdict::{Verdict, verdict};

/// How bad a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
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
    let mut problems = Vec::new();
    problems.extend(node::none_works(facts));
    problems.extend(schedule::none_fires(facts));
    problems.extend(schedule::undeclared(facts));
    problems.extend(schedule::differing(facts));
    problems.extend(task::all_paused(facts));
    problems.extend(task::held(facts));
    problems.extend(task::failing(facts));
    problems.extend(task::unknown(facts));
    problems.extend(task::sweeps(facts));
    problems.extend(node::silent(facts));
    problems.extend(task::failed(facts));
    let mut notes: Vec<Problem> = if problems.iter().any(|problem| problem.code == task::ALL_PAUSED) {
        Vec::new()
    } else {
        task::paused(facts).collect()
    };
    notes.extend(schedule::paused(facts));
    problems.sort_by(|a, b| order(a).cmp(&order(b)));
    notes.sort_by(|a, b| order(a).cmp(&order(b)));
    Found { problems, notes }
}

type Order<'a> = (std::cmp::Reverse<Level>, u8, Micros, Option<&'a str>);

fn order(problem: &Problem) -> Order<'_> {
    let name = problem.task.as_deref().or(problem.schedule.as_deref()).or(problem.node.as_deref());
    (std::cmp::Reverse(problem.level), problem.rank, problem.since.unwrap_or(Micros::MAX), name)
}

#[cfg(test)]
mod tests;
