//! The state of the whole as text: problems first, then tasks, firings and nodes.

use crate::cli::time_text::{due, shown};
use crate::cli::{output, table, tasks};
use crate::problems::{Level, Problem};
use crate::store::status::Status;
use crate::store::tasks::TaskShape;

/// All of it, lines without an end.
pub(super) fn of(state: &Status) -> String {
    let mut parts = vec![words(state), tasks_table(state)];
    if !state.next_firings.is_empty() || !state.last_firings.is_empty() {
        parts.extend([next_firings(state), last_firings(state)]);
    }
    parts.push(nodes(state));
    parts.join("\n\n")
}

/// The verdict or the problems, and what somebody chose.
fn words(state: &Status) -> String {
    let mut lines = Vec::new();
    if state.problems.is_empty() {
        lines.push(state.verdict.sentence.clone());
        lines.extend(state.verdict.detail.iter().map(|detail| format!("  {detail}")));
    }
    for problem in state.problems.iter().chain(&state.notes) {
        lines.push(mark(problem));
        lines.extend(problem.detail.iter().map(|detail| format!("  {detail}")));
        lines.extend(problem.command.iter().map(|command| format!("  $ {command}")));
    }
    lines.join("\n")
}

/// A sentence with its level: a word, and a colour where that is wanted.
fn mark(problem: &Problem) -> String {
    let (colour, word) = match problem.level {
        Level::Stopped => ("\x1b[1;31m", "STOPPED"),
        Level::Broken => ("\x1b[31m", "BROKEN "),
        Level::Risk => ("\x1b[33m", "AT RISK"),
        Level::Note => return problem.sentence.clone(),
    };
    let sentence = &problem.sentence;
    if output::takes_colours() { format!("{colour}{word}\x1b[0m {sentence}") } else { format!("{word} {sentence}") }
}

fn tasks_table(state: &Status) -> String {
    let headings =
        ["TASK", "PENDING", "DUE", "OLDEST DUE", "RUNNING", "COMPLETED 24 h", "FAILED 24 h", "PER S", "STATE"];
    table::text(&headings, state.tasks.iter().map(task_row).collect(), "No task is declared, and no entry waits.")
}

fn task_row(task: &TaskShape) -> Vec<String> {
    let oldest = task.oldest_due_age_s.map(|age| format!("{age:.1} s")).unwrap_or_default();
    vec![
        task.name.clone(),
        tasks::counted(task.pending, task),
        tasks::counted(task.due, task),
        oldest,
        task.running.to_string(),
        task.completed.to_string(),
        task.failed.to_string(),
        format!("{:.1}", task.rate_per_s),
        tasks::state(task),
    ]
}

fn next_firings(state: &Status) -> String {
    let row = |next: &crate::store::schedules::ScheduleShape| {
        vec![next.name.clone(), next.definition.task.clone(), next.next_fire_at.map(due).unwrap_or_default()]
    };
    let rows = state.next_firings.iter().map(row).collect();
    table::text(&["NEXT FIRINGS", "TASK", "AT"], rows, "No schedule fires any more.")
}

fn last_firings(state: &Status) -> String {
    let rows = state.last_firings.iter().map(|last| {
        let times = last.count.filter(|count| *count > 1).map(|count| format!(" × {count}")).unwrap_or_default();
        vec![
            last.schedule.clone(),
            due(last.scheduled_for),
            last.late_ms.map(|late| format!("{late:.0} ms")).unwrap_or_default(),
            format!("{}{times}", last.outcome),
            last.result.clone().or_else(|| last.reason.clone()).unwrap_or_default(),
        ]
    });
    table::text(&["LAST FIRINGS", "DUE", "LATE", "OUTCOME", "RESULT"], rows.collect(), "Nothing has fired yet.")
}

fn nodes(state: &Status) -> String {
    let leads = |id| state.leader.as_ref().is_some_and(|leader| leader.id == id);
    let rows = state.nodes.iter().map(|node| {
        let mut roles = node.roles.join(", ");
        if leads(node.id) {
            roles.push_str(" (leads)");
        }
        vec![
            node.name.clone(),
            node.id.to_string(),
            roles,
            shown(node.started_at),
            shown(node.seen_at),
            node.version.clone(),
        ]
    });
    table::text(&["NODE", "ID", "ROLES", "STARTED", "SEEN", "VERSION"], rows.collect(), "No node is running.")
}
