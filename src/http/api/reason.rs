//! The reason that people give for a pause.

use utoipa::ToSchema;

use crate::http::body::Body;
use crate::http::fields::{Fields, invalid};
use crate::http::problem::Problem;

/// The longest reason for a pause, in characters.
const LONGEST: usize = 1000;

/// Why something is paused.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "what `of_body` reads, for the document")]
pub(super) struct Reason {
    /// For whoever wonders.
    #[schema(max_length = 1000)]
    reason: Option<String>,
}

/// `{"reason"}`, or nothing.
pub(super) fn of_body(body: &Body) -> Result<Option<String>, Problem> {
    let mut fields = body.object_or_nothing()?;
    let reason = read(&mut fields)?;
    fields.finish()?;
    Ok(reason)
}

/// The member `reason`.
pub(super) fn read(fields: &mut Fields<'_>) -> Result<Option<String>, Problem> {
    let reason = fields.text("reason")?;
    if reason.as_ref().is_some_and(|reason| reason.contains('\0') || reason.chars().count() > LONGEST) {
        let path = fields.path("reason");
        return Err(invalid(&path, format!("must have at most {LONGEST} characters, none of them NUL")));
    }
    Ok(reason)
}
