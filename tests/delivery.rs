//! How often a handler is started, in what order, and what stays: at real nodes, on every backend.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "nodes/ask.rs"]
mod ask;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use ask::{LIMIT, config, config_with, insert, insert_with, migrate, shown, state, until_count, until_state};
use house::{Answer, Hook, Node, Signal, TestDatabase, on_every_backend, until};
use serde_json::json;

on_every_backend!(
    at_most_once_ends_failed_whatever_ends_it,
    at_most_once_on_a_node_that_dies,
    what_is_not_kept_is_gone_at_its_end,
    a_key_is_free_from_the_start,
    better_priorities_come_first,
    a_batch_may_fail_in_part,
);

/// Calls of one entry.
fn calls(hook: &Hook, id: i64) -> usize {
    hook.received().iter().filter(|request| request.json()["id"] == json!(id)).count()
}

fn at_most_once_ends_failed_whatever_ends_it(database: &TestDatabase) {
    let hook = Hook::start(|request| match request.path.as_str() {
        "/error" => Answer::from(503),
        "/cut" => Answer::Cut,
        _ => Answer::Silence(String::new()),
    });
    let task = |name: &str, more: &str| {
        format!(
            "[tasks.{name}]\nhttp = {{ url = \"{}\" }}\ndelivery = \"at_most_once\"\n\
             backoff = {{ first = \"1ms\", max = \"1ms\" }}\n{more}\n",
            hook.url(&format!("/{name}"))
        )
    };
    let tasks = [task("error", ""), task("cut", ""), task("slow", "timeout = \"300ms\""), task("drain", "")].concat();
    let settings = "lease = \"3s\"\ndrain = \"300ms\"\npoll = \"200ms\"";
    let mut node = Node::start(&config_with(database, settings, &tasks)).wait_ready();
    let ids = ["error", "cut", "slow"].map(|name| insert(database, name, "{}"));
    for id in ids {
        until_state(database, id, "failed");
    }
    let error = |id: i64| database.value(&format!("SELECT error FROM soloist_entries WHERE id = {id}")).unwrap();
    assert!(
        error(ids[0]).contains("503") && error(ids[2]).contains("timed out"),
        "{} {}",
        error(ids[0]),
        error(ids[2])
    );
    let cut_off = insert(database, "drain", "{}");
    until(LIMIT, "the handler was called", || calls(&hook, cut_off) == 1);
    node.signal(Signal::TERM);
    assert_eq!(node.exit_code(), Some(0));
    assert_eq!(state(database, cut_off), "failed");
    assert!(error(cut_off).contains("stop"), "{}", error(cut_off));
    for id in ids.into_iter().chain([cut_off]) {
        assert_eq!(calls(&hook, id), 1);
    }
}

fn at_most_once_on_a_node_that_dies(database: &TestDatabase) {
    let hook = Hook::start(|_| Answer::Silence(String::new()));
    let tasks = format!("[tasks.t]\nhttp = {{ url = \"{}\" }}\ndelivery = \"at_most_once\"", hook.url("/"));
    let settings = "lease = \"1s\"\npoll = \"200ms\"";
    let dying = Node::start(&config_with(database, settings, &tasks)).wait_ready();
    // The number of attempts that an entry names does not make it start twice.
    let ids = [insert(database, "t", "{}"), insert_with(database, "t", "{}", ", max_attempts", ", 5")];
    until(LIMIT, "both handlers were called", || hook.count() == 2);
    let other = Node::start(&config_with(database, settings, &tasks)).wait_ready();
    dying.signal(Signal::KILL);
    for id in ids {
        until_state(database, id, "failed");
        let error = database.value(&format!("SELECT error FROM soloist_entries WHERE id = {id}")).unwrap();
        assert!(error.contains("was lost"), "{error}");
        assert_eq!(database.number(&format!("SELECT attempt FROM soloist_entries WHERE id = {id}")), 1);
    }
    assert_eq!(hook.count(), 2, "started once at most");
    // A person may have it started again: once more.
    database.sql("UPDATE soloist_entries SET max_attempts = 9");
    assert_eq!(other.api("POST", &format!("/api/v1/entries/{}/retry", ids[1]), "").status, 200);
    until(LIMIT, "it is started again", || calls(&hook, ids[1]) == 2);
    other.signal(Signal::KILL);
    let _third = Node::start(&config_with(database, settings, &tasks)).wait_ready();
    until_state(database, ids[1], "failed");
    assert_eq!(hook.count(), 3);
}

fn what_is_not_kept_is_gone_at_its_end(database: &TestDatabase) {
    let hook = Hook::start(|request| if request.json()["payload"]["ok"] == json!(true) { 200 } else { 400 });
    let task = |name: &str, keep: &str| {
        format!("[tasks.{name}]\nhttp = {{ url = \"{}\" }}\nkeep = {{ {keep} }}\n", hook.url("/"))
    };
    let tasks = task("short", "completed = \"0s\"")
        + &task("none", "completed = \"0s\", failed = \"0s\"")
        + &task("ever", "completed = \"forever\"");
    let node = Node::start(&config(database, &tasks)).wait_ready();
    let entry = |name: &str, ok: bool| {
        let answer = node.api("POST", "/api/v1/entries", &json!({"task": name, "payload": {"ok": ok}}).to_string());
        answer.json()["id"].as_i64().unwrap()
    };
    let both = |name| (entry(name, true), entry(name, false));
    let (short, none, ever) = (both("short"), both("none"), both("ever"));
    until_state(database, short.0, "gone");
    until_state(database, short.1, "failed");
    until_state(database, none.0, "gone");
    until_state(database, none.1, "gone");
    until_state(database, ever.0, "completed");
    until_state(database, ever.1, "failed");
    assert_eq!(hook.count(), 6);
    let orphans = "SELECT count(*) FROM soloist_attempts WHERE entry_id NOT IN (SELECT id FROM soloist_entries)";
    assert_eq!(database.number(orphans), 0, "attempts go with their entry");
}

