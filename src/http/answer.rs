//! Answers that are no problem.

use actix_web::HttpResponse;
use actix_web::body::MessageBody;
use actix_web::http::{StatusCode, header};
use serde::Serialize;

use super::problem::Problem;

/// What handlers give back.
pub(super) type Answer = Result<HttpResponse, Problem>;

/// A JSON answer.
pub(super) fn json(status: StatusCode, body: &impl Serialize) -> Answer {
    Ok(written(status, text(body)?))
}

/// The JSON of an answer.
pub(super) fn text(body: &impl Serialize) -> Result<String, Problem> {
    serde_json::to_string(body).map_err(|error| Problem::internal(format!("the answer: {error}")))
}

/// An answer whose JSON is written already.
pub(super) fn written(status: StatusCode, text: impl MessageBody + 'static) -> HttpResponse {
    HttpResponse::build(status)
        .insert_header((header::CONTENT_TYPE, "application/json"))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .body(text)
}

/// 200 with JSON.
pub(super) fn ok(body: &impl Serialize) -> Answer {
    json(StatusCode::OK, body)
}

/// 204.
pub(super) fn no_content() -> Answer {
    Ok(HttpResponse::NoContent()
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .finish())
}
