//! The audit log: a line for each change, with the change, and none where nothing changed.

use house::{TestDatabase, on_every_backend};
use serde_json::{Value, json};
use soloist::store::audit;

use super::server::{Api, READ, TRIGGER, problem};

on_every_backend!(every_change_has_its_line, what_changes_nothing_has_none, the_log_is_listed_and_pruned);

/// What was done to what, newest first.
fn lines(api: &Api, query: &str) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let list = api.get(&format!("/audit{query}"));
    list["items"].as_array().unwrap().iter().map(|line| (text(&line["action"]), text(&line["subject"]))).collect()
}

fn every_change_has_its_line(database: &TestDatabase) {
    let api = Api::start(database);
    let id = api.enqueue(r#"{"task": "t", "payload": {"card": "4111"}}"#);
    let other = api.enqueue(r#"{"task": "t"}"#);
    let (one, path) = (format!("entries/{id}"), format!("/entries/{id}"));
    let (run_now, cancel, retry) = (format!("{path}/run-now"), format!("{path}/cancel"), format!("{path}/retry"));
    let these = format!(r#"{{"action": "cancel", "ids": [{id}, {other}, 999]}}"#);
    let cancelled = r#"{"action": "retry", "task": "t", "state": "cancelled"}"#;
    let schedule = r#"{"name": "s", "task": "t", "every": "1h", "payload": {"card": "4111"}}"#;
    database.sql("DELETE FROM soloist_tasks WHERE name = 'p'");
    database.sql("INSERT INTO soloist_tasks (name, held_since, held_reason, next_probe_at) VALUES ('p', 1, '401', 1)");
    let changes = [
        ("POST", "/tasks/t/pause", r#"{"reason": "repairs"}"#, "pause", "tasks/t"),
        ("POST", "/tasks/t/resume", "", "resume", "tasks/t"),
        ("POST", "/tasks/p/probe", "", "probe", "tasks/p"),
        ("POST", run_now.as_str(), "", "run-now", one.as_str()),
        ("POST", cancel.as_str(), "", "cancel", one.as_str()),
        ("POST", retry.as_str(), "", "retry", one.as_str()),
        ("POST", "/entries/bulk", these.as_str(), "bulk-cancel", "entries"),
        ("POST", "/entries/bulk", cancelled, "bulk-retry", "entries"),
        ("DELETE", path.as_str(), "", "delete", one.as_str()),
        ("POST", "/schedules", schedule, "create", "schedules/s"),
        ("PATCH", "/schedules/s", r#"{"every": "2h", "payload": {"card": "4222"}}"#, "change", "schedules/s"),
        ("POST", "/schedules/s/pause", r#"{"reason": "loud"}"#, "pause", "schedules/s"),
        ("POST", "/schedules/s/resume", "", "resume", "schedules/s"),
        ("POST", "/schedules/s/fire", "", "fire", "schedules/s"),
        ("DELETE", "/schedules/s", "", "delete", "schedules/s"),
    ];
    for (method, path, body, action, subject) in &changes {
        let response = api.admin(method, path, body);
        assert!((200..300).contains(&response.status), "{method} {path}: {response:?}");
        let line = api.get("/audit?limit=1")["items"][0].clone();
        assert_eq!((&line["action"], &line["subject"]), (&json!(action), &json!(subject)), "{method} {path}: {line}");
        assert_eq!((&line["by"], &line["role"], &line["via"]), (&json!("admin"), &json!("admin"), &json!("api")));
        assert!(line["at"].as_str().unwrap().ends_with('Z') && line["id"].is_i64(), "{line}");
    }
    let all = api.get("/audit");
    assert_eq!(all["items"].as_array().unwrap().len(), changes.len(), "one line each: {all}");
    assert!(!all.to_string().contains("4111") && !all.to_string().contains("4222"), "no payload is kept: {all}");
    let detail = |query: &str| api.get(&format!("/audit?{query}"))["items"][0]["detail"].clone();
    assert_eq!(detail("action=pause&subject=tasks/t"), json!({ "reason": "repairs" }));
    assert_eq!(detail("action=cancel"), json!({ "task": "t", "was": "pending" }));
    let bulk = detail("action=bulk-cancel");
    assert_eq!((&bulk["matched"], &bulk["changed"], &bulk["left_out"]), (&json!(2), &json!(2), &json!(0)), "{bulk}");
    assert_eq!(bulk["filter"]["ids"], json!([id, other, 999]));
    assert_eq!(detail("action=bulk-retry")["filter"], json!({ "task": "t", "state": "cancelled" }));
    let changed = detail("action=change");
    assert_eq!(changed, json!({ "every": { "from": "1h", "to": "2h" }, "payload": "changed" }));
    assert_eq!(detail("action=create")["every"], "1h");
    assert!(detail("action=fire")["entry"].is_i64());
}

fn what_changes_nothing_has_none(database: &TestDatabase) {
    let api = Api::start(database);
    let id = api.enqueue(r#"{"task": "t", "key": "k"}"#);
    assert_eq!(api.admin("POST", "/schedules", r#"{"name": "s", "task": "t", "every": "1h"}"#).status, 201);
    let before = lines(&api, "");
    let retry = format!("/entries/{id}/retry");
    let nothing = [
        ("POST", "/tasks/t/resume", "", 200),
        ("POST", "/tasks/t/probe", "", 409),
        ("POST", "/tasks/nobody/pause", "", 404),
        ("POST", "/tasks/nobody/probe", "", 404),
        ("POST", retry.as_str(), "", 409),
        ("POST", "/entries/999/cancel", "", 404),
        ("DELETE", "/entries/999", "", 404),
        ("POST", "/entries/bulk", r#"{"action": "retry", "task": "t"}"#, 200),
        ("POST", "/entries/bulk", r#"{"action": "cancel", "task": "t", "dry_run": true}"#, 200),
        ("PATCH", "/schedules/s", r#"{"every": "1h"}"#, 200),
        ("PATCH", "/schedules/s", r#"{"every": "1ms"}"#, 400),
        ("POST", "/schedules", r#"{"name": "s", "task": "t", "every": "1h"}"#, 409),
        ("POST", "/schedules/s/resume", "", 200),
        ("DELETE", "/schedules/nobody", "", 404),
    ];
    for (method, path, body, status) in nothing {
        let response = api.admin(method, path, body);
        assert_eq!(response.status, status, "{method} {path}: {response:?}");
    }
    problem(&api.with(TRIGGER, "POST", "/api/v1/tasks/t/pause", ""), 403, "forbidden");
    // What is enqueued, triggered and claimed is told of by the entries themselves.
    assert_eq!(api.admin("POST", "/tasks/t/trigger", "").status, 202);
    api.enqueue(r#"{"task": "p"}"#);
    api.claim("p", "{}");
    assert_eq!(lines(&api, ""), before);
    // A pause that is there already keeps its first line.
    assert_eq!(api.admin("POST", "/tasks/t/pause", "").status, 200);
    assert_eq!(api.admin("POST", "/tasks/t/pause", "").status, 200);
    assert_eq!(lines(&api, "").len(), before.len() + 1);
}

fn the_log_is_listed_and_pruned(database: &TestDatabase) {
    let api = Api::start(database);
    for _ in 0..3 {
        for verb in ["pause", "resume"] {
            assert_eq!(api.admin("POST", &format!("/tasks/t/{verb}"), "").status, 200);
            assert_eq!(api.admin("POST", &format!("/tasks/p/{verb}"), "").status, 200);
        }
    }
    let pair = |action: &str, subject: &str| (action.to_owned(), subject.to_owned());
    assert_eq!(lines(&api, "?action=resume&subject=tasks/p"), vec![pair("resume", "tasks/p"); 3]);
    assert_eq!(lines(&api, "?by=admin").len(), 12);
    for query in ["?by=adm", "?by=Admin", "?subject=tasks/", "?action=paus", "?subject=tasks/p&by=nobody"] {
        assert_eq!(lines(&api, query), [], "{query}");
    }
    for query in ["", "&by=admin", "&subject=tasks/t", "&action=pause", "&by=admin&subject=tasks/t&action=pause"] {
        let (mut path, mut ids) = (format!("/audit?limit=2{query}"), Vec::new());
        loop {
            let page = api.get(&path);
            ids.extend(page["items"].as_array().unwrap().iter().map(|line| line["id"].as_i64().unwrap()));
            let Some(cursor) = page["next_cursor"].as_str() else { break };
            path = format!("/audit?limit=2{query}&cursor={cursor}");
        }
        let whole = api.get(&format!("/audit?limit=500{query}"));
        assert_eq!(ids.len(), whole["items"].as_array().unwrap().len(), "{query}");
        assert!(ids.is_sorted_by(|a, b| a > b), "{query}: {ids:?}");
    }
    problem(&api.admin("GET", "/audit?by=%00", ""), 400, "invalid_parameter");
    assert_eq!(api.with(READ, "GET", "/api/v1/audit", "").status, 200);

    const DAY: i64 = 86_400_000_000;
    database.sql(&format!("UPDATE soloist_audit SET at = at - {} WHERE subject = 'tasks/p'", 90 * DAY + DAY));
    database.sql(&format!("UPDATE soloist_audit SET at = at - {} WHERE subject = 'tasks/t'", 89 * DAY));
    let mut connection = api.state.store.work().unwrap();
    assert!(!audit::prune(&mut connection).unwrap());
    assert_eq!(lines(&api, "").len(), 6);
    assert_eq!(lines(&api, "?subject=tasks/p"), []);
}
