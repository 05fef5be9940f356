//! Problems of pace: a task stands still, falls behind, or has something running for much longer than usual.

use std::collections::{BTreeMap, BTreeSet};

use super::node::someone_works;
use super::words::{age, count, counted, moment, number};
use super::{Level, Problem};
use crate::model::time::{Micros, SECOND};
use crate::store::status::{Facts, LongRun};
use crate::store::tasks::TaskShape;

/// Entries that are due and could start do so within this.
const STILL: Micros = 10 * SECOND;
/// What waits for less does not fall behind.
const BEHIND: Micros = 60 * SECOND;
/// How much longer than usual something waits or runs before it is told.
const MUCH_LONGER_WAIT: Micros = 10;
const MUCH_LONGER_RUN: Micros = 5;

/// Entries that an outside worker has to ask for start when one does.
fn is_pulled(task: &TaskShape) -> bool {
    task.handler.as_deref() == Some("pull")
}

/// Declared, neither paused nor held back, and something is due.
fn could_start(task: &&TaskShape) -> bool {
    task.due > 0 && task.handler.is_some() && task.paused.is_none() && task.held.is_none() && !is_pulled(task)
}

/// Slots of a task over all nodes, and how many nodes have them.
fn slots(facts: &Facts, task: &TaskShape) -> (i64, i64) {
    let works =
        |name: &&String| facts.nodes.iter().any(|node| node.is_living() && node.has("worker") && node.name == **name);
    let nodes = i64::try_from(task.declared_by.iter().filter(works).count()).unwrap_or(i64::MAX);
    (task.concurrency.unwrap_or(0).saturating_mul(nodes), nodes)
}

#[allow(clippy::cast_possible_truncation)] // an age in seconds
fn due_since(facts: &Facts, task: &TaskShape) -> Micros {
    facts.now - (task.oldest_due_age_s.unwrap_or(0.0) * 1e6) as Micros
}

/// Tasks whose due entries could start and do not.
pub(super) fn still(facts: &Facts) -> impl Iterator<Item = Problem> + '_ {
    let works = someone_works(facts);
    facts.tasks.iter().filter(could_start).filter(move |_| works).filter_map(|task| {
        let (slots, _) = slots(facts, task);
        let free = slots - task.running;
        let since = due_since(facts, task).max(*facts.last_starts.get(&task.name)?);
        // One transaction may work what seems to wait: nothing is marked while it runs. A limit may keep it waiting.
        let works_unseen = task.handler.as_deref() == Some("sql");
        let limited = facts.declared.tasks.get(&task.name).is_some_and(|declared| declared.limits.any());
        if free <= 0 || works_unseen || limited || facts.now - since < STILL {
            return None;
        }
        let (verb, slots) = (if task.due == 1 { "is" } else { "are" }, if free == 1 { "slot is" } else { "slots are" });
        let sentence = format!(
            "`{}` stands still: {} {verb} due, {} {slots} free, and nothing has started for {}.",
            task.name,
            counted(task.due, task.at_least, "entry", "entries"),
            number(free),
            age(facts.now - since)
        );
        let mut problem = Problem::new(Level::Broken, 9, "task_stands", sentence);
        problem.detail = Some(
            "This should not happen: a node that works it is stuck, or another transaction holds its rows.".to_owned(),
        );
        problem.command = Some(format!("soloist entries list --task {} --state pending", task.name));
        problem.task = Some(task.name.clone());
        problem.since = Some(since);
        Some(problem)
    })
}

