//! SIGHUP: tasks and tokens are read again, a wrong file changes nothing, what runs goes on.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "nodes/ask.rs"]
mod ask;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ask::{LIMIT, config, config_with, insert, until_count, until_state};
use house::{Hook, Node, Signal, TestDatabase, on_every_backend, request, until};

on_every_backend!(tasks_come_and_go_while_their_entries_run, a_wrong_file_changes_nothing, tokens_are_read_again);

fn reload(node: &Node, said: &str) {
    let before = node.log().matches(said).count();
    node.signal(Signal::HUP);
    until(LIMIT, &format!("the node says “{said}”"), || node.log().matches(said).count() > before);
}

fn tasks_come_and_go_while_their_entries_run(database: &TestDatabase) {
    let open = Arc::new(AtomicBool::new(false));
    let hook = {
        let open = open.clone();
        Hook::start(move |request| {
            until(LIMIT, "the test lets the handler go on", || request.path != "/old" || open.load(Ordering::SeqCst));
            200
        })
    };
    let task = |name: &str| format!("[tasks.{name}]\nhttp = {{ url = \"{}\" }}\n", hook.url(&format!("/{name}")));
    let node = Node::start(&config(database, &task("old"))).wait_ready();
    let running = insert(database, "old", "{}");
    until_state(database, running, "running");
    let waiting = insert(database, "new", "{}");
    node.rewrite_config(&config(database, &task("new")));
    reload(&node, "the configuration was read again");
    until_state(database, waiting, "completed");
    until(LIMIT, "the API takes entries of the new task", || {
        node.api("POST", "/api/v1/entries", r#"{"task":"new","payload":{}}"#).status == 201
    });
    until(LIMIT, "the API refuses the one that is gone", || {
        node.api("POST", "/api/v1/entries", r#"{"task":"old","payload":{}}"#).status == 422
    });
    let left = insert(database, "old", "{}");
    open.store(true, Ordering::SeqCst);
    until_state(database, running, "completed");
    until_count(database, "new", "completed", 2);
    assert_eq!(ask::state(database, left), "pending", "nobody works it any more");
    assert_eq!(database.number(&format!("SELECT attempt FROM soloist_entries WHERE id = {running}")), 1);
    assert_eq!(hook.received().iter().filter(|request| request.path == "/old").count(), 1);
}

fn a_wrong_file_changes_nothing(database: &TestDatabase) {
    let hook = Hook::start(|_| 200);
    let task = format!("[tasks.t]\nhttp = {{ url = \"{}\" }}\n", hook.url("/"));
    let node = Node::start(&config(database, &task)).wait_ready();
    node.rewrite_config(&config(database, &format!("{task}concurency = 3\n[tasks.t2]\npull = true\n")));
    reload(&node, "the configuration was read again and is wrong");
    let log = node.log();
    assert!(log.contains("concurency") && log.contains("concurrency"), "which key, and the nearest: {log}");
    let id = insert(database, "t", "{}");
    until_state(database, id, "completed");
    assert_eq!(node.api("POST", "/api/v1/entries", r#"{"task":"t2","payload":{}}"#).status, 422);

    let other = "lease = \"9s\"\ndrain = \"2s\"\npoll = \"300ms\"";
    node.rewrite_config(&config_with(database, other, &task));
    reload(&node, "in force only after a restart");
    let log = node.log();
    let line = log.lines().find(|line| line.contains("in force only after a restart")).unwrap();
    assert!(line.contains("node.lease") && line.contains("node.poll") && !line.contains("node.drain"), "{line}");
    let id = insert(database, "t", "{}");
    until_state(database, id, "completed");
}

fn tokens_are_read_again(database: &TestDatabase) {
    let secrets = tempfile::tempdir().unwrap();
    let file = secrets.path().join("token");
    let write = |text: &str| std::fs::write(&file, text).unwrap();
    let with = format!(
        "[tasks.t]\npull = true\n[http]\n[[http.tokens]]\nname = \"one\"\nrole = \"read\"\nfile = \"{}\"\n",
        file.display()
    );
    write("first-secret-of-this-test");
    let node = Node::start(&config(database, &with)).wait_ready();
    let status = |token: &str| {
        let header = format!("Bearer {token}");
        request(node.port(), "GET", "/api/v1/status", &[("Authorization", &header)], "").unwrap().status
    };
    assert_eq!((status("first-secret-of-this-test"), status("second-secret-of-this-test")), (200, 401));
    write("second-secret-of-this-test");
    reload(&node, "the configuration was read again");
    assert_eq!((status("first-secret-of-this-test"), status("second-secret-of-this-test")), (401, 200));
    write("");
    reload(&node, "is wrong");
    assert_eq!(status("second-secret-of-this-test"), 200, "the old one stays in force");
    node.rewrite_config(&config(database, "[tasks.t]\npull = true\n"));
    reload(&node, "one for this run is in this file");
    until(LIMIT, "the old token is out of force", || status("second-secret-of-this-test") == 401);
    assert_eq!(node.api("GET", "/api/v1/status", "").status, 200);
    let before = std::fs::read_to_string(node.directory().join("soloist.token")).unwrap();
    reload(&node, "the configuration was read again");
    assert_eq!(std::fs::read_to_string(node.directory().join("soloist.token")).unwrap(), before, "kept for this run");
    assert!(!node.log().contains("secret-of-this-test"), "{}", node.log());
}
