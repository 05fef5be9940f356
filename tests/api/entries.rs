//! Entries over the API.

use std::collections::HashSet;
use std::sync::Mutex;

use house::{TestDatabase, on_every_backend};
use serde_json::{Value, json};

use super::server::{Api, problem};

on_every_backend!(
    an_entry_is_accepted_and_shown,
    an_array_is_all_or_nothing,
    one_of_sixty_four_gets_the_key,
    lists_go_on_where_they_ended,
    entries_are_retried_cancelled_and_deleted,
);

fn an_entry_is_accepted_and_shown(database: &TestDatabase) {
    let api = Api::start(database);
    let body = r#"{"task": "thumbnail", "payload": {"id": 12345678901234567890.10}, "key": "ä 7", "priority": -3,
                   "run_at": "2031-02-03T04:05:06.5+01:00"}"#;
    let response = api.admin("POST", "/entries", body);
    assert_eq!(response.status, 201, "{response:?}");
    assert!(response.body.contains(r#""payload":{"id": 12345678901234567890.10}"#), "{}", response.body);
    let entry = response.json();
    let members = "id task key state payload priority attempt max_attempts run_at created_at started_at finished_at \
                   node schedule scheduled_for idempotency_key error";
    for member in members.split_whitespace() {
        assert!(entry.get(member).is_some(), "{member}: {entry}");
    }
    assert_eq!(entry["key"], "ä 7");
    assert_eq!(entry["state"], "pending");
    assert_eq!(entry["run_at"], "2031-02-03T03:05:06.5Z");
    assert_eq!((&entry["priority"], &entry["attempt"], &entry["max_attempts"]), (&json!(-3), &json!(0), &json!(4)));
    let shown = api.get(&format!("/entries/{}", entry["id"]));
    assert_eq!(shown["attempts"], json!([]));
    assert_eq!(shown["idempotency_key"], entry["idempotency_key"]);
    let listed = api.get("/entries?task=thumbnail&state=pending&key=%C3%A4+7");
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);
    assert_eq!(listed["next_cursor"], Value::Null);
    for query in ["task=t", "state=failed", "key=a+7"] {
        assert_eq!(api.get(&format!("/entries?{query}"))["items"], json!([]), "{query}");
    }
    assert_eq!(api.wakes(), 1, "the node was told once");
}

