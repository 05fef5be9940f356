//! Schedules: make, look, change, remove, pause, resume, fire.

mod wanted;

use actix_web::HttpRequest;
use actix_web::http::StatusCode;
use actix_web::web::Data;

use super::new_entry;
use super::reason::{self, Reason};
use super::tasks::Triggered;
use crate::error::Error;
use crate::http::answer::{self, Answer};
use crate::http::body::Body;
use crate::http::cursor;
use crate::http::fields::invalid;
use crate::http::idempotency::{Idempotency, Key};
use crate::http::path::ScheduleName;
use crate::http::problem::Problem;
use crate::http::query::{PartOfList, Query};
use crate::http::state::ApiState;
use crate::http::tokens::Caller;
use crate::store::Connection;
use crate::store::entries::Page;
use crate::store::schedules::{self, ScheduleShape};
use crate::store::sweeps;
use crate::store::tasks::declared::{self, Declared};
use wanted::{Asked, NewSchedule, Pause, ScheduleFields, Shown, wrong};

/// Schedules, by name.
#[utoipa::path(
    get, path = "/schedules", tag = "schedules", operation_id = "list_schedules", params(PartOfList),
    responses((status = 200, body = Page<ScheduleShape>)),
    security(("token" = ["read"])),
)]
pub(super) async fn list(state: Data<ApiState>, caller: Caller, request: HttpRequest) -> Answer {
    let query = Query::read(&request, &["limit", "cursor"])?;
    let (limit, after) = (query.limit()?, cursor::text(&query)?);
    let list = move |connection: &mut Connection| Ok(schedules::list(connection, after.as_deref(), limit + 1)?);
    let mut items = state.database(list).await?;
    let goes_on = items.len() > limit;
    items.truncate(limit);
    let next_cursor = items.last().filter(|_| goes_on).map(|schedule| cursor::after(&schedule.name));
    let visible = state.shows_payload(&caller);
    let items = items.into_iter().map(|schedule| Shown::new(schedule, visible)).collect::<Result<_, _>>()?;
    answer::ok(&Page { items, next_cursor })
}

/// Makes a schedule, which stays until it is removed.
#[utoipa::path(
    post, path = "/schedules", tag = "schedules", operation_id = "create_schedule", request_body = NewSchedule,
    responses(
        (status = 201, body = ScheduleShape),
        (status = 409, description = "`schedule_exists`"),
        (status = 422, description = "`task_not_declared` by any living node"),
    ),
    security(("token" = ["admin"])),
)]
pub(super) async fn create(state: Data<ApiState>, caller: Caller, body: Body) -> Answer {
    let mut fields = body.object()?;
    let name = fields.required_text("name")?;
    let Asked { wanted, paused } = wanted::read(fields)?;
    let schedule = wanted.make(&name).map_err(wrong)?;
    let by = caller.by();
    let made = state.reschedule(move |connection| {
        let living = declared::living(connection)?;
        check_task(&living, &schedule.task)?;
        connection.atomically(|connection| {
            let made = schedules::create(connection, schedule, &by).map_err(refused("schedule_exists"))?;
            match paused {
                Some(Pause::On { reason }) => Ok(schedules::pause(connection, &name, &by, reason.as_deref())?),
                _ => Ok(made),
            }
        })
    });
    answer::json(StatusCode::CREATED, &Shown::new(made.await?, state.shows_payload(&caller))?)
}

/// One schedule.
#[utoipa::path(
    get, path = "/schedules/{schedule}", tag = "schedules", operation_id = "show_schedule", params(ScheduleName),
    responses((status = 200, body = ScheduleShape), (status = 404, description = "`schedule_not_found`")),
    security(("token" = ["read"])),
)]
pub(super) async fn show(
    state: Data<ApiState>,
    caller: Caller,
    ScheduleName(name): ScheduleName,
    request: HttpRequest,
) -> Answer {
    Query::read(&request, &[])?;
    let get = move |connection: &mut Connection| get(connection, &name);
    shown(&state, &caller, state.database(get).await?)
}

/// What is given is changed, `null` goes back to the default.
#[utoipa::path(
    patch, path = "/schedules/{schedule}", tag = "schedules", operation_id = "change_schedule", params(ScheduleName),
    request_body = ScheduleFields,
    responses(
        (status = 200, body = ScheduleShape),
        (status = 404, description = "`schedule_not_found`"),
        (status = 409, description = "`schedule_declared`: it belongs to the configuration of nodes"),
        (status = 422, description = "`task_not_declared` by any living node"),
    ),
    security(("token" = ["admin"])),
)]
pub(super) async fn change(
    state: Data<ApiState>,
    caller: Caller,
    ScheduleName(name): ScheduleName,
    body: Body,
) -> Answer {
    let mut fields = body.object()?;
    if fields.text("name")?.is_some_and(|other| other != name) {
        return Err(invalid("name", format!("must be {name:?}: a schedule keeps its name")));
    }
    let Asked { wanted, paused } = wanted::read(fields)?;
    let by = caller.by();
    let changed = state.reschedule(move |connection| {
        let living = declared::living(connection)?;
        connection.atomically(|connection| {
            if !wanted.is_empty() {
                let changed = schedules::change(connection, &name, &by, |before| {
                    let task = before.task.clone();
                    let after = wanted.change(before).map_err(|error| Change::Wrong(wrong(error)))?;
                    if after.task != task {
                        check_task(&living, &after.task).map_err(Change::Wrong)?;
                    }
                    Ok(after)
                });
                changed.map_err(|error| match error {
                    Change::Wrong(problem) => problem,
                    Change::Refused(error) => refused("schedule_declared")(error),
                })?;
            }
            match paused {
                Some(Pause::On { reason }) => schedules::pause(connection, &name, &by, reason.as_deref()),
                Some(Pause::Off) => schedules::resume(connection, &name, &by),
                None => schedules::get(connection, &name),
            }
            .map_err(refused("conflict"))
        })
    });
    shown(&state, &caller, changed.await?)
}

