//! One action on many entries over the API.

use house::{TestDatabase, on_every_backend};
use serde_json::{Value, json};

use super::server::{Api, problem};

on_every_backend!(
    the_number_shown_is_the_number_changed,
    every_filter_means_what_it_says,
    what_is_not_clear_is_refused,
    many_are_changed_in_steps,
);

#[track_caller]
fn bulk(api: &Api, body: &Value) -> Value {
    let response = api.admin("POST", "/entries/bulk", &body.to_string());
    assert_eq!(response.status, 200, "{body}: {response:?}");
    response.json()
}

#[track_caller]
fn counts(done: &Value) -> (i64, i64, i64) {
    let count = |name: &str| done[name].as_i64().unwrap();
    (count("matched"), count("changed"), count("left_out"))
}

/// `n` entries of `t` with the keys `0`, `1`, ….
fn fill(api: &Api, n: usize) -> Vec<i64> {
    let many: Vec<_> = (0..n).map(|n| json!({ "task": "t", "key": n.to_string() })).collect();
    let response = api.admin("POST", "/entries", &Value::from(many).to_string());
    assert_eq!(response.status, 201, "{response:?}");
    response.json()["items"].as_array().unwrap().iter().map(|entry| entry["id"].as_i64().unwrap()).collect()
}

fn fail_all(database: &TestDatabase) {
    database.sql(
        "UPDATE soloist_entries SET state = 'failed', finished_at = created_at, key_held = 0, error = 'no 50% way' \
         WHERE state = 'pending'",
    );
}

