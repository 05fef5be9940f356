//! Answers as Flask-APScheduler gives them.

use std::fmt;

use actix_web::http::{StatusCode, header};
use actix_web::{HttpResponse, ResponseError};
use serde_json::json;

use crate::apscheduler::Wrong;
use crate::http::answer;
use crate::http::problem::Problem;

/// What handlers give back.
pub(super) type Answer = Result<HttpResponse, Refused>;

/// A problem, told as the original tells one.
#[derive(Debug)]
pub(super) struct Refused(Problem);

impl From<Problem> for Refused {
    fn from(problem: Problem) -> Self {
        Self(problem)
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl ResponseError for Refused {
    fn status_code(&self) -> StatusCode {
        self.0.status_code()
    }

    fn error_response(&self) -> HttpResponse {
        let body = json!({ "error_message": self.0.detail() }).to_string();
        let mut response = answer::written(self.status_code(), body);
        let headers = self.0.error_response();
        if let Some(after) = headers.headers().get(header::RETRY_AFTER) {
            response.headers_mut().insert(header::RETRY_AFTER, after.clone());
        }
        response
    }
}

/// There is no job of this id.
pub(super) fn no_job(id: &str) -> Problem {
    Problem::not_found("job_not_found", format!("Job {id} not found"))
}

/// The id is taken.
pub(super) fn job_exists(id: &str) -> Problem {
    Problem::conflict("job_exists", format!("Job {id} already exists."))
}

/// The scheduler is not in the state for it.
pub(super) fn state(status: StatusCode, message: &str) -> Problem {
    Problem::new(status, "scheduler_state", message)
}

/// A job that cannot be as it is asked for. The original answers 500 to whatever is wrong with one.
pub(super) fn wrong(wrong: &[Wrong]) -> Problem {
    let all: Vec<_> = wrong.iter().map(Wrong::to_string).collect();
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "invalid_job", all.join("; "))
}
