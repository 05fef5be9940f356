//! The admin API: routes, who may use them, and one shape of error for everything that goes wrong.
//!
//! Owns what goes over HTTP and nothing else: no SQL, no rule of the domain. Every route stands in `api` with the role
//! that it asks for.

mod answer;
mod api;
mod auth;
mod body;
mod claim_token;
mod cursor;
mod docs;
mod events;
mod failures;
mod fields;
mod flask;
mod health;
mod idempotency;
mod metrics;
mod path;
mod problem;
mod query;
mod readiness;
mod route;
mod snapshots;
mod state;
pub mod token_file;
mod tokens;
mod trace_header;
mod waiting;
mod watch;

use std::sync::Arc;

use actix_web::web;

pub use api::listed;
pub use docs::openapi_json;
pub use events::Events;
pub use metrics::{DEFINITIONS, Definition, Kind};
pub use problem::Problem;
pub use readiness::Readiness;
pub use route::Listed;
pub use snapshots::{Snapshot, Snapshots};
pub use state::{ApiState, Sources, Wake};
pub use tokens::Tokens;
pub use waiting::Waiting;
pub use watch::Watch;

/// The routes of the admin API, to be given to `App::configure` or to the `configure` of a scope.
pub fn routes(state: Arc<ApiState>) -> impl FnOnce(&mut web::ServiceConfig) {
    move |service| {
        let flask = state.flask_apscheduler;
        service
            .app_data(web::Data::from(state))
            .configure(health::routes)
            .configure(metrics::routes)
            .configure(docs::routes)
            .configure(api::routes);
        if flask {
            service.configure(flask::routes);
        }
        service.default_service(web::to(route::nothing_here));
    }
}

/// The same below a path of an application of its own, whose other routes stay as they are.
pub fn routes_under(path: &str, state: Arc<ApiState>) -> impl FnOnce(&mut web::ServiceConfig) {
    let scope = web::scope(path);
    move |service| {
        service.service(scope.configure(routes(state)));
    }
}
