//! The JSON of a schedule: what a body asks for, and how one is shown.

use actix_web::http::StatusCode;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::config::schedule::wanted::{FIELDS, Wanted};
use crate::config::schedule::{Misfire, Overlap};
use crate::http::api::reason::{self, Reason};
use crate::http::body::PAYLOAD;
use crate::http::fields::{Fields, invalid};
use crate::http::problem::Problem;
use crate::model::new_entry::FieldError;
use crate::store::schedules::ScheduleShape;

/// Members of the shape that are not for clients to set: taken, so that what was read may be sent, and not looked at.
const SHOWN_ONLY: [&str; 4] = ["origin", "declared", "next_fire_at", "last_fired_at"];

/// A schedule to be made: exactly one of `every`, `cron`, `at`.
#[derive(ToSchema)]
#[expect(dead_code, reason = "what `create` reads, for the document")]
pub(super) struct NewSchedule {
    name: String,
    task: String,
    #[serde(flatten)]
    fields: ScheduleFields,
}

/// Members of a schedule; what is left out is the default, or stays as it is.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "what `read` reads, for the document")]
pub(super) struct ScheduleFields {
    /// It keeps its name.
    #[schema(pattern = "^[A-Za-z0-9_.-]{1,100}$")]
    name: Option<String>,
    /// What it fires: a task that a living node declares.
    #[schema(pattern = "^[A-Za-z0-9_.-]{1,100}$")]
    task: Option<String>,
    /// An interval, at least 100 ms.
    #[schema(example = "4h")]
    every: Option<String>,
    /// After Vixie, with seconds if there are six fields.
    #[schema(example = "0 3 * * *")]
    cron: Option<String>,
    /// One moment.
    #[schema(format = DateTime)]
    at: Option<String>,
    /// IANA name; UTC if left out.
    #[schema(example = "Europe/Berlin")]
    timezone: Option<String>,
    /// Of the entry that a firing makes: any JSON, to 8 MiB.
    #[schema(value_type = Value, required = false)]
    payload: (),
    /// Nothing before; an interval counts from here.
    #[schema(format = DateTime)]
    start: Option<String>,
    /// Nothing after.
    #[schema(format = DateTime)]
    end: Option<String>,
    /// The work is put off by a span up to this.
    #[schema(example = "30s")]
    jitter: Option<String>,
    misfire: Option<Misfire>,
    /// What was missed longer ago is not made up.
    #[schema(example = "1d")]
    misfire_grace: Option<String>,
    overlap: Option<Overlap>,
    paused: Option<Paused>,
    /// Taken and not looked at, so that what was read can be sent.
    #[schema(value_type = Value, required = false)]
    origin: (),
    /// The same.
    #[schema(value_type = Value, required = false)]
    declared: (),
    /// The same.
    #[schema(value_type = Value, required = false)]
    next_fire_at: (),
    /// The same.
    #[schema(value_type = Value, required = false)]
    last_fired_at: (),
}

/// Whether it is paused: `true`, `false`, or why.
#[derive(ToSchema)]
#[schema(as = PausedOrNot)]
#[serde(untagged)]
#[expect(dead_code, reason = "what `paused` reads, for the document")]
enum Paused {
    Plainly(bool),
    For(Reason),
}

/// What a body asks for.
pub(super) struct Asked {
    /// The fields that make the schedule.
    pub wanted: Wanted,
    /// Whether it is to be paused; nothing to leave it as it is.
    pub paused: Option<Pause>,
}

/// How `paused` is to be.
pub(super) enum Pause {
    Off,
    On { reason: Option<String> },
}

/// Reads all members but the name, and that there is no other.
pub(super) fn read(mut fields: Fields<'_>) -> Result<Asked, Problem> {
    let mut wanted = Wanted::default();
    for field in FIELDS {
        let Some(raw) = fields.raw(field) else { continue };
        let text = match (field, raw.get()) {
            (_, "null") => None,
            ("payload", payload) if payload.len() > PAYLOAD => {
                let detail = format!("payload has {} bytes: at most {PAYLOAD} are taken", payload.len());
                return Err(Problem::field(StatusCode::PAYLOAD_TOO_LARGE, "too_large", field, detail));
            }
            ("payload", payload) => Some(payload.to_owned()),
            _ => fields.text_of(field, expected(field))?,
        };
        wanted.set(field, text);
    }
    let paused = paused(&mut fields)?;
    for name in SHOWN_ONLY {
        let _ = fields.raw(name);
    }
    fields.finish()?;
    Ok(Asked { wanted, paused })
}

fn expected(field: &str) -> &'static str {
    match field {
        "every" | "jitter" | "misfire_grace" => "a duration such as \"30s\"",
        "cron" => "a cron expression such as \"0 3 * * *\"",
        "at" | "start" | "end" => "an instant such as \"2027-01-01T00:00:00Z\"",
        _ => "text",
    }
}

/// `null`, `true`, `false`, or as it is shown; who and when are not the client's to say.
fn paused(fields: &mut Fields<'_>) -> Result<Option<Pause>, Problem> {
    let Some(raw) = fields.raw("paused") else { return Ok(None) };
    Ok(Some(match raw.get() {
        "null" | "false" => Pause::Off,
        "true" => Pause::On { reason: None },
        text if text.starts_with('{') => {
            let Some(mut inside) = fields.object("paused")? else { return Ok(None) };
            let reason = reason::read(&mut inside)?;
            for name in ["by", "since"] {
                let _ = inside.raw(name);
            }
            inside.finish()?;
            Pause::On { reason }
        }
        _ => return Err(invalid("paused", "must be null, true, false or an object with a “reason”")),
    }))
}

/// A field that is wrong, as a problem.
pub(super) fn wrong(error: FieldError) -> Problem {
    let FieldError { field, message } = error;
    Problem::field(StatusCode::BAD_REQUEST, "invalid_field", field, format!("{field}: {message}"))
}

/// A schedule as its reader may see it.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Shown {
    Whole(Box<ScheduleShape>),
    /// Without the payload.
    Veiled(Value),
}

impl Shown {
    pub(super) fn new(mut schedule: ScheduleShape, visible: bool) -> Result<Self, Problem> {
        if visible {
            return Ok(Self::Whole(Box::new(schedule)));
        }
        schedule.definition.payload = None;
        let mut value = serde_json::to_value(schedule).map_err(Problem::internal)?;
        if let Some(members) = value.as_object_mut() {
            members.remove("payload");
        }
        Ok(Self::Veiled(value))
    }
}
