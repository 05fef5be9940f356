//! `/healthz` and `/readyz`: the two routes that ask for no token.

use actix_web::http::{Method, StatusCode, header};
use actix_web::middleware::from_fn;
use actix_web::web;
use serde_json::json;

use super::answer::{self, Answer};
use super::metrics;
use super::problem::Problem;
use super::route::{open, place};
use super::state::ApiState;

/// The two routes.
pub(super) fn routes(service: &mut web::ServiceConfig) {
    service
        .service(
            place("/healthz", [open(Method::GET, live), open(Method::HEAD, live)])
                .resource()
                .wrap(from_fn(metrics::count)),
        )
        .service(
            place("/readyz", [open(Method::GET, ready), open(Method::HEAD, ready)])
                .resource()
                .wrap(from_fn(metrics::count)),
        );
}

async fn live() -> Answer {
    answer::ok(&json!({ "live": true }))
}

async fn ready(state: web::Data<ApiState>) -> Answer {
    let reasons = state.readiness.reasons();
    if reasons.is_empty() {
        return answer::ok(&json!({ "ready": true }));
    }
    Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "not_ready", reasons.join("; ")).header(header::RETRY_AFTER, "1"))
}
