//! Who may come in: a bearer token, and the role that a route asks for.
//!
//! The only place that reads `Authorization`. No token is ever taken from anywhere else.

use std::future::{Ready, ready};
use std::time::Duration;

use actix_web::body::BoxBody;
use actix_web::dev::{self, ServiceRequest, ServiceResponse};
use actix_web::http::{StatusCode, header};
use actix_web::middleware::Next;
use actix_web::{Error, FromRequest, HttpMessage, HttpRequest, ResponseError, web};

use super::problem::Problem;
use super::state::ApiState;
use super::tokens::Caller;
use crate::config::Role;

/// Lets a request pass only with a known token, and notes whose it is. Stands before every route of the API, those
/// that do not exist too.
pub(super) async fn authenticate(
    request: ServiceRequest,
    next: Next<BoxBody>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    match identify(request.request()) {
        Ok(caller) => {
            request.extensions_mut().insert(caller);
            next.call(request).await
        }
        Err(problem) => Ok(request.into_response(problem.error_response())),
    }
}

/// Lets a request pass only if its token's role includes `needed`.
pub(super) async fn authorise(
    needed: Role,
    request: ServiceRequest,
    next: Next<BoxBody>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let role = request.extensions().get::<Caller>().map(|caller| caller.role);
    match role {
        Some(role) if role >= needed => next.call(request).await,
        Some(role) => {
            let detail = format!("this needs a token of role {}; yours is {}", needed.word(), role.word());
            let problem = Problem::new(StatusCode::FORBIDDEN, "forbidden", detail);
            Ok(request.into_response(problem.error_response()))
        }
        None => Ok(request.into_response(unauthenticated("no token was sent").error_response())),
    }
}

impl FromRequest for Caller {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut dev::Payload) -> Self::Future {
        let caller = request.extensions().get::<Self>().cloned();
        ready(caller.ok_or_else(|| unauthenticated("no token was sent")))
    }
}

/// Whose token a request carries.
fn identify(request: &HttpRequest) -> Result<Caller, Problem> {
    let mut headers = request.headers().get_all(header::AUTHORIZATION);
    let Some(value) = headers.next() else { return Err(unauthenticated("no token was sent")) };
    if headers.next().is_some() {
        return Err(unauthenticated("more than one Authorization header was sent"));
    }
    let text = value.to_str().unwrap_or_default();
    let (scheme, token) = text.split_once(' ').unwrap_or((text, ""));
    let token = token.trim();
    if !scheme.eq_ignore_ascii_case("bearer") || token.is_empty() {
        return Err(unauthenticated("the Authorization header holds no bearer token"));
    }
    let Some(state) = request.app_data::<web::Data<ApiState>>() else {
        return Err(unauthenticated("no token is known here"));
    };
    if let Some(caller) = state.tokens.find(token) {
        return Ok(caller);
    }
    match request.peer_addr().and_then(|peer| state.tokens.failed(peer.ip())) {
        Some(wait) => Err(too_many(wait)),
        None => Err(unauthenticated("the token is not known here")),
    }
}

fn too_many(wait: Duration) -> Problem {
    let seconds = wait.as_secs() + 1;
    let detail =
        format!("too many log-ins from this address failed: try again in {seconds} s, or with a token that is known");
    Problem::new(StatusCode::TOO_MANY_REQUESTS, "too_many_failures", detail)
        .header(header::RETRY_AFTER, seconds.to_string())
}

fn unauthenticated(why: &str) -> Problem {
    let detail =
        format!("{why}: send Authorization: Bearer TOKEN, with a token of [[http.tokens]] or of soloist.token");
    Problem::new(StatusCode::UNAUTHORIZED, "unauthenticated", detail)
        .header(header::WWW_AUTHENTICATE, "Bearer realm=\"soloist\"")
}
