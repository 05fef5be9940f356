//! A schedule as somebody asks for it over the API or on the command line: fields as texts, checked by the rules of the
//! file.

use std::time::Duration;

use jiff::Timestamp;

use super::{Misfire, Overlap, Schedule, Trigger, rules};
use crate::config::duration::{self, LONGEST};
use crate::config::plain::{self, Wrong};
use crate::model::new_entry::{FieldError, check_name, check_payload};
use crate::trigger::{Cron, Zone};

/// The fields that may be asked for, besides the name.
pub const FIELDS: [&str; 12] = [
    "task",
    "every",
    "cron",
    "at",
    "timezone",
    "payload",
    "start",
    "end",
    "jitter",
    "misfire",
    "misfire_grace",
    "overlap",
];

/// Fields of [`FIELDS`] with their texts, a payload as JSON; nothing for one that goes back to its default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted(Vec<(&'static str, Option<String>)>);

impl Wanted {
    /// Adds a field.
    pub fn set(&mut self, field: &'static str, text: Option<String>) {
        self.0.push((field, text));
    }

    /// True if nothing is asked for.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A new schedule; the error names the field.
    pub fn make(&self, name: &str) -> Result<Schedule, FieldError> {
        check_name("name", name)?;
        if self.text("task").is_none() {
            return Err(FieldError::new("task", "it is missing: the task that is fired"));
        }
        let Some(trigger) = self.trigger()? else { return Err(no_trigger()) };
        self.apply(Schedule::new(name, "", trigger))
    }

    /// A schedule with these fields changed; the error names the field.
    pub fn change(&self, mut schedule: Schedule) -> Result<Schedule, FieldError> {
        match self.trigger()? {
            Some(trigger) => schedule.trigger = trigger,
            None => {
                let kind = match schedule.trigger {
                    Trigger::Every(_) => "every",
                    Trigger::Cron(_) => "cron",
                    Trigger::At(_) => "at",
                };
                if self.0.iter().any(|(field, _)| *field == kind) {
                    return Err(no_trigger());
                }
            }
        }
        self.apply(schedule)
    }

    fn text(&self, field: &str) -> Option<&str> {
        self.0.iter().find(|(name, _)| *name == field).and_then(|(_, text)| text.as_deref())
    }

    fn trigger(&self) -> Result<Option<Trigger>, FieldError> {
        let mut given = rules::TRIGGERS.into_iter().filter_map(|field| Some((field, self.text(field)?)));
        let Some((field, text)) = given.next() else { return Ok(None) };
        if let Some((other, _)) = given.next() {
            return Err(FieldError::new(
                other,
                format!("{}: {}", rules::two_triggers(field, other), rules::ONE_TRIGGER),
            ));
        }
        let wrong = |wrong: Wrong| FieldError::new(field, wrong.of(text));
        Ok(Some(match field {
            "every" => {
                let now = Timestamp::now().as_microsecond();
                Trigger::Every(duration::interval(text, now).map_err(|wrong| FieldError::new(field, wrong))?)
            }
            "cron" => Trigger::Cron(Cron::parse(text).map_err(|error| FieldError::new(field, error.to_string()))?),
            _ => Trigger::At(plain::instant(text).map_err(wrong)?),
        }))
    }

    /// Everything but the trigger.
    fn apply(&self, mut schedule: Schedule) -> Result<Schedule, FieldError> {
        for (field, text) in &self.0 {
            let field = *field;
            let text = text.as_deref();
            let instant = || text.map(|text| plain::instant(text).map_err(|wrong| wrong_text(field, text, &wrong)));
            let span = || {
                text.map(|text| {
                    plain::span(text, Duration::ZERO, LONGEST).map_err(|wrong| wrong_text(field, text, &wrong))
                })
            };
            match (field, text) {
                ("task", Some(task)) => {
                    check_name("task", task)?;
                    task.clone_into(&mut schedule.task);
                }
                ("task", None) => return Err(FieldError::new("task", "a schedule fires a task: name one")),
                ("timezone", _) => {
                    schedule.timezone = match text {
                        Some(name) => Zone::get(name.trim()).map_err(|e| FieldError::new(field, e.to_string()))?,
                        None => Zone::utc(),
                    }
                }
                ("payload", _) => {
                    text.map_or(Ok(()), check_payload)?;
                    schedule.payload = text.map(str::to_owned);
                }
                ("start", _) => schedule.start = instant().transpose()?,
                ("end", _) => schedule.end = instant().transpose()?,
                ("jitter", _) => schedule.jitter = span().transpose()?.unwrap_or_default(),
                ("misfire_grace", _) => schedule.misfire_grace = span().transpose()?,
                ("misfire", _) => schedule.misfire = word::<Misfire>(field, text, &rules::MISFIRES)?,
                ("overlap", _) => schedule.overlap = word::<Overlap>(field, text, &rules::OVERLAPS)?,
                _ => {}
            }
        }
        rules::fires(&schedule).map_err(|(field, wrong)| {
            let shown = match (field, &schedule.trigger) {
                ("at", Trigger::At(at)) => at.to_string(),
                ("jitter", _) => duration::format(schedule.jitter),
                _ => schedule.end.map(|end| end.to_string()).unwrap_or_default(),
            };
            wrong_text(field, &shown, &wrong)
        })?;
        Ok(schedule)
    }
}