/// Removes a schedule; what it has made goes on.
#[utoipa::path(
    delete, path = "/schedules/{schedule}", tag = "schedules", operation_id = "remove_schedule", params(ScheduleName),
    responses(
        (status = 204),
        (status = 404, description = "`schedule_not_found`"),
        (status = 409, description = "`schedule_declared`: it belongs to the configuration of nodes"),
    ),
    security(("token" = ["admin"])),
)]
pub(super) async fn remove(
    state: Data<ApiState>,
    caller: Caller,
    ScheduleName(name): ScheduleName,
    request: HttpRequest,
) -> Answer {
    Query::read(&request, &[])?;
    let remove = move |connection: &mut Connection| {
        schedules::remove(connection, &name, &caller.by()).map_err(refused("schedule_declared"))
    };
    state.reschedule(remove).await?;
    answer::no_content()
}

/// It does not fire until it is resumed.
#[utoipa::path(
    post, path = "/schedules/{schedule}/pause", tag = "schedules", operation_id = "pause_schedule",
    params(ScheduleName), request_body = Option<Reason>,
    responses((status = 200, body = ScheduleShape), (status = 404, description = "`schedule_not_found`")),
    security(("token" = ["admin"])),
)]
pub(super) async fn pause(
    state: Data<ApiState>,
    caller: Caller,
    ScheduleName(name): ScheduleName,
    body: Body,
) -> Answer {
    let reason = reason::of_body(&body)?;
    let by = caller.by();
    let pause = move |connection: &mut Connection| {
        schedules::pause(connection, &name, &by, reason.as_deref()).map_err(refused("conflict"))
    };
    shown(&state, &caller, state.reschedule(pause).await?)
}

/// It fires again.
#[utoipa::path(
    post, path = "/schedules/{schedule}/resume", tag = "schedules", operation_id = "resume_schedule",
    params(ScheduleName),
    responses((status = 200, body = ScheduleShape), (status = 404, description = "`schedule_not_found`")),
    security(("token" = ["admin"])),
)]
pub(super) async fn resume(
    state: Data<ApiState>,
    caller: Caller,
    ScheduleName(name): ScheduleName,
    body: Body,
) -> Answer {
    body.object_or_nothing()?.finish()?;
    let by = caller.by();
    let resume =
        move |connection: &mut Connection| schedules::resume(connection, &name, &by).map_err(refused("conflict"));
    shown(&state, &caller, state.reschedule(resume).await?)
}

/// Fires now, beside its due times.
#[utoipa::path(
    post, path = "/schedules/{schedule}/fire", tag = "schedules", operation_id = "fire_schedule",
    params(ScheduleName, Key),
    responses(
        (status = 202, body = Triggered),
        (status = 404, description = "`schedule_not_found`"),
        (status = 409, description = "`conflict`: it has stopped"),
        (status = 422, description = "`idempotency_key_reused`"),
    ),
    security(("token" = ["trigger"])),
)]
pub(super) async fn fire(
    state: Data<ApiState>,
    caller: Caller,
    ScheduleName(name): ScheduleName,
    idempotency: Idempotency,
    body: Body,
) -> Answer {
    body.object_or_nothing()?.finish()?;
    let fire = move |connection: &mut Connection| {
        let made = schedules::fire(connection, &name, &caller.by()).map_err(refused("conflict"))?;
        answer::text(&match made.sweep_id {
            Some(id) => Triggered::Sweep { sweep: id, collected: sweeps::collected(connection, id)? },
            None => Triggered::Entries { entries: made.entry_id.into_iter().collect() },
        })
    };
    state.once(idempotency, &body, StatusCode::ACCEPTED, fire).await
}

/// Why a schedule was not changed.
enum Change {
    /// What is asked for is wrong.
    Wrong(Problem),
    /// It may not be changed, or is not there.
    Refused(Error),
}

impl From<Error> for Change {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

fn get(connection: &mut Connection, name: &str) -> Result<ScheduleShape, Problem> {
    schedules::get(connection, name).map_err(refused("conflict"))
}

fn check_task(living: &Declared, task: &str) -> Result<(), Problem> {
    if living.tasks.contains_key(task) {
        return Ok(());
    }
    Err(new_entry::undeclared(living, task).with("field", "task"))
}

/// What an error of the store means, where a conflict has this code.
fn refused(conflict: &'static str) -> impl Fn(Error) -> Problem {
    move |error| {
        if error.is_not_found() {
            Problem::not_found("schedule_not_found", error)
        } else if error.is_conflict() {
            Problem::conflict(conflict, error)
        } else {
            error.into()
        }
    }
}

/// 200 with a schedule, as this caller may see it.
fn shown(state: &ApiState, caller: &Caller, schedule: ScheduleShape) -> Answer {
    answer::ok(&Shown::new(schedule, state.shows_payload(caller))?)
}
