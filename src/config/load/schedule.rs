//! Reads `[schedules.*]`. What a trigger means is `trigger`'s; where an error stands is said here.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{payload, task};
use crate::config::duration;
use crate::config::nearest::{enumerate, nearest};
use crate::config::schedule::wanted::FIELDS;
use crate::config::schedule::{Schedule, Trigger, rules};
use crate::config::walk::{Item, Section};
use crate::trigger::{Cron, SHORTEST, Zone};

pub(super) const KEYS: &[&str] = &FIELDS;

pub(super) fn read_all(root: &Section, tasks: &[String]) -> BTreeMap<String, Schedule> {
    let items = root.section("schedules").items();
    items.iter().filter_map(|item| Some((item.key.clone(), read(item, tasks)?))).collect()
}

fn read(item: &Item, tasks: &[String]) -> Option<Schedule> {
    let named = task::check_name(item);
    let section = item.table()?.closed("[schedules.*]", KEYS);
    let get = |key: &str| section.get(key);
    let task = read_task(&section, tasks);
    let trigger = read_trigger(&section);
    let is_timed = trigger.is_some();
    let known = named && task.is_some() && is_timed;
    let mut schedule = Schedule::new(
        item.key.clone(),
        task.unwrap_or_default(),
        trigger.unwrap_or(Trigger::Every(Duration::from_secs(60))),
    );
    if let Some(zone) = get("timezone").and_then(|item| timezone(&item)) {
        schedule.timezone = zone;
    }
    schedule.payload = get("payload").and_then(|item| payload::json(&item));
    schedule.start = get("start").and_then(|item| item.instant());
    schedule.end = get("end").and_then(|item| item.instant());
    let span = |key: &str| get(key).and_then(|item| item.duration(Duration::ZERO, duration::LONGEST));
    schedule.jitter = span("jitter").unwrap_or_default();
    schedule.misfire_grace = span("misfire_grace");
    // Without a trigger, which is said already, there is nothing that it could be at odds with.
    if let (true, Err((field, wrong))) = (is_timed, rules::fires(&schedule))
        && let Some(item) = get(field)
    {
        item.wrong(wrong.reason, wrong.help);
    }
    schedule.misfire = get("misfire").and_then(|item| item.choice(&rules::MISFIRES)).unwrap_or_default();
    schedule.overlap = get("overlap").and_then(|item| item.choice(&rules::OVERLAPS)).unwrap_or_default();
    known.then_some(schedule)
}

fn read_task(section: &Section, tasks: &[String]) -> Option<String> {
    let Some(item) = section.get("task") else {
        section.lacks("there is no “task”", "name the task that it fires: task = \"thumbnail\"");
        return None;
    };
    let text = item.text()?;
    if tasks.contains(&text.text) {
        return Some(text.text);
    }
    let names = || tasks.iter().map(String::as_str);
    let help = match nearest(&text.text, names()) {
        Some(near) => format!("the nearest task is “{near}”"),
        None if tasks.is_empty() => "the file declares no task".to_owned(),
        None => format!("the tasks are {}", enumerate(names(), "and")),
    };
    item.wrong_absent(format!("there is no task {}", text.shown()), help);
    None
}

fn read_trigger(section: &Section) -> Option<Trigger> {
    let mut given = rules::TRIGGERS.into_iter().filter_map(|key| section.get(key));
    let Some(item) = given.next() else {
        section.lacks(rules::NO_TRIGGER, rules::ONE_TRIGGER);
        return None;
    };
    if let Some(second) = given.next() {
        second.wrong_key(rules::two_triggers(&item.key, &second.key), rules::ONE_TRIGGER);
        return None;
    }
    match item.key.as_str() {
        "every" => item.duration(SHORTEST, rules::longest_interval()).map(Trigger::Every),
        "cron" => cron(&item).map(Trigger::Cron),
        _ => item.instant().map(Trigger::At),
    }
}

fn cron(item: &Item) -> Option<Cron> {
    let text = item.text()?;
    let wrong = match Cron::parse(&text.text) {
        Ok(cron) => return Some(cron),
        Err(wrong) => wrong,
    };
    // What came out of the environment may be a secret that went astray.
    match text.is_as_typed() {
        true => item.wrong(wrong.message(), wrong.help()),
        false => item.wrong(format!("{} is no cron expression", text.shown()), Cron::FORM),
    }
    None
}

fn timezone(item: &Item) -> Option<Zone> {
    let text = item.text()?;
    match Zone::get(text.text.trim()) {
        Ok(zone) => Some(zone),
        Err(wrong) => {
            item.wrong(format!("{} is not the name of a time zone", text.shown()), wrong.help());
            None
        }
    }
}
