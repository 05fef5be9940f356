//! A schedule as one JSON object in the words of the configuration: what nodes declare, the database keeps and the API
//! shows.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::{Misfire, Overlap, Schedule, Trigger};
use crate::config::duration;
use crate::error::{Error, Result};
use crate::trigger::{Cron, CronError, Zone};

/// The members of the object. The name is not among them: it is the key under which the object is kept.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Definition {
    /// What it fires.
    pub task: String,
    /// An interval, as `4h`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<String>,
    /// A cron expression.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cron: Option<String>,
    /// A moment, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub at: Option<jiff::Timestamp>,
    /// IANA name.
    pub timezone: String,
    /// JSON, kept digit for digit.
    #[schema(value_type = Value, required = false)]
    pub payload: Option<Box<RawValue>>,
    /// Nothing before.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub start: Option<jiff::Timestamp>,
    /// Nothing after.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub end: Option<jiff::Timestamp>,
    /// As `30s`.
    pub jitter: String,
    /// What becomes of missed due times.
    pub misfire: Misfire,
    /// As `1d`.
    pub misfire_grace: Option<String>,
    /// What becomes of a due time while the last one's work goes on.
    pub overlap: Overlap,
}

impl From<&Schedule> for Definition {
    fn from(schedule: &Schedule) -> Self {
        let (mut every, mut cron, mut at) = (None, None, None);
        match &schedule.trigger {
            Trigger::Every(span) => every = Some(duration::format(*span)),
            Trigger::Cron(expression) => cron = Some(expression.to_string()),
            Trigger::At(moment) => at = Some(*moment),
        }
        let payload = schedule.payload.clone();
        Self {
            task: schedule.task.clone(),
            every,
            cron,
            at,
            timezone: schedule.timezone.to_string(),
            // It was read as JSON.
            payload: payload.and_then(|text| RawValue::from_string(text).ok()).filter(|raw| raw.get() != "null"),
            start: schedule.start,
            end: schedule.end,
            jitter: duration::format(schedule.jitter),
            misfire: schedule.misfire,
            misfire_grace: schedule.misfire_grace.map(duration::format),
            overlap: schedule.overlap,
        }
    }
}

impl Definition {
    /// The object as text. Equal schedules have equal texts.
    pub fn to_json(&self) -> String {
        // Texts, instants and words alone: they cannot fail to be written.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads what [`Definition::to_json`] wrote, perhaps by another version.
    pub fn from_json(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(|error| Error::internal(format!("a schedule's definition: {error}")))
    }

    /// The schedule of this name. It was checked before it was kept; another version may have checked otherwise.
    pub fn schedule(self, name: &str) -> Result<Schedule> {
        let span = |text: &str| -> Result<Duration> {
            duration::parse(text).map_err(|why| Error::usage(format!("schedule {name}: the duration “{text}” {why}")))
        };
        let wrong = |error: CronError| Error::usage(format!("schedule {name}: {error}"));
        let trigger = match (&self.every, &self.cron, self.at) {
            (Some(every), None, None) => Trigger::Every(span(every)?),
            (None, Some(cron), None) => Trigger::Cron(Cron::parse(cron).map_err(wrong)?),
            (None, None, Some(at)) => Trigger::At(at),
            _ => {
                return Err(Error::usage(format!(
                    "schedule {name}: exactly one of every, cron, at says when it fires"
                )));
            }
        };
        Ok(Schedule {
            timezone: Zone::get(&self.timezone).map_err(|error| Error::usage(format!("schedule {name}: {error}")))?,
            payload: self.payload.as_ref().map(|raw| raw.get().to_owned()),
            start: self.start,
            end: self.end,
            jitter: span(&self.jitter)?,
            misfire: self.misfire,
            misfire_grace: self.misfire_grace.as_deref().map(span).transpose()?,
            overlap: self.overlap,
            ..Schedule::new(name, self.task, trigger)
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let mut schedule = Schedule::new("nightly", "thumbnail", Trigger::Cron(Cron::parse("0 3 * * *").unwrap()));
        schedule.timezone = Zone::get("Europe/Berlin").unwrap();
        schedule.payload = Some("{\"n\": 12345678901234567890}".into());
        schedule.start = Some("2026-12-01T00:00:00Z".parse().unwrap());
        schedule.jitter = Duration::from_secs(90);
        schedule.misfire = Misfire::All;
        schedule.misfire_grace = Some(Duration::from_secs(86_400));
        schedule.overlap = Overlap::Queue;
        let text = Definition::from(&schedule).to_json();
        assert!(text.contains(r#""misfire":"all""#) && text.contains("12345678901234567890"), "{text}");
        assert_eq!(Definition::from_json(&text).unwrap().schedule("nightly").unwrap(), schedule);
        let moment = Schedule::new("m", "t", Trigger::At("2027-01-01T00:00:00Z".parse().unwrap()));
        let text = Definition::from(&moment).to_json();
        assert_eq!(Definition::from_json(&text).unwrap().schedule("m").unwrap(), moment);
    }
}
