//! The table of the API's routes: path, method, role, handler. A handler knows one resource and its JSON shapes.

mod audit;
mod bulk;
mod claims;
pub(super) mod document;
mod entries;
mod filter;
mod firings;
mod new_entry;
mod reason;
mod schedules;
mod status;
mod tasks;

use actix_web::middleware::from_fn;
use actix_web::web;

use super::route::{Listed, Place, delete, get, nothing_here, patch, place, post};
use super::{auth, events, metrics};
use crate::config::Role::{Admin, Read, Trigger};

/// Every route under `/api/v1`. The one place where they stand, with their roles.
fn table() -> Vec<Place> {
    vec![
        place("/entries", [get(Read, entries::list), post(Trigger, entries::create)]),
        place("/entries/bulk", [post(Admin, bulk::apply)]),
        place("/entries/{id}", [get(Read, entries::show), delete(Admin, entries::delete)]),
        place("/entries/{id}/retry", [post(Admin, entries::retry)]),
        place("/entries/{id}/cancel", [post(Admin, entries::cancel)]),
        place("/entries/{id}/run-now", [post(Admin, entries::run_now)]),
        place("/entries/{id}/complete", [post(Admin, claims::complete)]),
        place("/entries/{id}/fail", [post(Admin, claims::fail)]),
        place("/entries/{id}/extend", [post(Admin, claims::extend)]),
        place("/firings", [get(Read, firings::list)]),
        place("/schedules", [get(Read, schedules::list), post(Admin, schedules::create)]),
        place(
            "/schedules/{schedule}",
            [get(Read, schedules::show), patch(Admin, schedules::change), delete(Admin, schedules::remove)],
        ),
        place("/schedules/{schedule}/pause", [post(Admin, schedules::pause)]),
        place("/schedules/{schedule}/resume", [post(Admin, schedules::resume)]),
        place("/schedules/{schedule}/fire", [post(Trigger, schedules::fire)]),
        place("/status", [get(Read, status::show)]),
        place("/nodes", [get(Read, status::nodes)]),
        place("/events", [get(Read, events::open)]),
        place("/audit", [get(Read, audit::list)]),
        place("/tasks", [get(Read, tasks::list)]),
        place("/tasks/{task}", [get(Read, tasks::show)]),
        place("/tasks/{task}/trigger", [post(Trigger, tasks::trigger)]),
        place("/tasks/{task}/pause", [post(Admin, tasks::pause)]),
        place("/tasks/{task}/resume", [post(Admin, tasks::resume)]),
        place("/tasks/{task}/probe", [post(Admin, tasks::probe)]),
        place("/tasks/{task}/claim", [post(Admin, claims::claim)]),
    ]
}

/// All routes under `/api/v1`, behind a token.
pub(super) fn routes(service: &mut web::ServiceConfig) {
    let api = web::scope("/api/v1").wrap(from_fn(auth::authenticate)).wrap(from_fn(metrics::count));
    let api = table().into_iter().fold(api, |api, place| api.service(place.resource()));
    service.service(api.default_service(web::to(nothing_here)));
}

/// Every route under `/api/v1`, with its method and the least role that it asks for.
pub fn listed() -> Vec<Listed> {
    table().iter().flat_map(Place::listed).collect()
}
