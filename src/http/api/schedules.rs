//! Schedules: make, look, change, remove, pause, resume, fire.

mod wanted;

use actix_web::HttpRequest;
use actix_web::http::StatusCode;
use actix_web::web::Data;
use serde_json::json;

use super::{new_entry, reason};
use crate::error::Error;
use crate::http::answer::{self, Answer};
use crate::http::body::Body;
use crate::http::cursor;
use crate::http::fields::invalid;
use crate::http::idempotency::Idempotency;
use crate::http::path::ScheduleName;
use crate::http::problem::Problem;
use crate::http::query::Query;
use crate::http::state::ApiState;
use crate::http::tokens::Caller;
use crate::store::Connection;
use crate::store::entries::Page;
use crate::store::schedules::{self, Origin, ScheduleShape};
use crate::store::sweeps;
use crate::store::tasks::declared::{self, Declared};
use wanted::{Asked, Pause, Shown, wrong};

/// `GET /schedules`, by name.
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

/// `POST /schedules`
pub(super) async fn create(state: Data<ApiState>, caller: Caller, body: Body) -> Answer {
    let mut fields = body.object()?;
    let name = fields.required_text("name")?;
    let Asked { wanted, paused } = wanted::read(fields)?;
    let schedule = wanted.make(&name).map_err(wrong)?;
    let by = caller.name.clone();
    let made = state.reschedule(move |connection| {
        let living = declared::living(connection)?;
        check_task(&living, &schedule.task)?;
        connection.atomically(|connection| {
            let made = schedules::create(connection, schedule, Origin::Api).map_err(refused("schedule_exists"))?;
            match paused {
                Some(Pause::On { reason }) => Ok(schedules::pause(connection, &name, &by, reason.as_deref())?),
                _ => Ok(made),
            }
        })
    });
    answer::json(StatusCode::CREATED, &Shown::new(made.await?, state.shows_payload(&caller))?)
}

/// `GET /schedules/{schedule}`
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

/// `PATCH /schedules/{schedule}`: what is given is changed, `null` goes back to the default.
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
    let by = caller.name.clone();
    let changed = state.reschedule(move |connection| {
        let living = declared::living(connection)?;
        connection.atomically(|connection| {
            if !wanted.is_empty() {
                let changed = schedules::change(connection, &name, |before| {
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
                Some(Pause::Off) => schedules::resume(connection, &name),
                None => schedules::get(connection, &name),
            }
            .map_err(refused("conflict"))
        })
    });
    shown(&state, &caller, changed.await?)
}

/// `DELETE /schedules/{schedule}`: what it has made goes on.
pub(super) async fn remove(state: Data<ApiState>, ScheduleName(name): ScheduleName, request: HttpRequest) -> Answer {
    Query::read(&request, &[])?;
    let remove =
        move |connection: &mut Connection| schedules::remove(connection, &name).map_err(refused("schedule_declared"));
    state.reschedule(remove).await?;
    answer::no_content()
}

/// `POST /schedules/{schedule}/pause`
pub(super) async fn pause(
    state: Data<ApiState>,
    caller: Caller,
    ScheduleName(name): ScheduleName,
    body: Body,
) -> Answer {
    let reason = reason::of_body(&body)?;
    let by = caller.name.clone();
    let pause = move |connection: &mut Connection| {
        schedules::pause(connection, &name, &by, reason.as_deref()).map_err(refused("conflict"))
    };
    shown(&state, &caller, state.reschedule(pause).await?)
}

/// `POST /schedules/{schedule}/resume`
pub(super) async fn resume(
    state: Data<ApiState>,
    caller: Caller,
    ScheduleName(name): ScheduleName,
    body: Body,
) -> Answer {
    body.object_or_nothing()?.finish()?;
    let resume = move |connection: &mut Connection| schedules::resume(connection, &name).map_err(refused("conflict"));
    shown(&state, &caller, state.reschedule(resume).await?)
}

/// `POST /schedules/{schedule}/fire`: now, beside its due times.
pub(super) async fn fire(
    state: Data<ApiState>,
    caller: Caller,
    ScheduleName(name): ScheduleName,
    idempotency: Idempotency,
    body: Body,
) -> Answer {
    body.object_or_nothing()?.finish()?;
    let fire = move |connection: &mut Connection| {
        let made = schedules::fire(connection, &name, &caller.name).map_err(refused("conflict"))?;
        answer::text(&match made.sweep_id {
            Some(id) => json!({ "sweep": id, "collected": sweeps::collected(connection, id)? }),
            None => json!({ "entries": made.entry_id.iter().collect::<Vec<_>>() }),
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
