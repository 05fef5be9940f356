//! Tasks: look, trigger, pause, resume, try a host again.

use std::slice;

use actix_web::HttpRequest;
use actix_web::http::StatusCode;
use actix_web::web::Data;
use serde::Serialize;
use utoipa::ToSchema;

use crate::http::answer::{self, Answer};
use crate::http::body::Body;
use crate::http::cursor;
use crate::http::fields::invalid;
use crate::http::idempotency::{Idempotency, Key};
use crate::http::path::TaskName;
use crate::http::problem::Problem;
use crate::http::query::{PartOfList, Query};
use crate::http::state::ApiState;
use crate::http::tokens::Caller;
use crate::http::trace_header::TraceHeader;
use crate::model::NewEntry;
use crate::store::Connection;
use crate::store::entries::Page;
use crate::store::tasks::declared::{self, Declared};
use crate::store::tasks::{self, TaskShape};
use crate::store::{holds, sweeps};

use super::new_entry::{self, Work};
use super::reason::{self, Reason};

/// What was made: entries, or a sweep that has collected so many rows yet.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(super) enum Triggered {
    Entries { entries: Vec<i64> },
    Sweep { sweep: i64, collected: i64 },
}

/// Tasks, by name: what living nodes declare, what has entries, what is paused or held back.
#[utoipa::path(
    get, path = "/tasks", tag = "tasks", operation_id = "list_tasks", params(PartOfList),
    responses((status = 200, body = Page<TaskShape>)),
    security(("token" = ["read"])),
)]
pub(super) async fn list(state: Data<ApiState>, request: HttpRequest) -> Answer {
    let query = Query::read(&request, &["limit", "cursor"])?;
    let (limit, after) = (query.limit()?, cursor::text(&query)?);
    let mut items = state.database(|connection| Ok(tasks::list(connection)?)).await?;
    items.retain(|task| after.as_ref().is_none_or(|after| task.name > *after));
    let goes_on = items.len() > limit;
    items.truncate(limit);
    let next_cursor = items.last().filter(|_| goes_on).map(|task| cursor::after(&task.name));
    answer::ok(&Page { items, next_cursor })
}

/// One task.
#[utoipa::path(
    get, path = "/tasks/{task}", tag = "tasks", operation_id = "show_task", params(TaskName),
    responses((status = 200, body = TaskShape), (status = 404, description = "`task_not_found`")),
    security(("token" = ["read"])),
)]
pub(super) async fn show(state: Data<ApiState>, TaskName(task): TaskName, request: HttpRequest) -> Answer {
    Query::read(&request, &[])?;
    answer::ok(&state.database(move |connection| get(connection, &task)).await?)
}

/// A sweep where the task has a source, else an entry, now.
#[utoipa::path(
    post, path = "/tasks/{task}/trigger", tag = "tasks", operation_id = "trigger_task", params(TaskName, Key),
    request_body = Option<Work>,
    responses(
        (status = 202, body = Triggered),
        (status = 404, description = "`task_not_found`"),
        (status = 409, description = "`key_held`: by the entry `entry_id`"),
        (status = 422, description = "`idempotency_key_reused`"),
    ),
    security(("token" = ["trigger"])),
)]
pub(super) async fn trigger(
    state: Data<ApiState>,
    TaskName(task): TaskName,
    idempotency: Idempotency,
    TraceHeader(trace): TraceHeader,
    body: Body,
) -> Answer {
    let mut fields = body.object_or_nothing()?;
    let given = ["payload", "key", "run_at", "priority"].into_iter().find(|name| fields.raw(name).is_some());
    let entry = NewEntry { trace, ..new_entry::work(fields, task.clone())? };
    let trigger = move |connection: &mut Connection| {
        let declared = declared::living(connection)?;
        let Some(known) = declared.tasks.get(&task) else { return Err(no_task(&declared, &task)) };
        if !known.source {
            let accepted = new_entry::accept(connection, slice::from_ref(&entry))?;
            return answer::text(&Triggered::Entries { entries: accepted.iter().map(|entry| entry.id).collect() });
        }
        if let Some(name) = given {
            return Err(invalid(name, format!("is not taken here: {task:?} has a source, whose rows are swept")));
        }
        let id = connection.transaction(|connection| sweeps::request(connection, &task))?;
        answer::text(&Triggered::Sweep { sweep: id, collected: sweeps::collected(connection, id)? })
    };
    state.once(idempotency, &body, StatusCode::ACCEPTED, trigger).await
}

/// No entry of it starts on any node until it is resumed.
#[utoipa::path(
    post, path = "/tasks/{task}/pause", tag = "tasks", operation_id = "pause_task", params(TaskName),
    request_body = Option<Reason>,
    responses((status = 200, body = TaskShape), (status = 404, description = "`task_not_found`")),
    security(("token" = ["admin"])),
)]
pub(super) async fn pause(state: Data<ApiState>, caller: Caller, TaskName(task): TaskName, body: Body) -> Answer {
    let reason = reason::of_body(&body)?;
    let paused = state.write(move |connection| {
        get(connection, &task)?;
        tasks::pause(connection, &task, &caller.by(), reason.as_deref())?;
        get(connection, &task)
    });
    answer::ok(&paused.await?)
}

/// Its entries start again.
#[utoipa::path(
    post, path = "/tasks/{task}/resume", tag = "tasks", operation_id = "resume_task", params(TaskName),
    responses((status = 200, body = TaskShape), (status = 404, description = "`task_not_found`")),
    security(("token" = ["admin"])),
)]
pub(super) async fn resume(state: Data<ApiState>, caller: Caller, TaskName(task): TaskName, body: Body) -> Answer {
    body.object_or_nothing()?.finish()?;
    let resumed = state.write(move |connection| {
        let before = get(connection, &task)?;
        tasks::resume(connection, &task, &caller.by())?;
        // One that was known only for its pause is gone with it.
        Ok(tasks::get(connection, &task)?.unwrap_or(TaskShape { paused: None, ..before }))
    });
    answer::ok(&resumed.await?)
}

/// Tries a host that refuses now, whenever the next try was to be.
#[utoipa::path(
    post, path = "/tasks/{task}/probe", tag = "tasks", operation_id = "probe_task", params(TaskName),
    responses(
        (status = 200, body = TaskShape),
        (status = 404, description = "`task_not_found`"),
        (status = 409, description = "`task_not_held`: its host is called anyway"),
    ),
    security(("token" = ["admin"])),
)]
pub(super) async fn probe(state: Data<ApiState>, caller: Caller, TaskName(task): TaskName, body: Body) -> Answer {
    body.object_or_nothing()?.finish()?;
    let probed = state.write(move |connection| {
        get(connection, &task)?;
        if !holds::probe_now(connection, &task, &caller.by())? {
            let detail = format!("{task:?} is not held back: its host is called as its entries are due");
            return Err(Problem::conflict("task_not_held", detail));
        }
        get(connection, &task)
    });
    answer::ok(&probed.await?)
}

fn get(connection: &mut Connection, task: &str) -> Result<TaskShape, Problem> {
    match tasks::get(connection, task)? {
        Some(task) => Ok(task),
        None => Err(no_task(&declared::living(connection)?, task)),
    }
}

/// No living node declares this task.
pub(super) fn no_task(declared: &Declared, task: &str) -> Problem {
    let help = declared.nearest(task).map(|name| format!("; did you mean {name:?}?")).unwrap_or_default();
    Problem::not_found("task_not_found", format!("no living node declares the task {task:?}{help}"))
}
