//! Tasks, nodes and the state of the whole over the API.

use house::{TestDatabase, on_every_backend};
use serde_json::{Value, json};

use super::server::{Api, TRIGGER, problem};

on_every_backend!(a_task_is_listed_and_shown, a_trigger_enqueues_or_sweeps, a_pause_lasts, the_whole_is_shown);

fn names(list: &Value) -> Vec<&str> {
    list["items"].as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap()).collect()
}

fn a_task_is_listed_and_shown(database: &TestDatabase) {
    let api = Api::start(database);
    assert_eq!(names(&api.get("/tasks")), ["p", "rows", "slow", "t", "thumbnail"]);
    let first = api.get("/tasks?limit=3");
    assert_eq!(names(&first), ["p", "rows", "slow"]);
    let next = api.get(&format!("/tasks?limit=3&cursor={}", first["next_cursor"].as_str().unwrap()));
    assert_eq!((names(&next), &next["next_cursor"]), (vec!["t", "thumbnail"], &Value::Null));
    api.enqueue(r#"{"task": "t"}"#);
    api.enqueue(r#"{"task": "t", "run_at": "2099-01-01T00:00:00Z"}"#);
    let task = api.get("/tasks/t");
    assert_eq!((&task["pending"], &task["due"], &task["running"]), (&json!(2), &json!(1), &json!(0)), "{task}");
    assert_eq!((&task["paused"], &task["held"]), (&Value::Null, &Value::Null));
    let document = problem(&api.admin("GET", "/tasks/thumbnial", ""), 404, "task_not_found");
    assert!(document["detail"].as_str().unwrap().contains("thumbnail"), "{document}");
    problem(&api.admin("GET", "/tasks/a%20b", ""), 404, "task_not_found");
}

fn a_trigger_enqueues_or_sweeps(database: &TestDatabase) {
    let api = Api::start(database);
    let trigger = |task: &str, body: &str| api.with(TRIGGER, "POST", &format!("/api/v1/tasks/{task}/trigger"), body);
    let response = trigger("t", "");
    assert_eq!(response.status, 202, "{response:?}");
    let id = response.json()["entries"][0].as_i64().unwrap();
    assert_eq!(api.get(&format!("/entries/{id}"))["payload"], Value::Null);
    let response = trigger("t", r#"{"payload": {"full": true}, "key": "k"}"#);
    let id = response.json()["entries"][0].as_i64().unwrap();
    assert_eq!(api.get(&format!("/entries/{id}"))["payload"], json!({ "full": true }));
    assert_eq!(problem(&trigger("t", r#"{"key": "k"}"#), 409, "key_held")["entry_id"], id);
    problem(&trigger("t", r#"{"task": "t"}"#), 400, "unknown_field");
    problem(&trigger("nobody", ""), 404, "task_not_found");

    let response = trigger("rows", "");
    assert_eq!(response.status, 202, "{response:?}");
    let sweep = response.json();
    assert_eq!(sweep["collected"], 0);
    assert_eq!(trigger("rows", "").json(), sweep, "one that waits is taken");
    assert_eq!(database.number("SELECT count(*) FROM soloist_sweeps WHERE task = 'rows'"), 1);
    let document = problem(&trigger("rows", r#"{"payload": 1}"#), 400, "invalid_field");
    assert_eq!(document["field"], "payload");
    assert_eq!(database.number("SELECT count(*) FROM soloist_entries"), 2);
    assert_eq!(api.wakes(), 4);
}

fn a_pause_lasts(database: &TestDatabase) {
    let api = Api::start(database);
    let paused = api.admin("POST", "/tasks/t/pause", r#"{"reason": "repairs"}"#);
    assert_eq!(paused.status, 200, "{paused:?}");
    let paused = paused.json()["paused"].clone();
    assert_eq!((&paused["by"], &paused["reason"]), (&json!("admin"), &json!("repairs")));
    let again = api.admin("POST", "/tasks/t/pause", "").json();
    assert_eq!(again["paused"], paused, "the first reason stands");
    assert_eq!(api.get("/tasks/t")["paused"], paused);
    api.enqueue(r#"{"task": "t"}"#);
    for _ in 0..2 {
        assert_eq!(api.admin("POST", "/tasks/t/resume", "").json()["paused"], Value::Null);
    }
    for body in [r#"{"reason": 7}"#, r#"{"reason": "a\u0000b"}"#] {
        problem(&api.admin("POST", "/tasks/t/pause", body), 400, "invalid_field");
    }
    problem(&api.admin("POST", "/tasks/t/pause", r#"{"reson": ""}"#), 400, "unknown_field");
    problem(&api.admin("POST", "/tasks/nobody/pause", ""), 404, "task_not_found");
    problem(&api.admin("POST", "/tasks/nobody/resume", ""), 404, "task_not_found");
}

fn the_whole_is_shown(database: &TestDatabase) {
    let api = Api::start(database);
    let status = api.get("/status");
    for member in ["problems", "leader", "nodes", "tasks"] {
        assert!(status.get(member).is_some(), "{member}: {status}");
    }
    let node = &status["nodes"][0];
    for member in ["name", "id", "roles", "started_at", "seen_at", "version"] {
        assert!(!node[member].is_null(), "{member}: {node}");
    }
    let task = &status["tasks"][0];
    let members = [
        "name",
        "paused",
        "pending",
        "due",
        "running",
        "completed",
        "failed",
        "rate_per_s",
        "oldest_due_age_s",
        "held",
    ];
    for member in members {
        assert!(task.get(member).is_some(), "{member}: {task}");
    }
    let nodes = api.get("/nodes");
    assert_eq!(names(&nodes), ["web-1"]);
    assert_eq!(nodes["next_cursor"], Value::Null);
}