/// Tasks of which more comes in than goes out.
pub(super) fn behind(facts: &Facts) -> impl Iterator<Item = Problem> + '_ {
    let works = someone_works(facts);
    facts.tasks.iter().filter(could_start).filter(move |_| works).filter_map(|task| {
        let since = due_since(facts, task);
        let usual = facts.usual.get(&task.name).copied().unwrap_or_default();
        let long = BEHIND.max(usual.wait.unwrap_or(0).saturating_mul(MUCH_LONGER_WAIT));
        let kept = facts.kept.get(&task.name)?;
        let (earlier, at) = kept.earlier?;
        let minutes = minutes(kept.counted_at - at).filter(|minutes| *minutes >= 4.9)?;
        // Nothing waits any less than it did, and something starts: what stands still is another problem.
        let (growth, out) = (kept.due - earlier, task.ended_per_s * 60.0);
        if facts.now - since <= long || growth <= 0 || out <= 0.0 {
            return None;
        }
        #[allow(clippy::cast_precision_loss)] // far below 2^53
        let comes = out + growth as f64 / minutes;
        let sentence = format!(
            "`{}` falls behind: {} a minute come in, {} go out, and the oldest has waited {}.",
            task.name,
            rate(comes),
            rate(out),
            age(facts.now - since)
        );
        let mut problem = Problem::new(Level::Risk, 16, "task_behind", sentence);
        let (slots, nodes) = slots(facts, task);
        let busy = match task.running >= slots {
            true => format!("All {} on {} are busy", count(slots, "slot", "slots"), count(nodes, "node", "nodes")),
            false => format!("{} of {} are busy", number(task.running), count(slots, "slot", "slots")),
        };
        let takes = usual.run.map(|run| format!("; an attempt takes {}", age(run))).unwrap_or_default();
        problem.detail = Some(format!("{busy}{takes}."));
        problem.command = Some(format!("soloist tasks show {}", task.name));
        problem.task = Some(task.name.clone());
        problem.since = Some(since);
        Some(problem)
    })
}

#[allow(clippy::cast_precision_loss)] // minutes
fn minutes(span: Micros) -> Option<f64> {
    (span > 0).then(|| span as f64 / (60 * SECOND) as f64)
}

/// A number a minute, as people say it.
fn rate(per_minute: f64) -> String {
    #[allow(clippy::cast_possible_truncation)] // far below 2^53
    if per_minute >= 10.0 { number(per_minute.round() as i64) } else { format!("{per_minute:.1}") }
}

/// Entries that run for much longer than usual, those of one task or schedule together; not what is told to be in the
/// way of a due time.
pub(super) fn long(facts: &Facts) -> Vec<Problem> {
    let told: BTreeSet<_> = facts
        .unfired
        .iter()
        .filter(|(unfired, _)| unfired.outcome == "skipped")
        .filter_map(|(unfired, _)| unfired.entry_id)
        .collect();
    let mut of: BTreeMap<&str, (Vec<&LongRun>, Micros)> = BTreeMap::new();
    for (run, usual) in facts.long.iter().filter(|(run, _)| !told.contains(&run.id)) {
        let Some(usual) = usual.filter(|usual| facts.now - run.started_at > usual * MUCH_LONGER_RUN) else { continue };
        of.entry(run.schedule.as_ref().unwrap_or(&run.task)).or_insert((Vec::new(), usual)).0.push(run);
    }
    of.into_iter().filter_map(|(name, (runs, usual))| longest(facts, name, &runs, usual)).collect()
}

fn longest(facts: &Facts, name: &str, runs: &[&LongRun], usual: Micros) -> Option<Problem> {
    let first = runs.first()?;
    let (ran, usual) = (age(facts.now - first.started_at), age(usual));
    let sentence = match runs.len() {
        1 => format!("Entry {} of `{name}` has run for {ran}; {usual} is usual.", first.id),
        n => format!("{n} entries of `{name}` run for long, entry {} for {ran}; {usual} is usual.", first.id),
    };
    let mut problem = Problem::new(Level::Risk, 19, "runs_long", sentence);
    let node = facts.nodes.iter().find(|node| node.id == first.node_id);
    let on = match node {
        Some(node) if node.is_living() => format!("On {}, which is alive", node.name),
        Some(node) => format!("On {}, which does not live", node.name),
        None if first.node_id == 0 => "An outside worker has it".to_owned(),
        None => "Its node is gone".to_owned(),
    };
    problem.detail = Some(format!("{on}; it started at {}.", moment(first.started_at, facts.now)));
    problem.command = Some(format!("soloist entries show {}", first.id));
    problem.task = Some(first.task.clone());
    problem.schedule.clone_from(&first.schedule);
    problem.since = Some(first.started_at);
    Some(problem)
}
