//! What is asked of a job, and what that makes of a schedule.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::value::RawValue;

use super::shown::Kept;
use super::{Moment, Trigger, When, Wrong};
use crate::config::schedule::{Definition, Misfire, Overlap, Schedule, Trigger as Due};
use crate::model::new_entry::check_payload;

/// Fields of a job that are asked for; nothing for one that stays as it is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Wanted {
    /// The callable, which names the task.
    pub func: Option<String>,
    /// What people call it.
    pub name: Option<String>,
    /// A JSON array.
    pub args: Option<String>,
    /// A JSON object.
    pub kwargs: Option<String>,
    /// When it is due.
    pub trigger: Option<Trigger>,
    /// How late it may run; nothing for however late.
    pub misfire_grace_time: Option<Option<Duration>>,
    /// Of several missed runs one is made up.
    pub coalesce: Option<bool>,
    /// Runs at once.
    pub max_instances: Option<u64>,
    /// When it runs next: nothing to pause it.
    pub next_run_time: Option<Option<Moment>>,
}

impl Wanted {
    /// What a new job has where nothing is asked for.
    pub fn or_defaults(self) -> Self {
        Self {
            args: self.args.or_else(|| Some("[]".to_owned())),
            kwargs: self.kwargs.or_else(|| Some("{}".to_owned())),
            misfire_grace_time: self.misfire_grace_time.or(Some(Some(Duration::from_secs(1)))),
            coalesce: self.coalesce.or(Some(true)),
            max_instances: self.max_instances.or(Some(1)),
            ..self
        }
    }

    /// Whether it is to be paused or resumed; nothing to leave it as it is. A new trigger resumes, as in the original.
    pub fn paused(&self) -> Option<bool> {
        match (&self.next_run_time, &self.trigger) {
            (Some(next), _) => Some(next.is_none()),
            (None, Some(_)) => Some(false),
            (None, None) => None,
        }
    }

    /// True if nothing of the schedule itself is asked for.
    pub fn is_pause_alone(&self) -> bool {
        matches!(self.next_run_time, None | Some(None))
            && *self == Self { next_run_time: self.next_run_time.clone(), ..Self::default() }
    }

    /// True if a run that is asked for is past at `now`, and late by no more than it may be: it is due at once.
    pub fn is_due_at(&self, now: Timestamp, grace: Option<Duration>) -> bool {
        let Some(Some(next)) = &self.next_run_time else { return false };
        let late = Duration::try_from(now.duration_since(next.at));
        late.is_ok_and(|late| grace.is_none_or(|grace| late <= grace))
    }

    /// Changes a schedule; its name and task are the caller's. What only a job has goes to `kept`.
    pub fn apply(&self, schedule: &mut Schedule, kept: &mut Kept, now: Timestamp) -> Result<(), Wrong> {
        if let Some(trigger) = &self.trigger {
            trigger.apply(schedule, now)?;
            kept.trigger = Some(trigger.shown(now));
        }
        if let Some(Some(next)) = &self.next_run_time {
            match &mut schedule.trigger {
                Due::Every(_) => schedule.start = Some(next.at),
                Due::At(at) => *at = next.at,
                Due::Cron(_) => {
                    let why =
                        "a schedule is due when its trigger says: null pauses the job, and POST …/run runs it now";
                    return Err(Wrong::new("next_run_time", why));
                }
            }
        }
        if self.args.is_some() || self.kwargs.is_some() {
            let before = Arguments::of(schedule.payload.as_deref());
            let args = self.args.as_ref().unwrap_or(&before.args);
            let kwargs = self.kwargs.as_ref().unwrap_or(&before.kwargs);
            let payload = format!("{{\"args\": {args}, \"kwargs\": {kwargs}}}");
            check_payload(&payload).map_err(|error| Wrong::new("args", error.message))?;
            schedule.payload = Some(payload);
        }
        if let Some(grace) = self.misfire_grace_time {
            schedule.misfire_grace = grace;
        }
        if let Some(coalesce) = self.coalesce {
            schedule.misfire = if coalesce { Misfire::Once } else { Misfire::All };
        }
        if let Some(most) = self.max_instances {
            schedule.overlap = if most > 1 { Overlap::Allow } else { Overlap::Skip };
            kept.max_instances = Some(most);
        }
        kept.name = self.name.clone().or(kept.name.take());
        kept.func = self.func.clone().or(kept.func.take());
        kept.of = Some(Definition { payload: None, ..Definition::from(&*schedule) });
        Ok(())
    }

    /// True if it brings arguments, which a task with a source has no use for.
    pub fn has_arguments(&self) -> bool {
        let is_empty = |raw: &Option<String>| {
            raw.as_deref().is_none_or(|raw| raw.chars().filter(|c| !c.is_whitespace()).count() == 2)
        };
        !is_empty(&self.args) || !is_empty(&self.kwargs)
    }

    /// True if its trigger is one moment.
    pub fn is_once(&self) -> bool {
        self.trigger.as_ref().is_some_and(|trigger| matches!(trigger.when, When::Date(_)))
    }
}

/// The arguments of a job, which are the payload `{"args": […], "kwargs": {…}}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arguments {
    /// A JSON array.
    pub args: String,
    /// A JSON object.
    pub kwargs: String,
}

impl Arguments {
    /// What a payload stands for: one of another shape for keyword arguments if it is an object, else for the one
    /// argument.
    pub fn of(payload: Option<&str>) -> Self {
        #[derive(serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Both<'a> {
            #[serde(borrow)]
            args: &'a RawValue,
            #[serde(borrow)]
            kwargs: &'a RawValue,
        }
        let payload = payload.map_or("null", str::trim);
        if let Ok(Both { args, kwargs }) = serde_json::from_str(payload)
            && args.get().starts_with('[')
            && kwargs.get().starts_with('{')
        {
            return Self { args: args.get().to_owned(), kwargs: kwargs.get().to_owned() };
        }
        let (args, kwargs) = match payload.as_bytes().first() {
            Some(b'{') => ("[]".to_owned(), payload.to_owned()),
            _ if payload == "null" => ("[]".to_owned(), "{}".to_owned()),
            _ => (format!("[{payload}]"), "{}".to_owned()),
        };
        Self { args, kwargs }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_is_arguments_and_back() {
        let of = |payload| {
            let Arguments { args, kwargs } = Arguments::of(payload);
            format!("{args} {kwargs}")
        };
        assert_eq!(
            of(Some(r#" {"args": [1.50, "x"], "kwargs": {"a": 12345678901234567890}} "#)),
            r#"[1.50, "x"] {"a": 12345678901234567890}"#
        );
        assert_eq!(of(Some(r#"{"args": [], "kwargs": {}, "more": 1}"#)), r#"[] {"args": [], "kwargs": {}, "more": 1}"#);
        assert_eq!(of(Some(r#"{"args": 1, "kwargs": {}}"#)), r#"[] {"args": 1, "kwargs": {}}"#);
        assert_eq!(of(Some("[1]")), "[[1]] {}");
        assert_eq!((of(None), of(Some("null"))), ("[] {}".to_owned(), "[] {}".to_owned()));
    }
}
