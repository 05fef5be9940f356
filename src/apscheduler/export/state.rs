//! The trigger of an exported job: a class by its name, and its state.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use jiff::Timestamp;
use serde_json::{Map, Value as Json};

use super::super::cron::CronFields;
use super::super::trigger::{self, Trigger, When};
use super::super::{Moment, Wrong};
use super::objects::Clocks;
use super::pickle::{self, Pickle, Value};
use crate::trigger::Zone;

const PICKLED: &str = "__apscheduler_pickle__";
const CLASS: &str = "__apscheduler_class__";
const STATE: &str = "__apscheduler_state__";

/// A member of a state: what JSON holds, or a pickle.
pub(super) enum State {
    Null,
    Plain,
    Pickle(Pickle, Value),
}

impl State {
    /// Reads a member.
    pub(super) fn parse(raw: &str) -> Result<Self, String> {
        serde_json::from_str(raw).map_err(|error| error.to_string()).and_then(|value| Self::of(&value))
    }

    fn of(value: &Json) -> Result<Self, String> {
        let Some(text) = value.get(PICKLED) else {
            return Ok(if value.is_null() { Self::Null } else { Self::Plain });
        };
        let bytes = text.as_str().and_then(|text| BASE64.decode(text).ok());
        let bytes = bytes.ok_or("holds a pickle that is no base64")?;
        let (pickle, value) =
            pickle::read(&bytes).map_err(|why| format!("holds a pickle that cannot be read: {why}"))?;
        Ok(Self::Pickle(pickle, value))
    }
}

/// The trigger of a job; all that is wrong with it.
pub(super) fn trigger(raw: &str, now: Timestamp) -> Result<Trigger, Vec<Wrong>> {
    let one = |message: String| vec![Wrong::new("trigger", message)];
    let json: Json = serde_json::from_str(raw).map_err(|error| one(error.to_string()))?;
    if json.get(PICKLED).is_some() {
        let what = match State::of(&json) {
            Ok(State::Pickle(pickle, value)) => pickle.describe(&value),
            _ => "an object".to_owned(),
        };
        return Err(one(format!("is a pickled {what}, which is a program: only date, interval and cron are known")));
    }
    let class = json.get(CLASS).and_then(Json::as_str).unwrap_or_default();
    let Some(state) = json.get(STATE).and_then(Json::as_object) else {
        return Err(one("is no trigger as export_jobs() writes one".to_owned()));
    };
    let mut members = Members { state, wrong: Vec::new() };
    let trigger = match class {
        "apscheduler.triggers.cron:CronTrigger" => members.cron(),
        "apscheduler.triggers.interval:IntervalTrigger" => members.interval(now),
        "apscheduler.triggers.date:DateTrigger" => members.date(),
        other => Err(one(refused(other))),
    }?;
    if members.wrong.is_empty() { Ok(trigger) } else { Err(members.wrong) }
}

fn refused(class: &str) -> String {
    match class.rsplit(':').next() {
        Some("OrTrigger") => "is several triggers: make a schedule for each of them".to_owned(),
        Some("AndTrigger") => {
            "is due when several triggers are at once, which a schedule is not: write one cron trigger".to_owned()
        }
        Some("CalendarIntervalTrigger") => {
            "counts months or days of the calendar, which a schedule does not: write a cron trigger".to_owned()
        }
        _ => format!("is of the class {class:?}: only date, interval and cron are known"),
    }
}

struct Members<'a> {
    state: &'a Map<String, Json>,
    wrong: Vec<Wrong>,
}

