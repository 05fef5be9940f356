//! `GET /metrics`: what Prometheus reads.
//!
//! Owns the names and the text. What is of this node is counted where it happens; what is of all nodes comes from the
//! look at the database that all share, so that no number of readers costs the database more than one.

mod definition;
mod family;
mod of_all;
mod of_node;
mod requests;

use std::time::Duration;

use actix_web::http::header;
use actix_web::web::{Data, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse, middleware::from_fn};
use prometheus::TextEncoder;

use super::answer::Answer;
use super::auth;
use super::problem::Problem;
use super::query::Query;
use super::route::{get, place};
use super::state::ApiState;
use crate::config::Role::Read;

pub use definition::{DEFINITIONS, Definition, Kind};
pub(super) use requests::count;

/// How old what is of all nodes may be.
const OLDEST: Duration = Duration::from_secs(5);

/// How long a reader waits for it: a database that is away must not take the node's own figures away too.
const PATIENCE: Duration = Duration::from_secs(2);

/// The route, behind a token like those of the API.
pub(super) fn routes(service: &mut ServiceConfig) {
    let metrics = place("/metrics", [get(Read, show)]).resource();
    service.service(metrics.wrap(from_fn(auth::authenticate)).wrap(from_fn(count)));
}

async fn show(state: Data<ApiState>, request: HttpRequest) -> Answer {
    Query::read(&request, &[])?;
    let snapshot = tokio::time::timeout(PATIENCE, state.watch.snapshots.get(OLDEST)).await.ok();
    let mut families = of_node::families(&state);
    families.extend(of_all::families(snapshot.as_deref()));
    let mut families: Vec<_> = families.into_iter().filter_map(family::Family::written).collect();
    let place = |name: &str| DEFINITIONS.iter().position(|definition| definition.name == name);
    families.sort_by_key(|family| place(family.name()));
    let text = TextEncoder::new().encode_to_string(&families).map_err(Problem::internal)?;
    Ok(HttpResponse::Ok()
        .insert_header((header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8"))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .body(text))
}
