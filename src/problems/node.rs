//! Problems of nodes: none works, one fell silent.

use super::words::{age, count, moment};
use super::{Level, Problem};
use crate::model::time::{Micros, SECOND};
use crate::store::node_list::{NodeShape, NodeState};
use crate::store::status::Facts;
use crate::store::tasks::TaskShape;

/// A node that fell silent longer ago than this, and whose entries are all taken over, is history.
const NEWS: Micros = 3600 * SECOND;

/// True if some node works entries.
pub(super) fn someone_works(facts: &Facts) -> bool {
    facts.nodes.iter().any(|node| node.is_living() && node.has("worker"))
}

/// Entries are due and no node works.
pub(super) fn none_works(facts: &Facts) -> Option<Problem> {
    // Entries of a pull task start when an outside worker asks for them: any living node hands them out.
    let pulled = |task: &TaskShape| task.handler.as_deref() == Some("pull");
    let due: i64 = facts.tasks.iter().filter(|task| task.paused.is_none() && !pulled(task)).map(|task| task.due).sum();
    if due == 0 || someone_works(facts) {
        return None;
    }
    let (are, them) = if due == 1 { ("is", "it") } else { ("are", "them") };
    let sentence =
        format!("No node is working: {} {are} due and nothing starts {them}.", count(due, "entry", "entries"));
    let last = facts.nodes.iter().filter(|node| node.has("worker")).max_by_key(|node| node.seen_at);
    let mut problem = Problem::new(Level::Stopped, 4, "no_worker", sentence);
    problem.since = last.map(|node| node.stopped_at.unwrap_or(node.lease_until));
    problem.detail = Some(match last {
        Some(node) => last_beat(node, facts.now),
        None => "No node with the role worker was seen in the last 24 h.".to_owned(),
    });
    problem.command = Some("soloist serve".to_owned());
    Some(problem)
}

fn last_beat(node: &NodeShape, now: Micros) -> String {
    let end = if node.state == NodeState::Stopped { "then a clean stop" } else { "then silence" };
    format!("Last beat: {} at {}, {end}.", node.name, moment(node.seen_at, now))
}

/// Nodes whose lease ended without a stop, and that are not back.
pub(super) fn silent(facts: &Facts) -> impl Iterator<Item = Problem> + '_ {
    facts.nodes.iter().filter(|node| is_news(node, facts)).map(|node| {
        let since = age(facts.now - node.seen_at);
        let held = facts.held_by.get(&node.id).copied().unwrap_or(0);
        let taken = facts.taken_over.get(&node.id).copied().unwrap_or(0);
        let entries = |n| count(n, "entry", "entries");
        let sentence = match (held, taken) {
            (0, 0) => format!("{} has been silent for {since}; it held no entries.", node.name),
            (0, 1) => format!("{} has been silent for {since}; its entry was taken over.", node.name),
            (0, taken) => format!("{} has been silent for {since}; its {} were taken over.", node.name, entries(taken)),
            (held, _) => format!("{} has been silent for {since} and still holds {}.", node.name, entries(held)),
        };
        let mut problem = Problem::new(Level::Risk, 17, "node_silent", sentence);
        problem.detail = Some(format!(
            "Its lease ended at {} without a stop: it was killed, cut off or starved.",
            moment(node.lease_until, facts.now)
        ));
        problem.node = Some(node.name.clone());
        problem.since = Some(node.seen_at);
        problem
    })
}

fn is_news(node: &NodeShape, facts: &Facts) -> bool {
    let back = || facts.nodes.iter().any(|other| other.name == node.name && other.id > node.id);
    let holds = facts.held_by.contains_key(&node.id);
    node.state == NodeState::Silent && (holds || (node.lease_until > facts.now - NEWS && !back()))
}