fn a_key_is_free_from_the_start(database: &TestDatabase) {
    let open = Arc::new(AtomicBool::new(false));
    let hook = {
        let open = open.clone();
        Hook::start(move |_| {
            until(LIMIT, "the test lets the handler go on", || open.load(Ordering::SeqCst));
            200
        })
    };
    let task = |name: &str, more: &str| format!("[tasks.{name}]\nhttp = {{ url = \"{}\" }}\n{more}\n", hook.url("/"));
    let tasks = task("early", "dedupe = \"until_start\"") + &task("late", "");
    let node = Node::start(&config(database, &tasks)).wait_ready();
    let keyed = |name: &str| {
        database
            .try_sql(&format!("INSERT INTO soloist_entries (task, payload, dedupe_key) VALUES ('{name}', '{{}}', 'k')"))
    };
    keyed("early").unwrap();
    keyed("late").unwrap();
    until_count(database, "early", "running", 1);
    until_count(database, "late", "running", 1);
    keyed("late").expect_err("the key is held until the end");
    assert_eq!(node.api("POST", "/api/v1/tasks/early/pause", "{}").status, 200);
    keyed("early").unwrap();
    keyed("early").expect_err("one waits already");
    open.store(true, Ordering::SeqCst);
    until_count(database, "early", "completed", 1);
    until_count(database, "late", "completed", 1);
    keyed("late").unwrap();
    keyed("early").expect_err("one still waits");
    assert_eq!(node.api("POST", "/api/v1/tasks/early/resume", "{}").status, 200);
    until_count(database, "early", "completed", 2);
    until_count(database, "late", "completed", 2);
}

fn better_priorities_come_first(database: &TestDatabase) {
    migrate(database);
    let hook = Hook::start(|_| 200);
    let tasks = format!("[tasks.t]\nhttp = {{ url = \"{}\" }}\nconcurrency = 1", hook.url("/"));
    let ids = [5, 0, -9, 0, 9, -1].map(|n| insert_with(database, "t", "{}", ", priority", &format!(", {n}")));
    let _node = Node::start(&config(database, &tasks)).wait_ready();
    until_count(database, "t", "completed", 6);
    let order: Vec<_> = hook.received().iter().map(|request| request.json()["id"].as_i64().unwrap()).collect();
    assert_eq!(order, [ids[2], ids[5], ids[1], ids[3], ids[0], ids[4]]);
}

fn a_batch_may_fail_in_part(database: &TestDatabase) {
    migrate(database);
    let again = Arc::new(AtomicUsize::new(0));
    let hook = {
        let again = again.clone();
        Hook::start(move |request| {
            let mut failed = Vec::new();
            for entry in request.json()["entries"].as_array().unwrap() {
                match entry["payload"]["n"].as_i64().unwrap() {
                    2 => failed.push(json!({"id": entry["id"], "error": "never", "retry": false})),
                    3 if again.fetch_add(1, Ordering::SeqCst) == 0 => {
                        failed.push(json!({"id": entry["id"], "error": "not yet", "retry": true}));
                    }
                    _ => {}
                }
            }
            Answer::Status(200, json!({ "failed": failed }).to_string())
        })
    };
    let tasks = format!(
        "[tasks.t]\nhttp = {{ url = \"{}\" }}\nbatch = 3\nbackoff = {{ first = \"50ms\", max = \"50ms\" }}",
        hook.url("/")
    );
    let ids: Vec<_> = (0..7).map(|n| insert(database, "t", &format!("{{\"n\": {n}}}"))).collect();
    let node = Node::start(&config(database, &tasks)).wait_ready();
    until_count(database, "t", "completed", 6);
    until_count(database, "t", "failed", 1);
    let calls = hook.received();
    let sizes: Vec<_> = calls.iter().map(|call| call.json()["entries"].as_array().unwrap().len()).collect();
    assert!(sizes.iter().all(|size| *size <= 3) && sizes.iter().sum::<usize>() == 8, "{sizes:?}");
    assert!(sizes.len() < 6, "several in one call: {sizes:?}");
    let never = shown(&node, ids[2]);
    assert_eq!((&never["state"], &never["error"], &never["attempt"]), (&json!("failed"), &json!("never"), &json!(1)));
    assert_eq!(shown(&node, ids[3])["attempt"], 2);
    for position in [0, 1, 4, 5, 6] {
        assert_eq!(shown(&node, ids[position])["attempt"], 1);
    }
    assert!(node.log().lines().all(|line| !line.contains("panick")), "{}", node.log());
    until(Duration::from_secs(5), "no entry is left running", || {
        database.number("SELECT count(*) FROM soloist_entries WHERE state = 'running'") == 0
    });
}
