//! Problems of nodes: none works, one fell silent or loses its lease again and again, one stops, versions differ, the
//! clock has jumped.

use std::collections::BTreeMap;

use super::words::{age, count, counted, listed, moment};
use super::{Level, Problem};
use crate::model::time::{Micros, SECOND};
use crate::store::node_list::{NodeShape, NodeState};
use crate::store::status::Facts;
use crate::store::tasks::TaskShape;

/// The code of entries that nobody works.
pub(super) const NO_WORKER: &str = "no_worker";

/// Nodes of two versions side by side for less than this are being replaced.
const ROLLING: Micros = 600 * SECOND;

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
    let could = || facts.tasks.iter().filter(|task| task.paused.is_none() && !pulled(task));
    let due: i64 = could().map(|task| task.due).sum();
    let at_least = could().any(|task| task.at_least);
    if due == 0 || someone_works(facts) {
        return None;
    }
    let (are, them) = if due == 1 { ("is", "it") } else { ("are", "them") };
    let sentence = format!(
        "No node is working: {} {are} due and nothing starts {them}.",
        counted(due, at_least, "entry", "entries")
    );
    let last = facts.nodes.iter().filter(|node| node.has("worker")).max_by_key(|node| node.seen_at);
    let mut problem = Problem::new(Level::Stopped, 4, NO_WORKER, sentence);
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

/// Nodes that lost their lease at least twice within the hour, and are back.
pub(super) fn losing(facts: &Facts) -> Vec<Problem> {
    let mut lost: BTreeMap<&str, Vec<&NodeShape>> = BTreeMap::new();
    let of_the_hour = |node: &&NodeShape| node.state == NodeState::Silent && node.lease_until > facts.now - NEWS;
    for node in facts.nodes.iter().filter(of_the_hour) {
        lost.entry(&node.name).or_default().push(node);
    }
    let lives = |name: &str| facts.nodes.iter().any(|node| node.is_living() && node.name == name);
    let again = lost.into_iter().filter(|(name, nodes)| nodes.len() >= 2 && lives(name));
    let problem = |(name, nodes): (&str, Vec<&NodeShape>)| {
        let claims: i64 = nodes.iter().filter_map(|node| facts.taken_over.get(&node.id)).sum();
        let times = nodes.len();
        let effect = match claims {
            0 => "it held no entries then".to_owned(),
            n => format!("{} of it were taken over", count(n, "entry", "entries")),
        };
        let sentence = format!("{name} lost its lease {times} times in an hour, and {effect}.");
        let mut problem = Problem::new(Level::Risk, 25, "lease_lost_often", sentence);
        problem.detail = Some("It was killed, stopped or starved for longer than its lease lasts.".to_owned());
        problem.command = Some("soloist nodes list".to_owned());
        problem.node = Some(name.to_owned());
        problem.since = nodes.iter().map(|node| node.lease_until).min();
        problem
    };
    again.map(problem).collect()
}

/// Nodes that finish what they have before they stop.
pub(super) fn draining(facts: &Facts) -> impl Iterator<Item = Problem> + '_ {
    facts.nodes.iter().filter(|node| node.state == NodeState::Draining).map(|node| {
        let work = match facts.held_by.get(&node.id).copied().unwrap_or(0) {
            0 => "it has finished its work".to_owned(),
            n => format!("it finishes {} first", count(n, "entry", "entries")),
        };
        let mut note = Problem::new(Level::Note, 27, "node_stops", format!("{} is stopping: {work}.", node.name));
        note.detail = Some("What does not finish in time is handed back; no attempt is counted.".to_owned());
        note.command = Some("soloist nodes list".to_owned());
        note.node = Some(node.name.clone());
        note
    })
}

/// The versions of the living nodes, each once, and when the newest of those nodes started.
fn versions(facts: &Facts) -> (Vec<&str>, Micros) {
    let living = || facts.nodes.iter().filter(|node| node.is_living());
    let mut versions: Vec<_> = living().map(|node| node.version.as_str()).collect();
    versions.sort_unstable();
    versions.dedup();
    (versions, living().map(|node| node.started_at).max().unwrap_or(0))
}

/// True while nodes are just being replaced by those of another version.
pub(super) fn is_rolling(facts: &Facts) -> bool {
    let (versions, since) = versions(facts);
    versions.len() > 1 && facts.now - since < ROLLING
}

/// Nodes of several versions side by side for long.
pub(super) fn versions_differ(facts: &Facts) -> Option<Problem> {
    let (versions, since) = versions(facts);
    if versions.len() < 2 || facts.now - since < ROLLING {
        return None;
    }
    let sentence = format!("Nodes run {} side by side since {}.", listed(&versions), moment(since, facts.now));
    let mut note = Problem::new(Level::Note, 29, "versions_differ", sentence);
    note.detail = Some("They work together; the newest schema is in force.".to_owned());
    note.command = Some("soloist nodes list".to_owned());
    note.since = Some(since);
    Some(note)
}

/// The database's clock jumped within the hour.
pub(super) fn clock_jumped(facts: &Facts) -> Option<Problem> {
    let jump =
        facts.standing.jumps.iter().filter(|jump| facts.now - jump.at < NEWS).max_by_key(|jump| jump.by.abs())?;
    let way = if jump.by < 0 { "back" } else { "forward" };
    let sentence =
        format!("The database's clock jumped {way} by {} at {}.", age(jump.by.abs()), moment(jump.at, facts.now));
    let mut problem = Problem::new(Level::Risk, 23, "clock_jumped", sentence);
    problem.detail = Some(format!(
        "Nothing was taken over for {}, to be safe; a due time fires once all the same. Seen by {}.",
        age(jump.lease),
        jump.node
    ));
    problem.command = Some("soloist nodes list".to_owned());
    problem.since = Some(jump.at);
    Some(problem)
}

fn is_news(node: &NodeShape, facts: &Facts) -> bool {
    let back = || facts.nodes.iter().any(|other| other.name == node.name && other.id > node.id);
    let holds = facts.held_by.contains_key(&node.id);
    node.state == NodeState::Silent && (holds || (node.lease_until > facts.now - NEWS && !back()))
}
