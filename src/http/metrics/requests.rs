//! Counts requests by the pattern of their route, never by what stands in its place.

use actix_web::body::BoxBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::middleware::Next;
use actix_web::{Error, web};

use crate::http::state::ApiState;

/// What stands for every path that no route has.
const NOWHERE: &str = "(none)";

/// Counts a request when it is answered.
pub(in crate::http) async fn count(
    request: ServiceRequest,
    next: Next<BoxBody>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let method = known(request.method());
    let state = request.app_data::<web::Data<ApiState>>().cloned();
    let pattern = request.match_pattern();
    let answer = next.call(request).await;
    let status = match &answer {
        Ok(response) => response.status(),
        Err(error) => error.as_response_error().status_code(),
    };
    if let Some(state) = state {
        state.watch.meters.answered(method, pattern.as_deref().unwrap_or(NOWHERE), status.as_u16());
    }
    answer
}

/// A client may send any word for a method.
fn known(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PATCH => "PATCH",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "(other)",
    }
}