fn the_number_shown_is_the_number_changed(database: &TestDatabase) {
    let api = Api::start(database);
    fill(&api, 20);
    fail_all(database);
    // Keys 0 to 4 are taken by entries that fail too, 5 and 6 by others that wait.
    fill(&api, 5);
    fail_all(database);
    for key in [5, 6] {
        api.enqueue(&format!(r#"{{"task": "t", "key": "{key}"}}"#));
    }
    let asked = json!({ "action": "retry", "task": "t", "state": "failed", "error": "50%" });
    let mut dry = asked.clone();
    dry["dry_run"] = true.into();
    let shown = bulk(&api, &dry);
    assert_eq!(counts(&shown), (25, 0, 7), "five keys are wanted twice, two are held: {shown}");
    assert_eq!(database.number("SELECT count(*) FROM soloist_entries WHERE state = 'failed'"), 25);
    // What fails after the dry run is not meant.
    database.sql(
        "INSERT INTO soloist_entries (task, state, error, finished_at) VALUES ('t', 'failed', '50%', 9000000000000000)",
    );
    let mut meant = asked;
    meant["before"] = shown["before"].clone();
    let done = bulk(&api, &meant);
    assert_eq!(counts(&done), (25, 18, 7));
    assert_eq!(done["before"], shown["before"]);
    assert_eq!(counts(&bulk(&api, &meant)), (7, 0, 7), "once more changes nothing");
    assert_eq!(api.wakes(), 5, "nor is anybody told");
}

fn every_filter_means_what_it_says(database: &TestDatabase) {
    let api = Api::start(database);
    let ids = fill(&api, 6);
    api.enqueue(r#"{"task": "p", "key": "0"}"#);
    let text = if database.backend() == house::Backend::Postgres { "id::text" } else { "CAST(id AS CHAR(9))" };
    database.sql(&format!("UPDATE soloist_entries SET error = {text}, schedule = 's' WHERE id > {}", ids[3]));
    database.sql(&format!("UPDATE soloist_entries SET created_at = created_at - 7200000000 WHERE id <= {}", ids[1]));
    let matched = |filter: Value| {
        let mut body = json!({ "action": "delete", "dry_run": true });
        body.as_object_mut().unwrap().extend(filter.as_object().unwrap().clone());
        counts(&bulk(&api, &body)).0
    };
    assert_eq!(matched(json!({ "ids": [ids[0], ids[2], 999, ids[0]] })), 2);
    assert_eq!(matched(json!({ "task": "t" })), 6);
    assert_eq!(matched(json!({ "state": "pending" })), 7);
    assert_eq!(matched(json!({ "key": "0" })), 2);
    assert_eq!(matched(json!({ "key": "0", "task": "p" })), 1);
    assert_eq!(matched(json!({ "schedule": "s" })), 3);
    assert_eq!(matched(json!({ "schedule": "s", "error": ids[4].to_string() })), 1);
    assert_eq!(matched(json!({ "older_than": "1h" })), 2);
    assert_eq!(matched(json!({ "older_than": "1h", "ids": [ids[1], ids[2]] })), 1);
    assert_eq!(matched(json!({ "task": "t", "before": "2020-01-01T00:00:00Z" })), 0);
    assert_eq!(matched(json!({ "task": "t", "before": "2999-01-01T00:00:00Z" })), 6);
    assert_eq!(matched(json!({ "task": "t", "key": null, "error": null, "ids": null })), 6);
    let aged = json!({ "action": "delete", "older_than": "1h", "dry_run": true });
    let shown = bulk(&api, &aged);
    let done = bulk(&api, &json!({ "action": "delete", "older_than": "1h", "before": shown["before"] }));
    assert_eq!((counts(&done), &done["before"]), ((2, 2, 0), &shown["before"]));
    assert_eq!(database.number("SELECT count(*) FROM soloist_entries"), 5);
}

fn what_is_not_clear_is_refused(database: &TestDatabase) {
    let api = Api::start(database);
    fill(&api, 3);
    let refused = |body: &str, status: u16, code: &str, says: &str| {
        let document = problem(&api.admin("POST", "/entries/bulk", body), status, code);
        assert!(document["detail"].as_str().unwrap().contains(says), "{body}: {document}");
    };
    refused("{}", 400, "missing_field", "action");
    refused(r#"{"action": "cancel"}"#, 400, "empty_filter", "never meant");
    refused(r#"{"action": "cancel", "dry_run": true}"#, 400, "empty_filter", "task");
    refused(r#"{"action": "cancle", "task": "t"}"#, 400, "invalid_field", "cancel");
    refused(r#"{"action": "run-now", "task": "t"}"#, 400, "invalid_field", "retry");
    refused(r#"{"action": "retry", "state": "completed"}"#, 422, "action_fits_no_state", "failed, cancelled");
    refused(r#"{"action": "cancel", "state": "failed", "task": "t"}"#, 422, "action_fits_no_state", "pending, running");
    refused(r#"{"action": "delete", "state": "running"}"#, 422, "action_fits_no_state", "running");
    for (name, value) in [
        ("ids", "[]"),
        ("ids", "7"),
        ("ids", r#"["7"]"#),
        ("ids", "[1.5]"),
        ("ids", "[9223372036854775808]"),
        ("task", r#""a b""#),
        ("task", "7"),
        ("state", r#""faild""#),
        ("key", r#""a\u0000b""#),
        ("error", r#""""#),
        ("error", r#""a\u0000b""#),
        ("schedule", r#""""#),
        ("before", r#""yesterday""#),
        ("older_than", r#""7""#),
        ("older_than", r#""999999w""#),
        ("dry_run", r#""yes""#),
    ] {
        let body = format!(r#"{{"action": "cancel", "{name}": {value}}}"#);
        let document = problem(&api.admin("POST", "/entries/bulk", &body), 400, "invalid_field");
        assert_eq!(document["field"], name, "{document}");
    }
    refused(r#"{"action": "cancel", "tasks": "t"}"#, 400, "unknown_field", "task");
    let many = Value::from((0..10_001).collect::<Vec<_>>());
    refused(&format!(r#"{{"action": "cancel", "ids": {many}}}"#), 400, "invalid_field", "10000");
    assert_eq!(database.number("SELECT count(*) FROM soloist_entries WHERE state = 'pending'"), 3);
    assert_eq!(api.wakes(), 1);
}

fn many_are_changed_in_steps(database: &TestDatabase) {
    let api = Api::start(database);
    for _ in 0..3 {
        let many = vec![json!({ "task": "t" }); 1500];
        assert_eq!(api.admin("POST", "/entries", &Value::from(many).to_string()).status, 201);
    }
    database.sql("UPDATE soloist_entries SET state = 'completed', finished_at = created_at WHERE id % 3 = 0");
    let cancel = json!({ "action": "cancel", "task": "t" });
    let done = bulk(&api, &cancel);
    assert_eq!(counts(&done), (4500, 3000, 1500));
    let lines = api.get("/audit?action=bulk-cancel");
    let detail = &lines["items"][0]["detail"];
    assert_eq!(lines["items"].as_array().unwrap().len(), 1, "one line for all steps: {lines}");
    assert_eq!(counts(detail), (4500, 3000, 1500), "{lines}");
    assert_eq!(counts(&bulk(&api, &json!({ "action": "delete", "state": "cancelled" }))), (3000, 3000, 0));
    assert_eq!(database.number("SELECT count(*) FROM soloist_entries"), 1500);
}
