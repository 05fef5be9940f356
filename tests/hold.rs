//! A host that refuses holds its whole task back, over all nodes, and burns no attempt.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "nodes/ask.rs"]
mod ask;

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use ask::{LIMIT, config, insert, migrate, state, task, until_count, until_state};
use house::{Hook, Node, TestDatabase, free_port, on_every_backend, soloist, until};

on_every_backend!(
    a_host_that_cannot_be_connected_to,
    a_host_that_says_no,
    a_refused_probe_waits_longer,
    other_tasks_go_on,
);

/// Nothing was counted of refusals: each entry ran once, at attempt 1.
fn nothing_was_counted(database: &TestDatabase, entries: i64) {
    let first = "SELECT count(*) FROM soloist_entries WHERE attempt = 1 AND state = 'completed'";
    assert_eq!(database.number(first), entries);
    assert_eq!(database.number("SELECT count(*) FROM soloist_attempts"), 0);
}

fn a_host_that_cannot_be_connected_to(database: &TestDatabase) {
    let port = free_port();
    let tasks = format!("[tasks.t]\nhttp = {{ url = \"http://127.0.0.1:{port}/\" }}\nmax_attempts = 1");
    let node = Node::start(&config(database, &tasks)).wait_ready();
    for _ in 0..20 {
        insert(database, "t", "{}");
    }
    until(LIMIT, "the task is held", || {
        database.number("SELECT count(*) FROM soloist_tasks WHERE held_since IS NOT NULL") == 1
    });
    until_count(database, "t", "running", 0);
    let other = Node::start(&config(database, &tasks)).wait_ready();
    for asked in [&node, &other] {
        let shown = task(asked, "t");
        let reason = shown["held"]["reason"].as_str().unwrap_or_else(|| panic!("{shown}")).to_owned();
        assert!(reason.contains("cannot connect"), "{shown}");
        assert!(shown["held"]["since"].is_string() && shown["held"]["next_probe_at"].is_string(), "{shown}");
    }
    let mut command = soloist();
    let output = command.arg("--config").arg(other.config()).arg("status").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains('t') && text.contains("cannot connect"), "{text}");
    let counted = "SELECT COALESCE(max(attempt), 0) FROM soloist_entries WHERE state = 'pending'";
    assert_eq!(database.number(counted), 0, "nothing is counted");

    let hook = Hook::start_at(port, |_| 200);
    until_count(database, "t", "completed", 20);
    nothing_was_counted(database, 20);
    assert_eq!(hook.count(), 20);
    // What the API shows of the whole may be a second old.
    until(LIMIT, "the task is held no more", || task(&other, "t")["held"].is_null());
}

fn a_host_that_says_no(database: &TestDatabase) {
    for status in [401, 403, 404] {
        database.try_sql("DELETE FROM soloist_entries").ok();
        let says = Arc::new(AtomicU16::new(status));
        let hook = {
            let says = says.clone();
            Hook::start(move |_| says.load(Ordering::SeqCst))
        };
        let tasks = format!("[tasks.t{status}]\nhttp = {{ url = \"{}\" }}\nconcurrency = 2", hook.url("/"));
        let node = Node::start(&config(database, &tasks)).wait_ready();
        let name = format!("t{status}");
        let ids: Vec<_> = (0..10).map(|_| insert(database, &name, "{}")).collect();
        until(LIMIT, "the task is held", || !task(&node, &name)["held"].is_null());
        until(LIMIT, "a probe was refused as well", || {
            database.number(&format!("SELECT held_count FROM soloist_tasks WHERE name = '{name}'")) >= 2
        });
        // A few more are called until the first refusal is recorded, then one a probe.
        assert!(hook.count() <= 15, "the burst and a probe or two: {}", hook.count());
        assert!(ids.iter().all(|id| state(database, *id) == "pending"));
        says.store(200, Ordering::SeqCst);
        until_count(database, &name, "completed", 10);
        nothing_was_counted(database, 10);
    }
}

fn a_refused_probe_waits_longer(database: &TestDatabase) {
    migrate(database);
    let calls = Arc::new(std::sync::Mutex::new(Vec::new()));
    let hook = {
        let calls = calls.clone();
        Hook::start(move |_| {
            calls.lock().unwrap().push(Instant::now());
            403
        })
    };
    let tasks = format!("[tasks.t]\nhttp = {{ url = \"{}\" }}\nconcurrency = 1", hook.url("/"));
    insert(database, "t", "{}");
    insert(database, "t", "{}");
    let _nodes = [Node::start(&config(database, &tasks)), Node::start(&config(database, &tasks))];
    // One probe over both nodes: after 1 s, 2 s, 4 s, each on from the one before.
    until(LIMIT, "three probes were refused", || {
        database.number("SELECT COALESCE(max(held_count), 0) FROM soloist_tasks") >= 4
    });
    let calls = calls.lock().unwrap().clone();
    let first = calls[0];
    let late: Vec<_> = calls.iter().map(|at| *at - first).filter(|after| *after > Duration::from_millis(900)).collect();
    assert_eq!(late.len(), 3, "{late:?}");
    assert!(late[1] - late[0] >= Duration::from_millis(1900), "{late:?}");
    assert!(late[2] - late[1] >= Duration::from_millis(3900), "{late:?}");
}

fn other_tasks_go_on(database: &TestDatabase) {
    let hook = Hook::start(|request| if request.path == "/no" { 404 } else { 200 });
    let tasks = format!(
        "[tasks.no]\nhttp = {{ url = \"{}\" }}\n[tasks.yes]\nhttp = {{ url = \"{}\" }}",
        hook.url("/no"),
        hook.url("/yes")
    );
    let node = Node::start(&config(database, &tasks)).wait_ready();
    insert(database, "no", "{}");
    until(LIMIT, "the one is held", || !task(&node, "no")["held"].is_null());
    let yes = insert(database, "yes", "{}");
    until_state(database, yes, "completed");
    assert!(task(&node, "yes")["held"].is_null());
}