impl Members<'_> {
    fn cron(&mut self) -> Result<Trigger, Vec<Wrong>> {
        let zone = self.zone("timezone");
        let mut given = Vec::new();
        for field in self.state.get("fields").and_then(Json::as_array).into_iter().flatten() {
            let read = match State::of(field) {
                Ok(State::Pickle(pickle, value)) => pickle.field(&value),
                Ok(_) => Err("is no field of a cron trigger".to_owned()),
                Err(why) => Err(why),
            };
            match read {
                Ok((name, false, text)) => given.push((name, text)),
                Ok(_) => {}
                Err(why) => return Err(vec![Wrong::new("trigger", format!("a field {why}"))]),
            }
        }
        let text = |name: &str| given.iter().find(|(field, _)| field == name).map(|(_, text)| text.clone());
        let fields = CronFields::read(text)?;
        fields.expression().map_err(|wrong| vec![wrong])?;
        Ok(self.bounded(When::Cron(fields), zone))
    }

    fn interval(&mut self, now: Timestamp) -> Result<Trigger, Vec<Wrong>> {
        // Elapsed time needs no zone: one without a name is only not shown.
        let zone = self.clocks("timezone").and_then(|clocks| clocks.zone().ok()).unwrap_or_else(Zone::utc);
        let micros = self.pickled("interval", |pickle, value| pickle.span(value)).unwrap_or_default();
        let when = trigger::interval(micros, now).map_err(|wrong| vec![wrong])?;
        Ok(self.bounded(when, zone))
    }

    fn date(&mut self) -> Result<Trigger, Vec<Wrong>> {
        let at = self.moment("run_date");
        let zone = self.run_zone().unwrap_or_else(Zone::utc);
        if at.is_none() && self.wrong.is_empty() {
            self.wrong.push(Wrong::new("run_date", "is missing"));
        }
        Ok(Trigger { when: When::Date(at), zone, start: None, end: None, jitter: None })
    }

    fn bounded(&mut self, when: When, zone: Zone) -> Trigger {
        let (start, end) = (self.moment("start_date"), self.moment("end_date"));
        let jitter = self.state.get("jitter").and_then(Json::as_f64).map(trigger::jitter);
        let jitter = jitter.and_then(|jitter| jitter.map_err(|wrong| self.wrong.push(wrong)).ok());
        Trigger { when, zone, start, end, jitter }
    }

    fn pickled<T>(&mut self, name: &'static str, read: impl FnOnce(&Pickle, &Value) -> Result<T, String>) -> Option<T> {
        let found = match self.state.get(name).map(State::of)? {
            Ok(State::Null) => return None,
            Ok(State::Pickle(pickle, value)) => read(&pickle, &value),
            Ok(State::Plain) => Err("is not as export_jobs() writes it".to_owned()),
            Err(why) => Err(why),
        };
        found.map_err(|why| self.wrong.push(Wrong::new(name, why))).ok()
    }

    fn moment(&mut self, name: &'static str) -> Option<Moment> {
        self.pickled(name, |pickle, value| pickle.moment(value))
    }

    fn clocks(&mut self, name: &'static str) -> Option<Clocks> {
        self.pickled(name, |pickle, value| pickle.clocks(value))
    }

    fn zone(&mut self, name: &'static str) -> Zone {
        self.pickled(name, |pickle, value| pickle.clocks(value)?.zone()).unwrap_or_else(Zone::utc)
    }

    /// The zone of the date itself, if it has a name.
    fn run_zone(&mut self) -> Option<Zone> {
        let Ok(State::Pickle(pickle, value)) = State::of(self.state.get("run_date")?) else { return None };
        pickle.clocks_of(&value)?.zone().ok()
    }
}

/// Notes each place of a value that was an object of Python.
pub(super) fn refuse_objects(place: &str, value: &Json, wrong: &mut Vec<Wrong>) {
    match value {
        Json::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                refuse_objects(&format!("{place}[{index}]"), item, wrong);
            }
        }
        Json::Object(members) if members.contains_key(PICKLED) || members.contains_key(CLASS) => {
            let what = match State::of(value) {
                Ok(State::Pickle(pickle, value)) => pickle.describe(&value),
                _ => members.get(CLASS).and_then(Json::as_str).unwrap_or("an object").to_owned(),
            };
            let message = format!("is a Python object ({what}), and a payload is JSON: give it as text or number");
            wrong.push(Wrong::new(place, message));
        }
        Json::Object(members) => {
            for (name, item) in members {
                refuse_objects(&format!("{place}.{name}"), item, wrong);
            }
        }
        _ => {}
    }
}
