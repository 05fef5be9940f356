//! A schedule as a job, in the shape of Flask-APScheduler.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::job::Arguments;
use super::times::shown;
use super::{cron, trigger};
use crate::config::duration;
use crate::config::schedule::{Definition, Misfire, Overlap};
use crate::model::time::Micros;
use crate::trigger::Zone;

/// Runs at once of a job that was not made as one, where there is no limit.
const NO_LIMIT: u64 = i32::MAX as u64;

/// What only a job has, kept beside its schedule. It holds as long as the schedule is as the job made it: what was
/// changed elsewhere since is shown as it is.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Kept {
    /// What people call it.
    pub(super) name: Option<String>,
    /// The callable.
    pub(super) func: Option<String>,
    /// The trigger's members, as they are shown.
    pub(super) trigger: Option<Map<String, Value>>,
    /// Runs at once.
    pub(super) max_instances: Option<u64>,
    /// The schedule that it was said of, without its payload.
    pub(super) of: Option<Definition>,
}

impl Kept {
    /// Reads what [`Kept::to_json`] wrote; nothing if another version wrote it so that it cannot be read.
    pub fn from_json(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_default()
    }

    /// As text.
    pub fn to_json(&self) -> String {
        // Texts, numbers and words alone: they cannot fail to be written.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Without what was said of a schedule that has been changed elsewhere since.
    #[must_use]
    pub fn still_true_of(self, now: &Definition) -> Self {
        let trigger = self.while_same(now, is_due_alike, self.trigger.clone());
        let func = self.while_same(now, |of, now| of.task == now.task, self.func.clone());
        let max_instances = self.while_same(now, |of, now| of.overlap == now.overlap, self.max_instances);
        Self { trigger, func, max_instances, ..self }
    }

    fn while_same<T>(
        &self,
        now: &Definition,
        same: impl Fn(&Definition, &Definition) -> bool,
        value: Option<T>,
    ) -> Option<T> {
        value.filter(|_| self.of.as_ref().is_some_and(|of| same(of, now)))
    }
}

/// A job as the original shows one.
#[derive(Debug, Serialize)]
pub struct Job {
    /// The schedule's name.
    pub id: String,
    name: String,
    func: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kwargs: Option<Box<RawValue>>,
    #[serde(flatten)]
    trigger: Map<String, Value>,
    misfire_grace_time: Option<u64>,
    max_instances: u64,
    next_run_time: Option<String>,
    /// When it runs next, for the order of a list.
    #[serde(skip)]
    pub next: Option<Micros>,
}

impl Job {
    /// The job that a schedule is. Without `visible` its arguments are left out.
    pub fn new(id: String, definition: &Definition, kept: &Kept, next: Option<Micros>, visible: bool) -> Self {
        let zone = Zone::get(&definition.timezone).unwrap_or_else(|_| Zone::utc());
        let kept = kept.clone().still_true_of(definition);
        let members = kept.trigger.unwrap_or_else(|| members_of(definition, &zone));
        let Arguments { args, kwargs } = Arguments::of(definition.payload.as_ref().map(|payload| payload.get()));
        let raw = |text: String| RawValue::from_string(text).ok().filter(|_| visible);
        Self {
            name: kept.name.unwrap_or_else(|| id.clone()),
            func: kept.func.unwrap_or_else(|| definition.task.clone()),
            args: raw(args),
            kwargs: raw(kwargs),
            misfire_grace_time: grace(definition),
            max_instances: kept.max_instances.unwrap_or(if definition.overlap == Overlap::Allow {
                NO_LIMIT
            } else {
                1
            }),
            next_run_time: next.map(|at| next_time(definition, &members, &zone, at)),
            trigger: members,
            next,
            id,
        }
    }
}

fn is_due_alike(one: &Definition, other: &Definition) -> bool {
    (&one.every, &one.cron, one.at) == (&other.every, &other.cron, other.at)
        && (&one.timezone, one.start, one.end) == (&other.timezone, other.start, other.end)
}

/// A date keeps the offset that it was given in.
fn next_time(definition: &Definition, members: &Map<String, Value>, zone: &Zone, at: Micros) -> String {
    let run_date = members.get("run_date").and_then(Value::as_str);
    let same = run_date.filter(|text| text.parse::<jiff::Timestamp>().is_ok_and(|date| date.as_microsecond() == at));
    match same.filter(|_| definition.at.is_some()) {
        Some(text) => text.to_owned(),
        None => shown(zone, at),
    }
}

/// In whole seconds, the next above; one for a schedule that makes up nothing.
fn grace(definition: &Definition) -> Option<u64> {
    match definition.misfire_grace.as_deref().map(duration::parse) {
        Some(Ok(span)) => Some(span.as_secs_f64().ceil() as u64),
        _ => (definition.misfire == Misfire::Skip).then_some(1),
    }
}

/// The members of the trigger of a schedule that was not made as a job, or was changed since.
fn members_of(definition: &Definition, zone: &Zone) -> Map<String, Value> {
    let mut members = Map::new();
    let mut add = |name: &str, value: Value| drop(members.insert(name.to_owned(), value));
    let on = |at: jiff::Timestamp| Value::from(shown(zone, at.as_microsecond()));
    if let Some(at) = definition.at {
        add("trigger", "date".into());
        add("run_date", on(at));
        return members;
    }
    if let Some(start) = definition.start {
        add("start_date", on(start));
    }
    if let Some(end) = definition.end {
        add("end_date", on(end));
    }
    match (&definition.every, &definition.cron) {
        (Some(every), _) => {
            add("trigger", "interval".into());
            trigger::spans(duration::parse(every).unwrap_or_default())
                .for_each(|(unit, number)| add(unit, number.into()));
        }
        (None, cron) => {
            let expression = cron.as_deref().unwrap_or_default();
            match cron::fields_of(expression) {
                Some(fields) => {
                    add("trigger", "cron".into());
                    fields.into_iter().for_each(|(name, text)| add(name, text.into()));
                }
                // As the original writes a trigger that it has no fields for.
                None => add("trigger", format!("cron[{expression}]").into()),
            }
        }
    }
    members
}
