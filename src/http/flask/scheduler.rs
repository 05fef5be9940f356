//! The scheduler as a whole: all schedules, over all nodes. No route ends a process.

use actix_web::http::StatusCode;
use actix_web::web::Data;
use serde_json::json;

use super::answer::{Answer, state};
use crate::http::answer;
use crate::http::problem::Problem;
use crate::http::state::ApiState;
use crate::http::tokens::Caller;
use crate::store::Connection;
use crate::store::schedules::{self, ALL_PAUSED, Hold};

const NOT_RUNNING: &str = "Scheduler is not running";
const RUNS_ALREADY: &str = "Scheduler is already running";
const SHUT_DOWN: &str = "the scheduler is shut down: no schedule fires";

/// `GET /scheduler`
pub(super) async fn info(api: Data<ApiState>) -> Answer {
    let held = api.database(|connection| Ok(schedules::held(connection)?)).await?;
    let host = rustix::system::uname().nodename().to_string_lossy().to_lowercase();
    let running = held.is_none_or(|held| !held.stopped);
    Ok(answer::ok(&json!({ "current_host": host, "allowed_hosts": ["*"], "running": running }))?)
}

/// `POST /scheduler/pause`
pub(super) async fn pause(api: Data<ApiState>, caller: Caller) -> Answer {
    let pause = move |connection: &mut Connection, held: Option<Hold>| {
        if held.is_some_and(|held| held.stopped) {
            return Err(state(StatusCode::INTERNAL_SERVER_ERROR, NOT_RUNNING));
        }
        Ok(schedules::hold(connection, false, &caller.by(), ALL_PAUSED)?)
    };
    steer(&api, pause).await
}

/// `POST /scheduler/resume`
pub(super) async fn resume(api: Data<ApiState>, caller: Caller) -> Answer {
    let resume = move |connection: &mut Connection, held: Option<Hold>| {
        if held.is_some_and(|held| held.stopped) {
            return Err(state(StatusCode::INTERNAL_SERVER_ERROR, NOT_RUNNING));
        }
        Ok(schedules::release(connection, &caller.by())?)
    };
    steer(&api, resume).await
}

/// `POST /scheduler/start`
pub(super) async fn start(api: Data<ApiState>, caller: Caller) -> Answer {
    let start = move |connection: &mut Connection, held: Option<Hold>| {
        if !held.is_some_and(|held| held.stopped) {
            return Err(state(StatusCode::BAD_REQUEST, RUNS_ALREADY));
        }
        Ok(schedules::release(connection, &caller.by())?)
    };
    steer(&api, start).await
}

/// `POST /scheduler/shutdown`. What has been fired is worked on; `wait` has nothing to wait for.
pub(super) async fn shutdown(api: Data<ApiState>, caller: Caller) -> Answer {
    let shutdown = move |connection: &mut Connection, held: Option<Hold>| {
        if held.is_some_and(|held| held.stopped) {
            return Err(state(StatusCode::BAD_REQUEST, NOT_RUNNING));
        }
        Ok(schedules::hold(connection, true, &caller.by(), SHUT_DOWN)?)
    };
    steer(&api, shutdown).await
}

/// Goes on from how all schedules are held. 204.
async fn steer(
    api: &ApiState,
    step: impl FnOnce(&mut Connection, Option<Hold>) -> Result<(), Problem> + Send + 'static,
) -> Answer {
    let steer = move |connection: &mut Connection| {
        connection.atomically(|connection| {
            let held = schedules::held(connection)?;
            step(connection, held)
        })
    };
    api.reschedule(steer).await?;
    Ok(answer::no_content()?)
}
