//! APScheduler's words: what a job of its REST API or of an export asks for as a schedule of Soloist's, and a schedule as
//! a job.
//!
//! Pure: owns the reading and the translation, and knows no database, no clock and no HTTP. What has no exact translation
//! is refused with the reason, never brought near.

mod cron;
pub mod export;
mod job;
mod json;
mod members;
mod shown;
mod times;
mod trigger;

use std::fmt;

pub use job::{Arguments, Wanted};
pub use json::{NewJob, change, new_job};
pub use shown::{Job, Kept};
pub use times::Moment;
pub use trigger::{Trigger, When};

use crate::model::new_entry::FieldError;

/// A field that is wrong, in APScheduler's name for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// The field, such as `day_of_week` or `args[0]`.
    pub field: String,
    /// What is wrong and what would be right.
    pub message: String,
}

impl Wrong {
    pub(crate) fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { field: field.into(), message: message.into() }
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.message)
    }
}

/// The name of the task that a job's `func` means: the whole text, or what stands after the colon of
/// `module:function`. The first that `is_task`.
pub fn task_of(func: &str, is_task: impl Fn(&str) -> bool) -> Option<&str> {
    let function = func.rsplit_once(':').map(|(_, function)| function);
    [Some(func), function].into_iter().flatten().find(|name| is_task(name))
}

/// What a job's id must be to name a schedule.
pub fn check_id(id: &str) -> Result<(), Wrong> {
    crate::model::new_entry::check_name("id", id)
        .map_err(|FieldError { message, .. }| Wrong::new("id", format!("{message}; it names a schedule here")))
}
