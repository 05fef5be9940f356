//! Nodes whose clocks differ: the database's clock decides, so nothing is taken over and nothing starts early.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::Duration;

use house::{Node, TestDatabase, on_every_backend, until};

fn config(database: &TestDatabase, name: &str) -> String {
    format!(
        r#"
        [database]
        url = "{}"
        [node]
        name = "{name}"
        lease = "2s"
        poll = "200ms"
        [tasks.long]
        command = ["sleep", "6"]
        "#,
        database.url()
    )
}

fn a_node_three_minutes_ahead_takes_nothing_over(database: &TestDatabase) {
    if database.path().is_some() {
        return; // One host, one clock: skewed nodes cannot share a file.
    }
    let Some(ahead) = house::faketime("+180s") else { return };
    let right = Node::start(&config(database, "right")).wait_ready();
    database.sql("INSERT INTO soloist_entries (task) VALUES ('long')");
    until(Duration::from_secs(5), "the entry runs", || {
        database.value("SELECT state FROM soloist_entries").as_deref() == Some("running")
    });
    let far = 9_000_000_000_000_000_i64;
    database.sql(&format!("INSERT INTO soloist_entries (task, run_at) VALUES ('long', {far})"));
    let skewed = Node::start_with(&config(database, "ahead"), |command| {
        command.envs(ahead.iter().map(|(name, value)| (*name, value.as_str())));
    })
    .wait_ready();
    until(Duration::from_secs(15), "the entry ends", || {
        database.value("SELECT state FROM soloist_entries WHERE id = 1").as_deref() == Some("completed")
    });
    assert_eq!(database.value("SELECT attempt FROM soloist_entries WHERE id = 1").as_deref(), Some("1"));
    assert_eq!(database.number("SELECT count(*) FROM soloist_attempts WHERE outcome = 'lost'"), 0);
    assert_eq!(database.value("SELECT state FROM soloist_entries WHERE id = 2").as_deref(), Some("pending"));
    assert_eq!(database.number("SELECT count(*) FROM soloist_nodes"), 2, "a node lost its lease");
    drop((right, skewed));
}

on_every_backend!(a_node_three_minutes_ahead_takes_nothing_over);
