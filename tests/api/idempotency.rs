//! `Idempotency-Key`: one effect, and the same answer again.

use std::collections::HashSet;

use house::{Backend, Response, TestDatabase, on_every_backend};
use serde_json::json;
use soloist::store::requests;

use super::server::{ADMIN, Api, TRIGGER, problem};

on_every_backend!(
    five_at_once_have_one_effect,
    five_at_once_over_two_nodes_have_one_effect,
    five_that_fail_at_once_fail_alike,
    the_same_answer_comes_again,
    a_refused_request_may_be_sent_again,
    a_key_ends_after_a_day,
);

#[track_caller]
fn send(api: &Api, token: &str, path: &str, key: &str, body: &str) -> Response {
    let bearer = format!("Bearer {token}");
    let headers = [("Authorization", bearer.as_str()), ("Idempotency-Key", key)];
    api.send("POST", &format!("/api/v1{path}"), &headers, body)
}

fn five_at_once(nodes: &[&Api], path: &str, key: &str, body: &str) -> Vec<Response> {
    std::thread::scope(|scope| {
        let sent = nodes.iter().cycle().take(5).map(|api| scope.spawn(move || send(api, ADMIN, path, key, body)));
        sent.collect::<Vec<_>>().into_iter().map(|sent| sent.join().unwrap()).collect()
    })
}

