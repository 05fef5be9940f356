//! What the tests of real nodes share: a configuration, entries by plain SQL, and waiting for what becomes of them.
#![allow(dead_code)] // each test file uses some of it

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use house::{Node, TestDatabase, soloist, until, until_some};
use serde_json::Value;

pub const LIMIT: Duration = Duration::from_secs(30);

/// A configuration with a short lease, drain and poll; `rest` holds the tasks.
pub fn config(database: &TestDatabase, rest: &str) -> String {
    config_with(database, "lease = \"3s\"\ndrain = \"2s\"\npoll = \"500ms\"", rest)
}

/// The same with these keys of `[node]`.
pub fn config_with(database: &TestDatabase, node: &str, rest: &str) -> String {
    format!("[database]\nurl = \"{}\"\n[node]\n{node}\n{rest}\n", database.url())
}

/// Brings the schema up before a node does.
pub fn migrate(database: &TestDatabase) {
    let mut command = soloist();
    command.arg("migrate").env("DATABASE_URL", database.url()).current_dir(std::env::temp_dir());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// Inserts an entry as any program would; its id.
pub fn insert(database: &TestDatabase, task: &str, payload: &str) -> i64 {
    insert_with(database, task, payload, "", "")
}

/// The same with further columns and their values.
pub fn insert_with(database: &TestDatabase, task: &str, payload: &str, columns: &str, values: &str) -> i64 {
    database
        .sql(&format!("INSERT INTO soloist_entries (task, payload{columns}) VALUES ('{task}', '{payload}'{values})"));
    database.number(&format!("SELECT max(id) FROM soloist_entries WHERE task = '{task}'"))
}

/// An entry's state; `gone` if there is none.
pub fn state(database: &TestDatabase, id: i64) -> String {
    let rows = database.query(&format!("SELECT state FROM soloist_entries WHERE id = {id}"));
    rows.into_iter().flatten().next().flatten().unwrap_or_else(|| "gone".to_owned())
}

/// Waits until an entry is in this state.
#[track_caller]
pub fn until_state(database: &TestDatabase, id: i64, wanted: &str) {
    until(LIMIT, &format!("entry {id} is {wanted}"), || state(database, id) == wanted);
}

/// Waits until so many entries of a task are in this state.
#[track_caller]
pub fn until_count(database: &TestDatabase, task: &str, wanted: &str, count: i64) {
    let sql = format!("SELECT count(*) FROM soloist_entries WHERE task = '{task}' AND state = '{wanted}'");
    until(LIMIT, &format!("{count} entries of {task} are {wanted}"), || database.number(&sql) == count);
}

/// An entry as the API shows it.
#[track_caller]
pub fn shown(node: &Node, id: i64) -> Value {
    let answer = node.api("GET", &format!("/api/v1/entries/{id}"), "");
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

/// A task as `GET /api/v1/status` shows it.
#[track_caller]
pub fn task(node: &Node, name: &str) -> Value {
    until_some(LIMIT, &format!("the task {name} is shown"), || {
        let answer = node.api("GET", "/api/v1/status", "");
        let tasks = answer.json()["tasks"].as_array().cloned().unwrap_or_default();
        tasks.into_iter().find(|task| task["name"] == name)
    })
}

/// Microseconds since 1970.
pub fn now() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros()).unwrap()
}
