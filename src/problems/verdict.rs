//! The state of the whole as one sentence.

use serde::Serialize;

use super::node::someone_works;
use super::words::{age, count};
use super::{Found, Level};
use crate::store::status::Facts;

/// The state of the whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// The worst that there is; `note` if all is well.
    pub level: Level,
    /// In a sentence.
    pub sentence: String,
    /// What makes it more precise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// What the facts come to: the worst problem, or how well all is.
pub fn verdict(facts: &Facts, found: &Found) -> Verdict {
    if let Some(worst) = found.problems.first() {
        return Verdict { level: worst.level, sentence: worst.sentence.clone(), detail: worst.detail.clone() };
    }
    let well = |sentence: String, detail| Verdict { level: Level::Note, sentence, detail };
    let living = i64::try_from(facts.nodes.iter().filter(|node| node.is_living()).count()).unwrap_or(i64::MAX);
    let nodes = count(living, "node", "nodes");
    if living == 0 {
        return well(
            "No node is running, and no entry is due.".to_owned(),
            Some("Start one: soloist serve".to_owned()),
        );
    }
    let declared = facts.declared.tasks.len();
    if declared == 0 && someone_works(facts) {
        let help = "Write one in soloist.toml, or run: soloist init".to_owned();
        return well("Ready, but no task is declared: nothing can run.".to_owned(), Some(help));
    }
    let waiting: i64 = facts.tasks.iter().map(|task| task.pending).sum();
    let done: i64 = facts.tasks.iter().map(|task| task.completed + task.running).sum();
    if waiting + done == 0 {
        let tasks = count(i64::try_from(declared).unwrap_or(i64::MAX), "task", "tasks");
        return well(format!("Ready. {nodes}, {tasks} declared, nothing to do."), None);
    }
    let oldest = facts.tasks.iter().filter_map(|task| task.oldest_due_age_s).fold(0.0, f64::max);
    if oldest < 1.0 {
        return well(format!("All is well. {nodes}, nothing late."), None);
    }
    #[allow(clippy::cast_possible_truncation)] // an age in seconds
    let oldest = age((oldest * 1e6) as i64);
    let waits = if waiting == 1 { "waits" } else { "wait" };
    let entries = count(waiting, "entry", "entries");
    well(format!("All is well. {nodes}; {entries} {waits}, the oldest due for {oldest}."), None)
}
