//! Flask-APScheduler's REST API over Soloist's schedules: its 13 routes with its fields and statuses, for clients that
//! speak it already. Off by default.
//!
//! Owns the routes and their answers; what a job means as a schedule is `apscheduler`'s. Tokens and roles are those of the
//! API. An error is the original's `{"error_message"}`, but for what a token or a path is refused with.

mod answer;
mod body;
mod jobs;
mod scheduler;

use actix_web::middleware::from_fn;
use actix_web::web;

use super::auth;
use super::metrics;
use super::route::{delete, get, nothing_here, patch, post, resource};
use crate::config::Role::{Admin, Read, Trigger};

/// All routes under `/scheduler`, behind a token.
pub(super) fn routes(service: &mut web::ServiceConfig) {
    let scheduler = web::scope("/scheduler")
        .wrap(from_fn(auth::authenticate))
        .wrap(from_fn(metrics::count))
        .service(resource("", [get(Read, scheduler::info)]))
        .service(resource("/pause", [post(Admin, scheduler::pause)]))
        .service(resource("/resume", [post(Admin, scheduler::resume)]))
        .service(resource("/start", [post(Admin, scheduler::start)]))
        .service(resource("/shutdown", [post(Admin, scheduler::shutdown)]))
        .service(resource("/jobs", [get(Read, jobs::list), post(Admin, jobs::add)]))
        .service(resource(
            "/jobs/{job}",
            [get(Read, jobs::show), delete(Admin, jobs::remove), patch(Admin, jobs::change)],
        ))
        .service(resource("/jobs/{job}/pause", [post(Admin, jobs::pause)]))
        .service(resource("/jobs/{job}/resume", [post(Admin, jobs::resume)]))
        .service(resource("/jobs/{job}/run", [post(Trigger, jobs::run)]))
        .default_service(web::to(nothing_here));
    service.service(scheduler);
}
