//! A job as Flask-APScheduler's routes take it.

use std::time::Duration;

use jiff::Timestamp;

use super::cron::{CronFields, NAMES};
use super::job::Wanted;
use super::members::{Members, kind};
use super::times::Moment;
use super::trigger::{self, Trigger, UNITS, When};
use super::{Wrong, check_id};
use crate::config::duration::LONGEST;
use crate::trigger::Zone;

/// A job to be added.
#[derive(Debug, Clone, PartialEq)]
pub struct NewJob {
    /// Names the schedule.
    pub id: String,
    /// All the rest.
    pub wanted: Wanted,
    /// It may take the place of another.
    pub replaces: bool,
}

/// Reads a job to be added; all that is wrong with it.
pub fn new_job(text: &str, now: Timestamp) -> Result<NewJob, Vec<Wrong>> {
    let mut members = Members::of(text).map_err(|why| vec![Wrong::new("the job", why)])?;
    let id = required(&mut members, "id");
    if let Some(id) = &id
        && let Err(wrong) = check_id(id)
    {
        members.wrong.push(wrong);
    }
    let func = required(&mut members, "func");
    let trigger = match members.peek("trigger") {
        None | Some("null") => {
            let _ = members.raw("trigger");
            when(&mut members, "date", now)
        }
        Some(_) => given_trigger(&mut members, now),
    };
    let mut wanted = rest(&mut members);
    wanted.name = members.text("name").filter(|name| !name.is_empty());
    wanted.args = members.container("args", '[').map(str::to_owned);
    wanted.kwargs = members.container("kwargs", '{').map(str::to_owned);
    // The original takes whatever is true in Python.
    let replaces = members.typed("replace_existing", "true or false").unwrap_or(false);
    wanted.next_run_time = next_run_time(&mut members, trigger.as_ref());
    wanted = Wanted { func, trigger, ..wanted }.or_defaults();
    let id = id.unwrap_or_default();
    members.finish(Some(NewJob { id, wanted, replaces }))
}

/// Reads changes to a job; all that is wrong with them.
pub fn change(text: &str, now: Timestamp) -> Result<Wanted, Vec<Wrong>> {
    let mut members = Members::of(text).map_err(|why| vec![Wrong::new("the changes", why)])?;
    if members.raw("id").is_some() {
        members.refuse("id", "cannot be changed: leave it out");
    }
    let trigger = match members.has("trigger") {
        true => given_trigger(&mut members, now),
        false => {
            for name in take_parts(&mut members) {
                members.refuse(name, "is a part of a trigger: name that too, as in \"trigger\": \"interval\"");
            }
            None
        }
    };
    let mut wanted = rest(&mut members);
    wanted.func = not_null(&mut members, "func", |members| members.text("func"));
    wanted.name = not_null(&mut members, "name", |members| members.text("name"));
    if wanted.name.as_deref() == Some("") {
        members.refuse("name", "is empty: a text is expected");
    }
    wanted.args = not_null(&mut members, "args", |members| members.container("args", '[').map(str::to_owned));
    wanted.kwargs = not_null(&mut members, "kwargs", |members| members.container("kwargs", '{').map(str::to_owned));
    wanted.next_run_time = next_run_time(&mut members, trigger.as_ref());
    members.finish(Some(Wanted { trigger, ..wanted }))
}

fn required(members: &mut Members<'_>, name: &'static str) -> Option<String> {
    if !members.has(name) {
        members.refuse(name, "is missing: it is text");
    }
    not_null(members, name, |members| members.text(name))
}

