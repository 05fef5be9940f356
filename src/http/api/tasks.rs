//! Tasks: look, trigger, pause, resume.

use crate::http::problem::Problem;
use crate::store::tasks::declared::Declared;

/// No living node declares this task.
pub(super) fn no_task(declared: &Declared, task: &str) -> Problem {
    let help = declared.nearest(task).map(|name| format!("; did you mean {name:?}?")).unwrap_or_default();
    Problem::not_found("task_not_found", format!("no living node declares the task {task:?}{help}"))
}