/// The three routes, each with one key five times at once, some times over.
fn race(database: &TestDatabase, nodes: &[&Api], rounds: i64) {
    let made = nodes[0].admin("POST", "/schedules", r#"{"name": "s", "task": "t", "every": "1h"}"#);
    assert_eq!(made.status, 201, "{made:?}");
    let requests = [
        ("/tasks/t/trigger", "", 202),
        ("/schedules/s/fire", "{}", 202),
        ("/entries", r#"[{"task": "t", "key": "k"}, {"task": "p", "payload": 7.10}]"#, 201),
    ];
    for round in 0..rounds {
        for (path, body, status) in requests {
            let answers = five_at_once(nodes, path, &format!("key-{round}"), body);
            let different: HashSet<_> = answers.iter().map(|answer| (answer.status, &answer.body)).collect();
            assert_eq!(different.len(), 1, "{path}: {answers:?}");
            assert_eq!(answers[0].status, status, "{path}: {answers:?}");
            let fresh = answers.iter().filter(|answer| answer.header("idempotent-replayed").is_none());
            assert_eq!(fresh.count(), 1, "{path}: {answers:?}");
        }
        assert_eq!(database.number("SELECT count(*) FROM soloist_entries"), 4 * (round + 1));
        assert_eq!(database.number("SELECT count(*) FROM soloist_firings"), round + 1);
        database.sql("UPDATE soloist_entries SET dedupe_key = NULL, key_held = 0");
    }
    assert_eq!(database.number("SELECT count(*) FROM soloist_requests"), 3 * rounds);
}

fn five_at_once_have_one_effect(database: &TestDatabase) {
    let api = Api::start(database);
    race(database, &[&api], 5);
    assert_eq!(api.wakes(), 15, "an answer from before makes no work");
}

fn five_at_once_over_two_nodes_have_one_effect(database: &TestDatabase) {
    let (one, other) = (Api::start(database), Api::start(database));
    race(database, &[&one, &other], 5);
}

fn five_that_fail_at_once_fail_alike(database: &TestDatabase) {
    let api = Api::start(database);
    let holder = api.enqueue(r#"{"task": "t", "key": "k"}"#);
    for round in 0..3 {
        for answer in five_at_once(&[&api], "/entries", &format!("{round}"), r#"{"task": "t", "key": "k"}"#) {
            assert_eq!(problem(&answer, 409, "key_held")["entry_id"], holder);
        }
    }
    assert_eq!(database.number("SELECT count(*) FROM soloist_requests"), 0, "of a failure nothing is kept");
    assert_eq!(database.number("SELECT count(*) FROM soloist_entries"), 1);
}

fn the_same_answer_comes_again(database: &TestDatabase) {
    let api = Api::start(database);
    let body = r#"{"task": "t", "payload": {"n": 1.50}, "key": "ä"}"#;
    let first = send(&api, TRIGGER, "/entries", "k", body);
    assert_eq!(first.status, 201, "{first:?}");
    // Whatever became of the entry meanwhile.
    database.sql("DELETE FROM soloist_entries");
    let again = send(&api, TRIGGER, "/entries", "k", body);
    assert_eq!((again.status, &again.body), (201, &first.body));
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(again.header("content-type"), first.header("content-type"));
    let count = || database.number("SELECT count(*) FROM soloist_entries");
    assert_eq!(count(), 0);
    for other in [r#"{"task": "t"}"#, r#"{"task": "t", "payload": {"n": 1.50}, "key": "ä" }"#] {
        problem(&send(&api, TRIGGER, "/entries", "k", other), 422, "idempotency_key_reused");
    }
    assert_eq!(count(), 0);
    // Another token, another route, another key, compared by bytes.
    assert_eq!(send(&api, ADMIN, "/entries", "k", r#"{"task": "t"}"#).status, 201);
    assert_eq!(send(&api, TRIGGER, "/entries", "K", r#"{"task": "t"}"#).status, 201);
    assert_eq!(send(&api, TRIGGER, "/tasks/t/trigger", "k", "").status, 202);
    assert_eq!(send(&api, TRIGGER, "/tasks/thumbnail/trigger", "k", "").status, 202);
    assert_eq!(count(), 4);
    let sweep = send(&api, TRIGGER, "/tasks/rows/trigger", "k", "");
    database.sql("UPDATE soloist_sweeps SET passed = 1, collected = 7");
    assert_eq!(send(&api, TRIGGER, "/tasks/rows/trigger", "k", "").body, sweep.body);
    assert_eq!(database.number("SELECT count(*) FROM soloist_sweeps"), 1);
}

fn a_refused_request_may_be_sent_again(database: &TestDatabase) {
    let api = Api::start(database);
    let body = r#"[{"task": "t", "payload": 1}, {"task": "t", "key": "k"}]"#;
    let holder = api.enqueue(r#"{"task": "t", "key": "k"}"#);
    problem(&send(&api, TRIGGER, "/entries", "again", body), 409, "key_held");
    problem(&send(&api, TRIGGER, "/tasks/nobody/trigger", "again", ""), 404, "task_not_found");
    problem(&send(&api, TRIGGER, "/schedules/nobody/fire", "again", ""), 404, "schedule_not_found");
    assert_eq!(api.admin("POST", &format!("/entries/{holder}/cancel"), "").status, 200);
    assert_eq!(send(&api, TRIGGER, "/entries", "again", body).status, 201);
    assert_eq!(database.number("SELECT count(*) FROM soloist_requests"), 1);
}

fn a_key_ends_after_a_day(database: &TestDatabase) {
    let api = Api::start(database);
    let trigger = |key: &str| send(&api, TRIGGER, "/tasks/t/trigger", key, "").json();
    let first = (trigger("old"), trigger("young"));
    let age = |key: &str, hours: f64| {
        let micros = hours * 3600e6;
        let row = format!("created_at = created_at - {micros:.0}");
        database.sql(&format!("UPDATE soloist_requests SET {row} WHERE request_key = '{key}'"));
    };
    age("old", 24.01);
    age("young", 23.9);
    let second = (trigger("old"), trigger("young"));
    assert_ne!(second.0, first.0);
    assert_eq!(second.1, first.1);
    age("old", 24.01);
    let mut connection = api.state.store.work().unwrap();
    assert!(!requests::prune(&mut connection).unwrap());
    assert_eq!(database.value("SELECT request_key FROM soloist_requests").as_deref(), Some("young"));
}

#[test]
fn a_key_is_visible_ascii() {
    let database = TestDatabase::new(Backend::Sqlite).unwrap();
    let api = Api::start(&database);
    for key in ["", "a b", "ä", "a\tb", &"k".repeat(256)] {
        for path in ["/tasks/t/trigger", "/entries"] {
            let document = problem(&send(&api, TRIGGER, path, key, ""), 400, "invalid_idempotency_key");
            assert_eq!(document["header"], "Idempotency-Key");
        }
    }
    let bearer = format!("Bearer {TRIGGER}");
    let twice = [("Authorization", bearer.as_str()), ("Idempotency-Key", "a"), ("Idempotency-Key", "a")];
    problem(&api.send("POST", "/api/v1/tasks/t/trigger", &twice, ""), 400, "invalid_idempotency_key");
    assert_eq!(database.number("SELECT count(*) FROM soloist_entries"), 0);
    for key in ["!", "\"8e03978e-40d5-43dd-bc93-6894a57f9324\"", &"~".repeat(255)] {
        assert_eq!(send(&api, TRIGGER, "/tasks/t/trigger", key, "").status, 202, "{key}");
    }
    assert_eq!(send(&api, "r3ad-token", "/tasks/t/trigger", "!", "").status, 403, "a key opens nothing");
    let without = api.with(TRIGGER, "POST", "/api/v1/tasks/t/trigger", "");
    assert_ne!(without.json(), json!({}));
    assert_eq!(database.number("SELECT count(*) FROM soloist_entries"), 4);
}