/// What `read` takes, unless it is `null`, which is refused.
fn not_null<T>(
    members: &mut Members<'_>,
    name: &'static str,
    read: impl Fn(&mut Members<'_>) -> Option<T>,
) -> Option<T> {
    let (given, before) = (members.has(name), members.wrong.len());
    let value = read(members);
    if given && value.is_none() && members.wrong.len() == before {
        members.refuse(name, "cannot be null");
    }
    value
}

/// What a new job and a changed one have in common. Executors and job stores have no counterpart here: the task says how
/// it runs, and all schedules are in the one database.
fn rest(members: &mut Members<'_>) -> Wanted {
    for name in ["executor", "jobstore"] {
        let _: Option<String> = members.text(name);
    }
    let misfire_grace_time = grace(members);
    let max_instances = not_null(members, "max_instances", |members| {
        let most: Option<u64> = members.typed("max_instances", "a whole number from 1 up");
        if most == Some(0) {
            members.refuse("max_instances", "is a whole number from 1 up, not 0");
        }
        most
    });
    let coalesce = members.has("coalesce").then(|| members.typed("coalesce", "true or false").unwrap_or(false));
    Wanted { misfire_grace_time, max_instances, coalesce, ..Wanted::default() }
}

fn grace(members: &mut Members<'_>) -> Option<Option<Duration>> {
    const NAME: &str = "misfire_grace_time";
    let raw = members.raw(NAME)?;
    if raw == "null" {
        return Some(None);
    }
    let seconds = raw.parse::<u64>().ok().filter(|seconds| *seconds > 0 && *seconds <= LONGEST.as_secs());
    if seconds.is_none() {
        members.refuse(NAME, format!("is null or a whole number of seconds from 1 up, not {}", kind(raw)));
    }
    seconds.map(|seconds| Some(Duration::from_secs(seconds)))
}

/// The trigger that `trigger` names, or that it is as an object.
fn given_trigger(members: &mut Members<'_>, now: Timestamp) -> Option<Trigger> {
    let raw = members.given("trigger")?;
    if raw.starts_with('{') {
        let mut inside = match Members::of(raw) {
            Ok(inside) => inside,
            Err(why) => {
                members.refuse("trigger", why);
                return None;
            }
        };
        let kind = inside.text("type").unwrap_or_else(|| "date".to_owned());
        let trigger = when(&mut inside, &kind, now);
        return match inside.finish(trigger) {
            Ok(trigger) => Some(trigger),
            Err(wrong) => {
                members.wrong.extend(wrong);
                None
            }
        };
    }
    let kind: String = serde_json::from_str(raw).ok().or_else(|| {
        members.refuse("trigger", format!("is “date”, “interval” or “cron”, not {}", kind(raw)));
        None
    })?;
    when(members, &kind, now)
}

/// The members of a trigger of this kind.
fn when(members: &mut Members<'_>, kind: &str, now: Timestamp) -> Option<Trigger> {
    let before = members.wrong.len();
    let zone = zone(members);
    let mut bound = |name| moment(members, name, &zone);
    let (start, end) = if kind == "date" { (None, None) } else { (bound("start_date"), bound("end_date")) };
    let when = match kind {
        "date" => When::Date(moment(members, "run_date", &zone)),
        "interval" => {
            let micros = UNITS.into_iter().fold(0_i128, |sum, (unit, seconds)| {
                let number: f64 = members.typed(unit, "a number").unwrap_or_default();
                sum + (number * seconds as f64 * 1e6).round() as i128
            });
            let interval = trigger::interval(micros, now);
            members.note(interval)?
        }
        "cron" => {
            let fields = CronFields::read(|name| field(members.given(name)?));
            match fields.and_then(|fields| fields.expression().map(|_| fields).map_err(|wrong| vec![wrong])) {
                Ok(fields) => When::Cron(fields),
                Err(wrong) => {
                    members.wrong.extend(wrong);
                    return None;
                }
            }
        }
        other => {
            take_parts(members);
            let message = format!("“{}” is none that there is: it is date, interval or cron", other.escape_debug());
            members.refuse("trigger", message);
            return None;
        }
    };
    let jitter = match kind {
        "date" => None,
        _ => members.typed("jitter", "a number of seconds").and_then(|seconds| members.note(trigger::jitter(seconds))),
    };
    (members.wrong.len() == before).then_some(Trigger { when, zone, start, end, jitter })
}

/// Takes the members that only triggers have; those that there are.
fn take_parts(members: &mut Members<'_>) -> Vec<&'static str> {
    let units = UNITS.iter().map(|(unit, _)| *unit);
    let parts = units.chain(NAMES).chain(["run_date", "start_date", "end_date", "timezone", "jitter"]);
    parts.filter(|name| members.raw(name).is_some()).collect()
}

/// The text of a cron field: a text, or a number as it stands.
fn field(raw: &str) -> Option<String> {
    Some(serde_json::from_str(raw).unwrap_or_else(|_| raw.to_owned()))
}

fn zone(members: &mut Members<'_>) -> Zone {
    let Some(name) = members.text("timezone") else { return Zone::utc() };
    Zone::get(name.trim()).unwrap_or_else(|error| {
        members.refuse("timezone", error.to_string());
        Zone::utc()
    })
}

fn moment(members: &mut Members<'_>, name: &'static str, zone: &Zone) -> Option<Moment> {
    let text = members.text(name)?;
    members.note(Moment::read(&text, zone).map_err(|why| Wrong::new(name, why)))
}

fn next_run_time(members: &mut Members<'_>, trigger: Option<&Trigger>) -> Option<Option<Moment>> {
    let zone = trigger.map_or_else(Zone::utc, |trigger| trigger.zone.clone());
    members.has("next_run_time").then(|| moment(members, "next_run_time", &zone))
}
