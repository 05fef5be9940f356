//! Problems of background duties: one fails, or nobody has heard of it for too long.

use std::collections::BTreeMap;

use super::words::{first_line, listed, moment};
use super::{Level, Problem};
use crate::model::time::{Micros, SECOND};
use crate::store::duties::DutyShape;
use crate::store::node_list::{NodeShape, NodeState};
use crate::store::status::Facts;

/// A node tells how its duties stand at least every 5 s.
const TOLD: Micros = 15 * SECOND;

/// What each duty is called in a sentence, and what its absence means.
const EFFECTS: [(&str, &str, &str); 10] = [
    ("lease", "Keeping the lease", "what it holds goes to other nodes"),
    ("leadership", "Leading", "due times fire a second late when the leader ends"),
    ("firing", "Firing", "due times are not looked at"),
    ("rescue", "Rescue", "what a dead node held stays where it is"),
    ("verify", "Verifying claims", "what was claimed in vain waits for the end of the lease"),
    ("sweep", "Sweeping", "new rows do not become entries"),
    ("sums", "Writing sums", "figures of this node are old"),
    ("counts", "Counting", "of what waits no more than 10,000 are counted"),
    ("prune", "Pruning", "what is past its keep stays"),
    ("wake-up", "The database's wake-up", "what is due is found by looking, within `poll`"),
];

/// Without these something does not work.
const VITAL: [&str; 5] = ["lease", "firing", "rescue", "verify", "sweep"];

/// Duties that fail or are silent; one that fails on several nodes is one problem.
pub(super) fn stuck(facts: &Facts) -> Vec<Problem> {
    let lives = |id: i64| facts.nodes.iter().find(|node| node.id == id && node.state == NodeState::Living);
    let silent: Vec<_> = facts.standing.told.iter().filter(|(_, at)| facts.now - at > TOLD).collect();
    let mut problems: Vec<_> =
        silent.iter().filter_map(|(id, at)| lives(*id).map(|node| untold(node, *at, facts.now))).collect();
    let mut stuck: BTreeMap<&str, Vec<(&DutyShape, Micros)>> = BTreeMap::new();
    let mut done: BTreeMap<&str, usize> = BTreeMap::new();
    for duty in &facts.standing.duties {
        if lives(duty.node_id).is_none() || silent.iter().any(|(id, _)| *id == duty.node_id) {
            continue;
        }
        // A source that cannot be read is a problem of its task.
        if duty.name == "sweep" && facts.sweeps.iter().any(|sweep| sweep.failed_since.is_some()) {
            continue;
        }
        match since(duty, facts.now) {
            Some(since) => stuck.entry(&duty.name).or_default().push((duty, since)),
            None => *done.entry(&duty.name).or_default() += 1,
        }
    }
    problems.extend(stuck.into_iter().map(|(name, on)| {
        let elsewhere = done.contains_key(name);
        problem(name, &on, elsewhere, facts.now)
    }));
    problems
}

/// Since when a duty is not done, if that is for longer than it may be.
fn since(duty: &DutyShape, now: Micros) -> Option<Micros> {
    let fails = duty.failing_since.filter(|since| now - since > duty.patience);
    let is_silent = duty.every_s.is_some() && now - duty.done_at > duty.patience;
    fails.or_else(|| is_silent.then_some(duty.done_at))
}

fn problem(name: &str, on: &[(&DutyShape, Micros)], elsewhere: bool, now: Micros) -> Problem {
    let known = EFFECTS.iter().find(|(duty, ..)| *duty == name);
    let (what, effect) = known.map_or((name, "it is not done"), |(_, what, effect)| (*what, *effect));
    let since = on.iter().map(|(_, since)| *since).min().unwrap_or(now);
    let nodes: Vec<_> = on.iter().map(|(duty, _)| duty.node.as_str()).collect();
    let level = if VITAL.contains(&name) && !elsewhere { Level::Broken } else { Level::Risk };
    let sentence = match elsewhere {
        true => format!("{what} has not worked on {} since {}; other nodes do it.", listed(&nodes), moment(since, now)),
        false => format!("{what} has not worked since {}: {effect}.", moment(since, now)),
    };
    let mut problem = Problem::new(level, 15, "duty_fails", sentence);
    let error = on.iter().find_map(|(duty, _)| duty.error.as_deref().map(|error| (duty, error)));
    problem.detail = Some(match error {
        Some((duty, error)) => format!("`{}`, on {}.", first_line(error), duty.node),
        None => format!("Nothing has been heard of it on {}.", listed(&nodes)),
    });
    problem.command = Some("soloist nodes list".to_owned());
    problem.node = if let [one] = nodes.as_slice() { Some((*one).to_owned()) } else { None };
    problem.since = Some(since);
    problem
}

/// The node lives, and says nothing of its duties.
fn untold(node: &NodeShape, told_at: Micros, now: Micros) -> Problem {
    let since = moment(told_at, now);
    let sentence = format!("{} keeps its lease and has not said since {since} how its duties stand.", node.name);
    let mut problem = Problem::new(Level::Risk, 15, "duties_silent", sentence);
    problem.detail = Some("A statement of it waits for a lock, or the node is starved.".to_owned());
    problem.command = Some("soloist nodes list".to_owned());
    problem.node = Some(node.name.clone());
    problem.since = Some(told_at);
    problem
}