fn an_array_is_all_or_nothing(database: &TestDatabase) {
    let api = Api::start(database);
    let many: Vec<_> = (0..1200).map(|n| json!({ "task": "t", "payload": n, "key": format!("k{n}") })).collect();
    let response = api.admin("POST", "/entries", &Value::from(many).to_string());
    assert_eq!(response.status, 201);
    let items = response.json()["items"].as_array().unwrap().clone();
    let payloads: Vec<_> = items.iter().map(|item| item["payload"].as_i64().unwrap()).collect();
    assert_eq!(payloads, (0..1200).collect::<Vec<_>>(), "in the order in which they were sent");
    let one = api.admin("POST", "/entries", r#"[{"task": "t"}]"#).json();
    assert_eq!(one["items"].as_array().map(Vec::len), Some(1), "an array is answered with one: {one}");

    let before = database.number("SELECT count(*) FROM soloist_entries");
    let response = api.admin("POST", "/entries", r#"[{"task": "t", "key": "new"}, {"task": "t", "key": "k7"}]"#);
    let document = problem(&response, 409, "key_held");
    assert_eq!(document["entry_id"], items[7]["id"]);
    let twins = r#"[{"task": "t", "key": "twin"}, {"task": "t", "key": "twin"}]"#;
    let response = api.admin("POST", "/entries", twins);
    assert!((400..500).contains(&response.status) && response.body.contains("key"), "{response:?}");
    assert_eq!(database.number("SELECT count(*) FROM soloist_entries"), before);
}

fn one_of_sixty_four_gets_the_key(database: &TestDatabase) {
    let api = Api::start(database);
    let answers = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for n in 0..64 {
            let (api, answers) = (&api, &answers);
            scope.spawn(move || {
                let body = format!(r#"{{"task": "t", "key": "one", "payload": {n}}}"#);
                let response = api.admin("POST", "/entries", &body);
                answers.lock().unwrap().push((response.status, response.json()));
            });
        }
    });
    let answers = answers.into_inner().unwrap();
    let (won, lost): (Vec<_>, Vec<_>) = answers.into_iter().partition(|(status, _)| *status == 201);
    assert_eq!(won.len(), 1, "{lost:?}");
    assert_eq!(lost.len(), 63);
    for (status, document) in lost {
        assert_eq!((status, &document["code"]), (409, &json!("key_held")), "{document}");
        assert_eq!(document["entry_id"], won[0].1["id"]);
    }
    // Keys are compared byte by byte, and free again at the end.
    api.enqueue(r#"{"task": "t", "key": "One"}"#);
    api.enqueue(r#"{"task": "t", "key": "one "}"#);
    api.enqueue(r#"{"task": "thumbnail", "key": "one"}"#);
    let id = &won[0].1["id"];
    assert_eq!(api.admin("POST", &format!("/entries/{id}/cancel"), "").status, 200);
    api.enqueue(r#"{"task": "t", "key": "one"}"#);
}

fn lists_go_on_where_they_ended(database: &TestDatabase) {
    let api = Api::start(database);
    let many: Vec<_> = (0..25).map(|n| json!({ "task": "t", "payload": n })).collect();
    assert_eq!(api.admin("POST", "/entries", &Value::from(many).to_string()).status, 201);
    let mut seen = Vec::new();
    let mut path = "/entries?limit=10".to_owned();
    let mut pages = 0;
    loop {
        let page = api.get(&path);
        pages += 1;
        seen.extend(page["items"].as_array().unwrap().iter().map(|item| item["id"].as_i64().unwrap()));
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        // What is added meanwhile moves no page.
        api.enqueue(r#"{"task": "t"}"#);
        path = format!("/entries?limit=10&cursor={cursor}");
    }
    assert_eq!((pages, seen.len()), (3, 25));
    assert_eq!(seen.iter().collect::<HashSet<_>>().len(), 25);
    assert!(seen.is_sorted_by(|a, b| a > b), "newest first: {seen:?}");
}

fn entries_are_retried_cancelled_and_deleted(database: &TestDatabase) {
    let api = Api::start(database);
    let id = api.enqueue(r#"{"task": "t", "key": "k"}"#);
    let path = |action: &str| format!("/entries/{id}{action}");
    let document = problem(&api.admin("POST", &path("/retry"), ""), 409, "wrong_state");
    assert_eq!(document["entry_id"], id);
    let cancelled = api.admin("POST", &path("/cancel"), "{}").json();
    assert_eq!(cancelled["state"], "cancelled", "{cancelled}");
    problem(&api.admin("POST", &path("/cancel"), ""), 409, "wrong_state");
    let holder = api.enqueue(r#"{"task": "t", "key": "k"}"#);
    let document = problem(&api.admin("POST", &path("/retry"), ""), 409, "key_held");
    assert_eq!(document["entry_id"], holder);
    assert_eq!(api.admin("DELETE", &format!("/entries/{holder}"), "").status, 204);
    problem(&api.admin("GET", &format!("/entries/{holder}"), ""), 404, "entry_not_found");
    assert_eq!(api.admin("POST", &path("/retry"), "").json()["state"], "pending");
    database.sql(&format!("UPDATE soloist_entries SET state = 'running', claim = 1, node_id = 1 WHERE id = {id}"));
    problem(&api.admin("DELETE", &path(""), ""), 409, "wrong_state");
    problem(&api.admin("POST", &path("/retry"), ""), 409, "wrong_state");
    for action in ["/retry", "/cancel", "/run-now"] {
        problem(&api.admin("POST", &format!("/entries/{holder}{action}"), ""), 404, "entry_not_found");
    }
    problem(&api.admin("DELETE", &format!("/entries/{holder}"), ""), 404, "entry_not_found");
}
