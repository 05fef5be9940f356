//! Jobs: schedules in APScheduler's words.

mod put;

use actix_web::web::{Data, Path};

use super::answer::{Answer, no_job};
use super::body::Json;
use crate::apscheduler::{Job, check_id};
use crate::http::answer;
use crate::http::problem::Problem;
use crate::http::state::ApiState;
use crate::http::tokens::Caller;
use crate::store::Connection;
use crate::store::schedules::{self, JobRow};

/// `GET /scheduler/jobs`: the next to run first, then those that wait for nothing.
pub(super) async fn list(state: Data<ApiState>, caller: Caller) -> Answer {
    let rows = state.database(|connection| Ok(schedules::jobs(connection)?)).await?;
    let visible = state.shows_payload(&caller);
    let mut jobs: Vec<_> = rows.into_iter().filter(|job| !job.is_over).map(|job| shown(job, visible)).collect();
    jobs.sort_by(|a, b| (a.next.is_none(), a.next, &a.id).cmp(&(b.next.is_none(), b.next, &b.id)));
    Ok(answer::ok(&jobs)?)
}

/// `POST /scheduler/jobs`
pub(super) async fn add(state: Data<ApiState>, caller: Caller, Json(text): Json) -> Answer {
    let by = caller.by();
    let added = state.reschedule(move |connection| put::add(connection, &text, &by)).await?;
    (state.wake)();
    answered(&state, &caller, added)
}

/// `GET /scheduler/jobs/{job}`
pub(super) async fn show(state: Data<ApiState>, caller: Caller, id: Path<String>) -> Answer {
    let job = state.database(move |connection| there(connection, &id)).await?;
    answered(&state, &caller, job)
}

/// `PATCH /scheduler/jobs/{job}`
pub(super) async fn change(state: Data<ApiState>, caller: Caller, id: Path<String>, Json(text): Json) -> Answer {
    let by = caller.by();
    let changed = state.reschedule(move |connection| put::change(connection, &id, &text, &by)).await?;
    (state.wake)();
    answered(&state, &caller, changed)
}

/// `DELETE /scheduler/jobs/{job}`
pub(super) async fn remove(state: Data<ApiState>, caller: Caller, id: Path<String>) -> Answer {
    let remove = move |connection: &mut Connection| {
        there(connection, &id)?;
        schedules::remove(connection, &id, &caller.by()).map_err(|error| put::refused(&id, error))
    };
    state.reschedule(remove).await?;
    Ok(answer::no_content()?)
}

/// `POST /scheduler/jobs/{job}/pause`
pub(super) async fn pause(state: Data<ApiState>, caller: Caller, id: Path<String>) -> Answer {
    let by = caller.by();
    let pause = move |connection: &mut Connection| {
        there(connection, &id)?;
        schedules::pause(connection, &id, &by, None).map_err(|error| put::refused(&id, error))?;
        there(connection, &id)
    };
    answered(&state, &caller, state.reschedule(pause).await?)
}

/// `POST /scheduler/jobs/{job}/resume`
pub(super) async fn resume(state: Data<ApiState>, caller: Caller, id: Path<String>) -> Answer {
    let by = caller.by();
    let resume = move |connection: &mut Connection| {
        there(connection, &id)?;
        schedules::resume(connection, &id, &by).map_err(|error| put::refused(&id, error))?;
        there(connection, &id)
    };
    answered(&state, &caller, state.reschedule(resume).await?)
}

/// `POST /scheduler/jobs/{job}/run`: beside its due times, and not waited for.
pub(super) async fn run(state: Data<ApiState>, caller: Caller, id: Path<String>) -> Answer {
    let by = caller.by();
    let run = move |connection: &mut Connection| {
        let job = there(connection, &id)?;
        schedules::fire(connection, &id, &by).map_err(|error| put::refused(&id, error))?;
        Ok(job)
    };
    answered(&state, &caller, state.write(run).await?)
}

/// The job of this id.
fn there(connection: &mut Connection, id: &str) -> Result<JobRow, Problem> {
    check_id(id).map_err(|_| no_job(id))?;
    schedules::job(connection, id)?.filter(|job| !job.is_over).ok_or_else(|| no_job(id))
}

fn shown(JobRow { schedule, kept, .. }: JobRow, visible: bool) -> Job {
    Job::new(schedule.name, &schedule.definition, &kept, schedule.next_fire_at, visible)
}

/// 200 with a job, as this caller may see it.
fn answered(state: &ApiState, caller: &Caller, job: JobRow) -> Answer {
    Ok(answer::ok(&shown(job, state.shows_payload(caller)))?)
}
