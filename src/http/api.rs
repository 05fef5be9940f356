//! The table of the API's routes: path, method, role, handler. A handler knows one resource and its JSON shapes.

use actix_web::middleware::from_fn;
use actix_web::web;

use super::auth;
use super::route::nothing_here;

/// All routes under `/api/v1`, behind a token.
pub(super) fn routes(service: &mut web::ServiceConfig) {
    let api = web::scope("/api/v1").wrap(from_fn(auth::authenticate));
    service.service(api.default_service(web::to(nothing_here)));
}
