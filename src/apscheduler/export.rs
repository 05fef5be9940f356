//! Reads what `scheduler.export_jobs()` of APScheduler 3.11 wrote: JSON whose dates, zones and cron fields are pickles.
//!
//! No pickle is run: those of that kind are read as data, any other is refused.

mod objects;
mod pickle;
mod state;

use jiff::Timestamp;

use super::job::Wanted;
use super::members::Members;
use super::{Wrong, check_id};
use state::State;

/// A job of an export.
#[derive(Debug, Clone, PartialEq)]
pub struct Exported {
    /// Names the schedule.
    pub id: String,
    /// All the rest.
    pub wanted: Wanted,
}

/// What is wrong with a job of an export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobWrong {
    /// Its id, or its place in the file.
    pub job: String,
    /// The field and the reason.
    pub wrong: Wrong,
}

/// Reads an export: the jobs that can be read, and all that is wrong with the file or the others.
pub fn read(text: &[u8], now: Timestamp) -> (Vec<Exported>, Vec<JobWrong>) {
    let (mut read, mut wrong) = (Vec::new(), Vec::new());
    let jobs = jobs(text).unwrap_or_else(|error| {
        wrong.push(JobWrong { job: "the file".to_owned(), wrong: error });
        Vec::new()
    });
    for (place, raw) in jobs.iter().enumerate() {
        match job(raw, now) {
            Ok(job) => read.push(job),
            Err((id, wrongs)) => {
                let job = id.unwrap_or_else(|| format!("jobs[{place}]"));
                wrong.extend(wrongs.into_iter().map(|wrong| JobWrong { job: job.clone(), wrong }));
            }
        }
    }
    let mut seen = std::collections::HashSet::new();
    for job in read.iter().filter(|job| !seen.insert(job.id.clone())) {
        let twice = Wrong::new("id", "is in the file twice: jobs of two stores need names of their own");
        wrong.push(JobWrong { job: job.id.clone(), wrong: twice });
    }
    (read, wrong)
}

/// The jobs of the file, unread.
fn jobs(bytes: &[u8]) -> Result<Vec<String>, Wrong> {
    const HOW: &str = "write it with scheduler.export_jobs(\"jobs.json\"), which APScheduler has from 3.11 on";
    let wrong = |field: &str, message: String| Err(Wrong::new(field, message));
    if bytes.first() == Some(&0x80) {
        return wrong("format", format!("it is a pickle, which is a program and is not run here: {HOW}"));
    }
    if bytes.starts_with(b"SQLite format 3") {
        return wrong("format", format!("it is a database, whose jobs are pickles: {HOW}"));
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return wrong("format", format!("it is not UTF-8: {HOW}")) };
    let mut members = match Members::of(text) {
        Ok(members) => members,
        Err(why) => return wrong("format", format!("{why}; {HOW}")),
    };
    let version: Option<i64> = members.typed("version", "a number");
    if version != Some(1) {
        return wrong("version", format!("it must be 1, the only one that is known; {HOW}"));
    }
    match members.typed::<Vec<Box<serde_json::value::RawValue>>>("jobs", "an array") {
        Some(jobs) => Ok(jobs.into_iter().map(|raw| raw.get().to_owned()).collect()),
        None => wrong("jobs", format!("there is no array of jobs; {HOW}")),
    }
}

/// One job, or its id as far as it can be read and what is wrong with it.
fn job(raw: &str, now: Timestamp) -> Result<Exported, (Option<String>, Vec<Wrong>)> {
    let mut members = Members::of(raw).map_err(|why| (None, vec![Wrong::new("job", why)]))?;
    let id = members.text("id");
    if let Err(wrong) = id.as_deref().map_or_else(|| Err(Wrong::new("id", "is missing")), check_id) {
        members.wrong.push(wrong);
    }
    let version: Option<i64> = members.typed("version", "a number");
    if version != Some(1) {
        members.refuse("version", "must be 1, the only one that is known");
    }
    let trigger = match members.given("trigger") {
        Some(raw) => state::trigger(raw, now),
        None => Err(vec![Wrong::new("trigger", "is missing")]),
    };
    let trigger = trigger.map_err(|wrong| members.wrong.extend(wrong)).ok();
    let mut next_run_time = None;
    match members.raw("next_run_time").map(State::parse) {
        None | Some(Ok(State::Null)) => next_run_time = Some(None),
        Some(Ok(State::Pickle(pickle, value))) => {
            let moment = pickle.moment(&value).map_err(|why| Wrong::new("next_run_time", why));
            // A cron expression says itself when it is due next, and a jitter is no phase.
            let counts = trigger
                .as_ref()
                .is_some_and(|trigger| trigger.jitter.is_none() && !matches!(trigger.when, super::When::Cron(_)));
            next_run_time = members.note(moment).filter(|_| counts).map(Some);
        }
        Some(Ok(State::Plain)) => members.refuse("next_run_time", "is no date"),
        Some(Err(why)) => members.refuse("next_run_time", why),
    }
    let func = members.text("func");
    if func.is_none() {
        members.refuse("func", "is missing");
    }
    let args = arguments(&mut members, "args", '[');
    let kwargs = arguments(&mut members, "kwargs", '{');
    let grace: Option<u64> = members.typed("misfire_grace_time", "a whole number of seconds, or null");
    let wanted = Wanted {
        func,
        name: members.text("name"),
        args,
        kwargs,
        trigger,
        misfire_grace_time: Some(grace.map(std::time::Duration::from_secs)),
        coalesce: members.typed("coalesce", "true or false"),
        max_instances: members.typed("max_instances", "a whole number"),
        next_run_time,
    };
    let _: Option<String> = members.text("executor");
    let id = id.unwrap_or_default();
    let known = Some(id.clone()).filter(|id| !id.is_empty());
    members.finish(Some(Exported { id, wanted: wanted.or_defaults() })).map_err(|wrong| (known, wrong))
}

/// Arguments as they stand, in which every object that is no JSON was pickled.
fn arguments(members: &mut Members<'_>, name: &'static str, open: char) -> Option<String> {
    let raw = members.container(name, open)?;
    match serde_json::from_str(raw) {
        Ok(value) => state::refuse_objects(name, &value, &mut members.wrong),
        Err(error) => members.refuse(name, error.to_string()),
    }
    Some(raw.to_owned())
}
