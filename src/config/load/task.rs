//! Reads `[tasks.*]` and refuses what does not go together.

use std::collections::BTreeMap;

use super::{Purpose, handler, policy, source};
use crate::config::walk::{Item, Section};
use crate::config::{Dedupe, HandlerKind, Task};
use crate::model::Delivery;

pub(super) const KEYS: &[&str] = &[
    "http",
    "command",
    "sql",
    "pull",
    "concurrency",
    "max_running",
    "rate",
    "serial_by",
    "batch",
    "timeout",
    "max_attempts",
    "backoff",
    "delivery",
    "transaction",
    "dedupe",
    "keep",
    "source",
];

/// The tasks that could be read, and the names of all that the file declares.
pub(super) struct Tasks {
    pub(super) tasks: BTreeMap<String, Task>,
    pub(super) names: Vec<String>,
}

pub(super) fn read_all(root: &Section, purpose: Purpose) -> Tasks {
    let mut all = Tasks { tasks: BTreeMap::new(), names: Vec::new() };
    for item in root.section("tasks").items() {
        all.names.push(item.key.clone());
        if let Some(task) = read(&item, purpose) {
            all.tasks.insert(item.key.clone(), task);
        }
    }
    all
}

/// True for a name of a task or schedule; says what is wrong with another.
pub(super) fn check_name(item: &Item) -> bool {
    let name = &item.key;
    let right = (1..=100).contains(&name.len())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'));
    if !right {
        item.wrong_key("is not a name", "1 to 100 letters, digits, “_”, “.” and “-”, such as “thumbnail-2”");
    }
    right
}

fn read(item: &Item, purpose: Purpose) -> Option<Task> {
    let named = check_name(item);
    let section = item.table()?.closed("[tasks.*]", KEYS);
    let handler = handler::read(&section, purpose);
    let mut task = Task::new(item.key.clone(), handler.clone().unwrap_or(HandlerKind::Noop));
    let get = |key: &str| section.get(key);
    if let Some(count) = get("concurrency").and_then(|item| item.count(1..=10_000)) {
        task.concurrency = count;
    }
    if let Some(count) = get("max_running").and_then(|item| item.count(0..=1_000_000)) {
        task.max_running = count;
    }
    task.rate = get("rate").and_then(|item| policy::rate(&item));
    task.serial = get("serial_by").and_then(|item| item.choice(&[("key", true)])).unwrap_or_default();
    if let Some(count) = get("batch").and_then(|item| item.count(1..=1000)) {
        task.batch = count;
    }
    if let Some(timeout) = get("timeout").and_then(|item| policy::timeout(&item)) {
        task.timeout = timeout;
    }
    if let Some(attempts) = get("max_attempts").and_then(|item| item.whole(1..=100_000)) {
        task.max_attempts = i32::try_from(attempts).unwrap_or(i32::MAX);
    }
    if let Some(backoff) = get("backoff").and_then(|item| policy::backoff(&item)) {
        task.backoff = backoff;
    }
    let deliveries = [("at_least_once", Delivery::AtLeastOnce), ("at_most_once", Delivery::AtMostOnce)];
    task.delivery = get("delivery").and_then(|item| item.choice(&deliveries)).unwrap_or_default();
    let dedupes = [("until_end", Dedupe::UntilEnd), ("until_start", Dedupe::UntilStart), ("none", Dedupe::None)];
    let usual = if task.serial { Dedupe::None } else { Dedupe::default() };
    task.dedupe = get("dedupe").and_then(|item| item.choice(&dedupes)).unwrap_or(usual);
    if let Some(keep) = get("keep").and_then(|item| policy::keep(&item)) {
        task.keep = keep;
    }
    let given = get("transaction").and_then(|item| item.truth());
    task.source = get("source").and_then(|item| source::read(&item));
    if handler.is_some() {
        check_transaction(&mut task, given, &section);
        check_batch(&task, &section);
    }
    check_attempts(&mut task, &section);
    (named && handler.is_some()).then_some(task)
}

/// The transaction that claims holds one entry's row while it runs: it cannot be joined with what runs elsewhere, and nothing is
/// marked running that could be counted or found after a crash.
fn check_transaction(task: &mut Task, given: Option<bool>, section: &Section) {
    let alone = match &task.handler {
        HandlerKind::Sql(_) => None,
        other => Some(format!("a handler “{}” does not run in the database", other.word())),
    };
    let alone = alone
        .or((task.delivery == Delivery::AtMostOnce)
            .then(|| "“at_most_once” marks an entry before it starts".to_owned()))
        .or((task.max_running > 0).then(|| "“max_running” counts what is marked running".to_owned()))
        .or(task.serial.then(|| "“serial_by” looks at what is marked running".to_owned()));
    match (alone, given, section.get("transaction")) {
        (Some(why), Some(true), Some(item)) => {
            item.wrong(
                format!("{why}, so it cannot share the transaction that claims"),
                "write transaction = false, or take the key out",
            );
        }
        (Some(_), _, _) => task.transaction = Some(false),
        (None, given, _) => task.transaction = given,
    }
}

fn check_batch(task: &Task, section: &Section) {
    let why = match &task.handler {
        _ if task.batch == 1 => return,
        HandlerKind::Http(_) => return,
        HandlerKind::Command(_) => "a command gets one entry on its standard input",
        HandlerKind::Sql(_) => "a statement binds the values of one entry",
        HandlerKind::Pull => "outside workers say themselves how many they take",
        HandlerKind::Noop | HandlerKind::Note(_) => "there is no handler to call",
    };
    if let Some(item) = section.get("batch") {
        item.wrong(format!("{why}: only http takes several in one call"), "write batch = 1, or take the key out");
    }
}

fn check_attempts(task: &mut Task, section: &Section) {
    if task.delivery == Delivery::AtLeastOnce {
        return;
    }
    if let Some(item) = section.get("max_attempts")
        && task.max_attempts != 1
    {
        item.wrong(
            "with delivery = \"at_most_once\" there is one attempt",
            "write max_attempts = 1, or take the key out",
        );
    }
    task.max_attempts = 1;
}