fn word<T: Copy + Default>(
    field: &'static str,
    text: Option<&str>,
    words: &[(&'static str, T)],
) -> Result<T, FieldError> {
    let Some(text) = text else { return Ok(T::default()) };
    plain::word(text, words).map_err(|wrong| wrong_text(field, text, &wrong))
}

fn wrong_text(field: &'static str, text: &str, wrong: &Wrong) -> FieldError {
    FieldError::new(field, wrong.of(text))
}

fn no_trigger() -> FieldError {
    FieldError::new("every", format!("{}: {}", rules::NO_TRIGGER, rules::ONE_TRIGGER))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn wanted(fields: &[(&'static str, Option<&str>)]) -> Wanted {
        Wanted(fields.iter().map(|(field, text)| (*field, text.map(str::to_owned))).collect())
    }

    #[test]
    fn what_is_wanted_is_made_and_changed() {
        let nightly =
            wanted(&[("task", Some("t")), ("cron", Some(" 0 3 * * * ")), ("timezone", Some("europe/berlin"))]);
        let made = nightly.make("nightly").unwrap();
        assert_eq!((made.timezone.name(), made.misfire), ("Europe/Berlin", Misfire::Once));
        let fields = [("every", Some("90s")), ("cron", None), ("misfire", Some("all")), ("payload", Some("[1.0]"))];
        let changed = wanted(&fields).change(made.clone()).unwrap();
        assert_eq!((&changed.trigger, changed.misfire), (&Trigger::Every(Duration::from_secs(90)), Misfire::All));
        assert_eq!((changed.payload.as_deref(), changed.timezone.name()), (Some("[1.0]"), "Europe/Berlin"));
        let back = [("misfire", None), ("payload", None), ("timezone", None), ("cron", Some("0 3 * * *"))];
        assert_eq!(wanted(&back).change(changed).unwrap(), Schedule { timezone: Zone::utc(), ..made.clone() });
        assert_eq!(Wanted::default().change(made.clone()).unwrap(), made);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let wrong = |field: &'static str, text: &str| {
            let mut fields = vec![("task", Some("t")), (field, Some(text))];
            if !rules::TRIGGERS.contains(&field) {
                fields.push(("every", Some("1h")));
            }
            let error = wanted(&fields).make("s").unwrap_err();
            assert_eq!(error.field, field, "{text}");
            error.message
        };
        let intervals =
            ["0s", "-5m", "", "5", "5x", "NaNs", "1e400s", "99999999999d", "18446744073709551616s", "99ms", "\0"];
        for every in intervals {
            assert!(!wrong("every", every).is_empty());
        }
        assert!(wrong("every", "3000000d").contains("too long"), "past the year 9999");
        assert!(wrong("cron", "0 0 31 2 *").contains("never comes"));
        assert!(wrong("cron", "").contains("empty"));
        assert!(wrong("timezone", "Europe/Berln").contains("Europe/Berlin"));
        assert!(wrong("misfire", "onse").contains("the nearest is “once”"));
        for (field, text) in [("at", "tomorrow"), ("start", "2027-01-01"), ("end", ""), ("jitter", "-1s")] {
            assert!(wrong(field, text).contains(text), "{field}");
        }
        let fields = [
            ("task", Some("t")),
            ("every", Some("1h")),
            ("start", Some("2027-01-01T00:00:00Z")),
            ("end", Some("2027-01-01T00:00:00Z")),
        ];
        assert_eq!(wanted(&fields).make("s").unwrap_err().field, "end");
        let at = [("task", Some("t")), ("at", Some("2027-01-02T00:00:00Z")), ("end", Some("2027-01-01T00:00:00Z"))];
        let error = wanted(&at).make("s").unwrap_err();
        assert_eq!(error.field, "at");
        assert!(error.message.contains("“2027-01-02T00:00:00Z” is after “end”: the schedule would never"), "{error:?}");
        let hourly = wanted(&[("task", Some("t")), ("every", Some("1h")), ("jitter", Some("1h"))]).make("s").unwrap();
        assert_eq!(wanted(&[("every", Some("59m"))]).change(hourly).unwrap_err().field, "jitter");
        let two = wanted(&[("task", Some("t")), ("every", Some("1h")), ("at", Some("2027-01-01T00:00:00Z"))]);
        assert_eq!(two.make("s").unwrap_err().field, "at");
        assert_eq!(wanted(&[("task", Some("t"))]).make("s").unwrap_err().field, "every");
        assert_eq!(wanted(&[("every", Some("1h"))]).make("s").unwrap_err().field, "task");
        assert_eq!(wanted(&[]).make("a b").unwrap_err().field, "name");
        let made = wanted(&[("task", Some("t")), ("every", Some("1h"))]).make("s").unwrap();
        assert_eq!(wanted(&[("every", None)]).change(made.clone()).unwrap_err().field, "every");
        assert_eq!(wanted(&[("task", None)]).change(made).unwrap_err().field, "task");
    }
}
