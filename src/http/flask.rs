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
use super::route::{delete, get, nothing_here, patch, place, post};
use crate::config::Role::{Admin, Read, Trigger};

/// All routes under `/scheduler`, behind a token.
pub(super) fn routes(service: &mut web::ServiceConfig) {
    let scheduler = web::scope("/scheduler")
        .wrap(from_fn(auth::authenticate))
        .wrap(from_fn(metrics::count))
        .service(place("", [get(Read, scheduler::info)]).resource())
        .service(place("/pause", [post(Admin, scheduler::pause)]).resource())
        .service(place("/resume", [post(Admin, scheduler::resume)]).resource())
        .service(place("/start", [post(Admin, scheduler::start)]).resource())
        .service(place("/shutdown", [post(Admin, scheduler::shutdown)]).resource())
        .service(place("/jobs", [get(Read, jobs::list), post(Admin, jobs::add)]).resource())
        .service(
            place("/jobs/{job}", [get(Read, jobs::show), delete(Admin, jobs::remove), patch(Admin, jobs::change)])
                .resource(),
        )
        .service(place("/jobs/{job}/pause", [post(Admin, jobs::pause)]).resource())
        .service(place("/jobs/{job}/resume", [post(Admin, jobs::resume)]).resource())
        .service(place("/jobs/{job}/run", [post(Trigger, jobs::run)]).resource())
        .default_service(web::to(nothing_here));
    service.service(scheduler);
}
