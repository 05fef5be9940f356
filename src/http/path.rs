//! What stands in the path of a request.

use std::future::{Ready, ready};

use actix_web::{FromRequest, HttpRequest, dev};
use utoipa::IntoParams;

use super::problem::Problem;
use crate::model::new_entry::check_name;

/// `{id}`: an entry's id.
#[derive(IntoParams)]
#[into_params(names("id"), parameter_in = Path)]
pub(super) struct EntryId(
    /// The entry's id.
    #[param(minimum = 1)]
    pub i64,
);

/// `{task}`: a task's name, well formed.
#[derive(IntoParams)]
#[into_params(names("task"), parameter_in = Path)]
pub(super) struct TaskName(
    /// The task's name.
    #[param(pattern = "^[A-Za-z0-9_.-]{1,100}$")]
    pub String,
);

/// `{schedule}`: a schedule's name, well formed.
#[derive(IntoParams)]
#[into_params(names("schedule"), parameter_in = Path)]
pub(super) struct ScheduleName(
    /// The schedule's name.
    #[param(pattern = "^[A-Za-z0-9_.-]{1,100}$")]
    pub String,
);

impl FromRequest for EntryId {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut dev::Payload) -> Self::Future {
        let text = request.match_info().get("id").unwrap_or_default();
        let number = text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()));
        let none = || Problem::not_found("entry_not_found", format!("there is no entry {text:?}: an id is a number"));
        ready(number.map(Self).ok_or_else(none))
    }
}

impl FromRequest for TaskName {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut dev::Payload) -> Self::Future {
        let text = request.match_info().get("task").unwrap_or_default();
        let checked = check_name("task", text);
        ready(checked.map(|()| Self(text.to_owned())).map_err(|error| Problem::not_found("task_not_found", error)))
    }
}

impl FromRequest for ScheduleName {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut dev::Payload) -> Self::Future {
        let text = request.match_info().get("schedule").unwrap_or_default();
        let checked = check_name("schedule", text);
        ready(checked.map(|()| Self(text.to_owned())).map_err(|error| Problem::not_found("schedule_not_found", error)))
    }
}
