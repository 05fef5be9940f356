//! The table of the API's routes: path, method, role, handler. A handler knows one resource and its JSON shapes.

mod claims;
pub(super) mod document;
mod entries;
mod firings;
mod new_entry;
mod reason;
mod schedules;
mod status;
mod tasks;

use actix_web::middleware::from_fn;
use actix_web::web;

use super::route::{delete, get, nothing_here, patch, post, resource};
use super::{auth, events, metrics};
use crate::config::Role::{Admin, Read, Trigger};

/// All routes under `/api/v1`, behind a token.
pub(super) fn routes(service: &mut web::ServiceConfig) {
    let api = web::scope("/api/v1")
        .wrap(from_fn(auth::authenticate))
        .wrap(from_fn(metrics::count))
        .service(resource("/entries", [get(Read, entries::list), post(Trigger, entries::create)]))
        .service(resource("/entries/{id}", [get(Read, entries::show), delete(Admin, entries::delete)]))
        .service(resource("/entries/{id}/retry", [post(Admin, entries::retry)]))
        .service(resource("/entries/{id}/cancel", [post(Admin, entries::cancel)]))
        .service(resource("/entries/{id}/run-now", [post(Admin, entries::run_now)]))
        .service(resource("/entries/{id}/complete", [post(Admin, claims::complete)]))
        .service(resource("/entries/{id}/fail", [post(Admin, claims::fail)]))
        .service(resource("/entries/{id}/extend", [post(Admin, claims::extend)]))
        .service(resource("/firings", [get(Read, firings::list)]))
        .service(resource("/schedules", [get(Read, schedules::list), post(Admin, schedules::create)]))
        .service(resource(
            "/schedules/{schedule}",
            [get(Read, schedules::show), patch(Admin, schedules::change), delete(Admin, schedules::remove)],
        ))
        .service(resource("/schedules/{schedule}/pause", [post(Admin, schedules::pause)]))
        .service(resource("/schedules/{schedule}/resume", [post(Admin, schedules::resume)]))
        .service(resource("/schedules/{schedule}/fire", [post(Trigger, schedules::fire)]))
        .service(resource("/events", [get(Read, events::open)]))
        .service(resource("/status", [get(Read, status::show)]))
        .service(resource("/nodes", [get(Read, status::nodes)]))
        .service(resource("/tasks", [get(Read, tasks::list)]))
        .service(resource("/tasks/{task}", [get(Read, tasks::show)]))
        .service(resource("/tasks/{task}/trigger", [post(Trigger, tasks::trigger)]))
        .service(resource("/tasks/{task}/pause", [post(Admin, tasks::pause)]))
        .service(resource("/tasks/{task}/resume", [post(Admin, tasks::resume)]))
        .service(resource("/tasks/{task}/claim", [post(Admin, claims::claim)]))
        .default_service(web::to(nothing_here));
    service.service(api);
}
