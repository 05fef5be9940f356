//! Everything that goes wrong over HTTP, in one shape: a problem document (RFC 9457) with a stable `code`.

use std::fmt;

use actix_web::http::{StatusCode, header};
use actix_web::{HttpResponse, ResponseError};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use crate::error::Error;

/// A problem document as it is sent, for the document of the API: RFC 9457.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it only describes")]
pub(super) struct ProblemDocument {
    /// Always `about:blank`: the code says more.
    r#type: String,
    /// The status in words.
    title: String,
    status: u16,
    /// What is wrong, in a word that stays the same over versions.
    code: String,
    /// What is wrong, where, and what would be right, for people.
    detail: String,
    /// The member of the body that is wrong.
    #[schema(required = false)]
    field: String,
    /// The parameter of the query that is wrong.
    #[schema(required = false)]
    parameter: String,
    /// The entry that stands in the way.
    #[schema(required = false)]
    entry_id: i64,
}

/// A problem document to be. `code` is stable; `detail` is for a person.
#[derive(Debug, Clone)]
pub struct Problem {
    status: StatusCode,
    code: &'static str,
    detail: String,
    more: Map<String, Value>,
    headers: Vec<(header::HeaderName, String)>,
}

impl Problem {
    /// A problem of this status and code.
    pub fn new(status: StatusCode, code: &'static str, detail: impl fmt::Display) -> Self {
        Self { status, code, detail: detail.to_string(), more: Map::new(), headers: Vec::new() }
    }

    /// 400: the request cannot be read as it stands.
    pub fn bad_request(code: &'static str, detail: impl fmt::Display) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, detail)
    }

    /// 400 or 422 over one field, named in `field` and in `detail`.
    pub fn field(status: StatusCode, code: &'static str, field: &str, detail: impl fmt::Display) -> Self {
        Self::new(status, code, detail).with("field", field)
    }

    /// 404: what was named does not exist.
    pub fn not_found(code: &'static str, detail: impl fmt::Display) -> Self {
        Self::new(StatusCode::NOT_FOUND, code, detail)
    }

    /// 409: somebody else holds it, or its state does not allow it.
    pub fn conflict(code: &'static str, detail: impl fmt::Display) -> Self {
        Self::new(StatusCode::CONFLICT, code, detail)
    }

    /// 422: well formed, but not to be done.
    pub fn unprocessable(code: &'static str, detail: impl fmt::Display) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, code, detail)
    }

    /// 500: something that should not happen.
    pub fn internal(detail: impl fmt::Display) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail)
    }

    /// What went wrong, for a person.
    pub(super) fn detail(&self) -> &str {
        &self.detail
    }

    /// One more member of the document.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.more.insert(name.to_owned(), value.into());
        self
    }

    /// One more header of the answer.
    #[must_use]
    pub fn header(mut self, name: header::HeaderName, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.detail)
    }
}

impl ResponseError for Problem {
    fn status_code(&self) -> StatusCode {
        self.status
    }

    fn error_response(&self) -> HttpResponse {
        let mut document = json!({
            "type": "about:blank",
            "title": self.status.canonical_reason().unwrap_or("Error"),
            "status": self.status.as_u16(),
            "code": self.code,
            "detail": self.detail,
        });
        if let Value::Object(members) = &mut document {
            members.extend(self.more.clone());
        }
        let mut response = HttpResponse::build(self.status);
        response
            .insert_header((header::CONTENT_TYPE, "application/problem+json"))
            .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
            .insert_header((header::CACHE_CONTROL, "no-store"));
        for (name, value) in &self.headers {
            response.insert_header((name.clone(), value.as_str()));
        }
        response.body(document.to_string())
    }
}

/// What the database said: later, never, or nobody knows.
impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        if error.is_transient() {
            Self::new(StatusCode::SERVICE_UNAVAILABLE, "database_unavailable", error).header(header::RETRY_AFTER, "1")
        } else if error.is_not_found() {
            Self::not_found("not_found", error)
        } else if error.is_conflict() {
            Self::conflict("conflict", error)
        } else if error.is_refused() {
            Self::unprocessable("refused_by_database", error)
        } else if error.is_usage() {
            Self::bad_request("bad_request", error)
        } else {
            tracing::error!(%error, "a request failed");
            Self::internal(error)
        }
    }
}
