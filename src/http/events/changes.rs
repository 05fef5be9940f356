//! What has changed from one look to the next, as events. Pure: what grows by itself, such as an age, is no change.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::model::time;
use crate::problems::Problem;
use crate::store::status::Status;
use crate::store::tasks::TaskShape;

/// Tasks that are told of one by one.
const MOST: usize = 50;

/// What is compared of a look.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Seen {
    tasks: BTreeMap<String, Value>,
    problems: BTreeMap<String, Value>,
    nodes: Value,
    leader: Value,
    schedules: Value,
    /// The newest firing.
    firing: i64,
}

impl Seen {
    pub fn of(status: &Status) -> Self {
        let nodes: Vec<_> = status.nodes.iter().map(|node| json!([node.id, node.state])).collect();
        let schedules = status.next_firings.iter().map(|one| json!([one.name, one.next_fire_at])).collect();
        Self {
            tasks: status.tasks.iter().map(|task| (task.name.clone(), self::task(task))).collect(),
            problems: status.problems.iter().map(|one| (subject(one), problem(one))).collect(),
            nodes: Value::Array(nodes),
            leader: json!(status.leader.as_ref().map(|leader| leader.id)),
            schedules: Value::Array(schedules),
            firing: status.last_firings.iter().map(|firing| firing.id).max().unwrap_or(0),
        }
    }
}

/// Events, each with its name. The last says which parts of the status to fetch again.
pub(super) fn between(before: &Seen, now: &Seen, status: &Status) -> Vec<(&'static str, Value)> {
    let mut events = Vec::new();
    let tasks: Vec<_> = now.tasks.iter().filter(|(name, task)| before.tasks.get(*name) != Some(task)).collect();
    let fewer = before.tasks.keys().any(|name| !now.tasks.contains_key(name));
    if tasks.len() <= MOST {
        events.extend(tasks.iter().map(|(_, task)| ("task", (*task).clone())));
    }
    for firing in status.last_firings.iter().rev().filter(|firing| firing.id > before.firing) {
        let due = time::rfc3339(firing.scheduled_for);
        let data = json!({ "id": firing.id, "schedule": firing.schedule, "scheduled_for": due,
                           "outcome": firing.outcome, "entry_id": firing.entry_id, "late_ms": firing.late_ms });
        events.push(("firing", data));
    }
    let new = now.problems.iter().filter(|(subject, _)| !before.problems.contains_key(*subject));
    events.extend(new.map(|(_, problem)| ("problem", problem.clone())));
    let over = before.problems.iter().filter(|(subject, _)| !now.problems.contains_key(*subject));
    events.extend(over.map(|(_, problem)| ("problem_over", problem.clone())));
    let parts = [
        ("tasks", fewer || !tasks.is_empty()),
        ("problems", !before.problems.keys().eq(now.problems.keys())),
        ("nodes", before.nodes != now.nodes),
        ("leader", before.leader != now.leader),
        ("schedules", before.schedules != now.schedules),
        ("firings", before.firing != now.firing),
    ];
    let changed: Vec<_> = parts.iter().filter(|(_, changed)| *changed).map(|(part, _)| *part).collect();
    if !changed.is_empty() {
        let data = json!({ "as_of": time::rfc3339(status.as_of), "level": status.verdict.level, "changed": changed });
        events.push(("status", data));
    }
    events
}

fn task(task: &TaskShape) -> Value {
    json!({ "name": task.name, "paused": task.paused.is_some(), "held": task.held.is_some(), "pending": task.pending,
            "due": task.due, "running": task.running, "completed": task.completed, "failed": task.failed })
}

/// What makes a problem the same one as before, whatever its sentence says by now.
fn subject(problem: &Problem) -> String {
    json!([problem.level, problem.code, problem.task, problem.schedule, problem.node]).to_string()
}

fn problem(problem: &Problem) -> Value {
    json!({ "level": problem.level, "code": problem.code, "sentence": problem.sentence, "task": problem.task,
            "schedule": problem.schedule, "node": problem.node })
}
