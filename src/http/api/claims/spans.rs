//! The spans that a worker asks for: how long its claim lasts, how long it waits for work.

use std::time::Duration;

use serde_json::Value;
use utoipa::ToSchema;

use crate::config::duration;
use crate::http::fields::{Fields, invalid};
use crate::http::problem::Problem;
use crate::model::time::{self, Micros};

/// A whole number with its unit, as `30s` or `500ms`, or a number of seconds.
#[derive(ToSchema)]
#[schema(examples("30s", 30))]
#[serde(untagged)]
#[expect(dead_code, reason = "what `span` reads, for the document")]
pub(super) enum Span {
    Text(String),
    Seconds(f64),
}

/// The lease of a claim that asks for none.
const USUAL_LEASE: Duration = Duration::from_secs(60);
const SHORTEST_LEASE: Duration = Duration::from_secs(1);
const LONGEST_LEASE: Duration = Duration::from_secs(7 * 86_400);
/// Proxies give up on a silent answer after a minute, as a rule.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// `lease`: a duration, or a number of seconds.
pub(super) fn lease(fields: &mut Fields<'_>) -> Result<Micros, Problem> {
    let span = span(fields, "lease", SHORTEST_LEASE, LONGEST_LEASE)?;
    Ok(time::micros(span.unwrap_or(USUAL_LEASE)))
}

/// `wait`: the same; not at all if it is left out.
pub(super) fn wait(fields: &mut Fields<'_>) -> Result<Duration, Problem> {
    Ok(span(fields, "wait", Duration::ZERO, LONGEST_WAIT)?.unwrap_or_default())
}

fn span(
    fields: &mut Fields<'_>,
    name: &'static str,
    least: Duration,
    most: Duration,
) -> Result<Option<Duration>, Problem> {
    let Some(raw) = fields.raw(name).filter(|raw| raw.get() != "null") else { return Ok(None) };
    let path = fields.path(name);
    let span = match serde_json::from_str::<Value>(raw.get()) {
        Ok(Value::String(text)) => {
            let wrong = |why| invalid(&path, format!("{text:?} {why}: {}", duration::FORM));
            duration::parse(&text).map_err(wrong)?
        }
        Ok(Value::Number(number)) if number.as_f64().is_some_and(|seconds| (0.0..1e9).contains(&seconds)) => {
            Duration::from_secs_f64(number.as_f64().unwrap_or_default())
        }
        _ => return Err(invalid(&path, "must be a duration such as \"30s\", or a number of seconds")),
    };
    if (least..=most).contains(&span) {
        return Ok(Some(span));
    }
    Err(invalid(&path, format!("must be from {} to {}", duration::format(least), duration::format(most))))
}
