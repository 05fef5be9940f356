//! Claims that wait for work: woken by commits, ended by time, by a stop, and by the client that goes away.

use std::collections::HashSet;
use std::io::Write as _;
use std::net::TcpStream;
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use house::{Backend, TestDatabase, on_every_backend, until};
use serde_json::{Value, json};
use soloist::store::Connection;
use soloist::store::statement::Statement;

use super::server::{ADMIN, Api, problem};

on_every_backend!(
    a_waiting_claim_is_woken_by_a_commit,
    each_of_many_that_wait_gets_its_own,
    what_becomes_due_is_found_without_a_wake,
    a_paused_task_keeps_them_waiting,
    a_wait_ends_with_its_time_and_with_a_stop,
    nothing_is_claimed_for_a_client_that_has_gone,
    what_is_claimed_while_its_client_goes_is_handed_back,
    a_wait_has_bounds,
);

const LIMIT: Duration = Duration::from_secs(20);

fn waiting<'s>(scope: &'s thread::Scope<'s, '_>, api: &'s Api, body: &'s str) -> ScopedJoinHandle<'s, Vec<Value>> {
    scope.spawn(move || api.claim("p", body))
}

fn until_waiting(api: &Api, count: usize) {
    until(LIMIT, &format!("{count} wait"), || api.state.waiting.count() == count);
}

fn a_waiting_claim_is_woken_by_a_commit(database: &TestDatabase) {
    let api = Api::start(database);
    thread::scope(|scope| {
        let claim = waiting(scope, &api, r#"{"wait": "25s"}"#);
        until_waiting(&api, 1);
        // Of another task, and by another process: it goes on waiting.
        api.enqueue(r#"{"task": "slow"}"#);
        assert!(!claim.is_finished());
        let id = api.enqueue(r#"{"task": "p", "payload": {"n": 1}}"#);
        let claimed = claim.join().unwrap();
        assert_eq!((claimed.len(), &claimed[0]["id"], &claimed[0]["payload"]), (1, &json!(id), &json!({"n": 1})));

        let claim = waiting(scope, &api, r#"{"wait": 25}"#);
        until_waiting(&api, 1);
        database.sql("INSERT INTO soloist_entries (task) VALUES ('p')");
        api.wake();
        assert_eq!(claim.join().unwrap().len(), 1);
    });
    // What is there is handed out at once.
    api.enqueue(r#"{"task": "p"}"#);
    assert_eq!(api.claim("p", r#"{"wait": "25s"}"#).len(), 1);
}

fn each_of_many_that_wait_gets_its_own(database: &TestDatabase) {
    let api = Api::start(database);
    thread::scope(|scope| {
        let claims: Vec<_> = (0..20).map(|_| waiting(scope, &api, r#"{"wait": "25s", "lease": "10m"}"#)).collect();
        until_waiting(&api, 20);
        let many: Vec<_> = (0..20).map(|n| json!({ "task": "p", "payload": n })).collect();
        // One commit, one wake.
        assert_eq!(api.admin("POST", "/entries", &Value::from(many).to_string()).status, 201);
        let claimed: Vec<_> = claims.into_iter().flat_map(|claim| claim.join().unwrap()).collect();
        assert_eq!(claimed.len(), 20, "{claimed:?}");
        assert_eq!(claimed.iter().map(|entry| entry["id"].as_i64()).collect::<HashSet<_>>().len(), 20);
    });
    assert_eq!(api.state.waiting.count(), 0);
}

fn what_becomes_due_is_found_without_a_wake(database: &TestDatabase) {
    let api = Api::start(database);
    thread::scope(|scope| {
        let id = api.enqueue(r#"{"task": "p"}"#);
        database.sql(&format!("UPDATE soloist_entries SET run_at = run_at + 2000000 WHERE id = {id}"));
        let claim = waiting(scope, &api, r#"{"wait": "25s"}"#);
        assert_eq!(claim.join().unwrap()[0]["id"], id);
    });
}

fn a_paused_task_keeps_them_waiting(database: &TestDatabase) {
    let api = Api::start(database);
    assert_eq!(api.admin("POST", "/tasks/p/pause", "").status, 200);
    thread::scope(|scope| {
        let id = api.enqueue(r#"{"task": "p"}"#);
        let claim = waiting(scope, &api, r#"{"wait": "25s"}"#);
        until_waiting(&api, 1);
        assert_eq!(api.admin("POST", "/tasks/p/resume", "").status, 200);
        assert_eq!(claim.join().unwrap()[0]["id"], id);
    });
}

fn a_wait_ends_with_its_time_and_with_a_stop(database: &TestDatabase) {
    let api = Api::start(database);
    let begin = Instant::now();
    assert!(api.claim("p", r#"{"wait": "700ms"}"#).is_empty());
    assert!(begin.elapsed() >= Duration::from_millis(700), "{:?}", begin.elapsed());
    thread::scope(|scope| {
        let ask = || api.admin("POST", "/tasks/p/claim", r#"{"wait": "60s"}"#);
        let claims: Vec<_> = (0..3).map(|_| scope.spawn(ask)).collect();
        until_waiting(&api, 3);
        api.state.waiting.close();
        for claim in claims {
            let answer = claim.join().unwrap();
            assert_eq!(answer.status, 503, "{answer:?}");
            assert_eq!(answer.json()["code"], "not_ready");
        }
    });
    assert!(begin.elapsed() < Duration::from_secs(50), "ended by the stop, not by its time");
    api.enqueue(r#"{"task": "p"}"#);
    assert_eq!(api.admin("POST", "/tasks/p/claim", "{}").status, 503, "a node that drains hands nothing out");
}

/// Sends a claim and does not wait for its answer.
fn send_claim(api: &Api, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", api.port)).unwrap();
    let head = format!(
        "POST /api/v1/tasks/p/claim HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {ADMIN}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
    stream
}

fn nothing_is_claimed_for_a_client_that_has_gone(database: &TestDatabase) {
    let api = Api::start(database);
    let client = send_claim(&api, r#"{"wait": "60s"}"#);
    until_waiting(&api, 1);
    drop(client);
    until_waiting(&api, 0);
    let id = api.enqueue(r#"{"task": "p"}"#);
    let claimed = api.claim("p", "{}");
    assert_eq!((&claimed[0]["id"], &claimed[0]["attempt"]), (&json!(id), &json!(1)));
    assert_eq!(database.number(&format!("SELECT claim FROM soloist_entries WHERE id = {id}")), 1, "claimed once");
}

/// Nobody else writes while `meanwhile` runs.
fn alone(connection: &mut Connection, backend: Backend, meanwhile: impl FnOnce()) {
    let run = |connection: &mut Connection, sql: &str| connection.execute(Statement::new(sql)).map(|_| ());
    match backend {
        Backend::Sqlite => connection
            .transaction(|connection| {
                run(connection, "UPDATE soloist_tasks SET name = name")?;
                meanwhile();
                Ok(())
            })
            .unwrap(),
        Backend::Postgres => connection
            .transaction(|connection| {
                run(connection, "LOCK TABLE soloist_entries IN EXCLUSIVE MODE")?;
                meanwhile();
                Ok(())
            })
            .unwrap(),
        _ => {
            run(connection, "LOCK TABLES soloist_entries READ").unwrap();
            meanwhile();
            run(connection, "UNLOCK TABLES").unwrap();
        }
    }
}

fn what_is_claimed_while_its_client_goes_is_handed_back(database: &TestDatabase) {
    let api = Api::start(database);
    let id = api.enqueue(r#"{"task": "p"}"#);
    let mut connection = api.state.store.work().unwrap();
    let entry = |what: &str| database.number(&format!("SELECT {what} FROM soloist_entries WHERE id = {id}"));
    // The claim waits for the lock while its client goes; whether it had come so far shows in the claim number.
    until(LIMIT, "a claim is handed back", || {
        alone(&mut connection, database.backend(), || {
            let client = send_claim(&api, r#"{"lease": "1h"}"#);
            thread::sleep(Duration::from_millis(100));
            drop(client);
            thread::sleep(Duration::from_millis(100));
        });
        until(LIMIT, "it is pending again", || entry("CASE WHEN state = 'pending' THEN 1 ELSE 0 END") == 1);
        // The attempt is not counted.
        entry("CASE WHEN state = 'pending' AND claim > 0 AND attempt = 0 THEN 1 ELSE 0 END") == 1
    });
    let claimed = api.claim("p", r#"{"wait": "20s"}"#);
    assert_eq!((&claimed[0]["id"], &claimed[0]["attempt"]), (&json!(id), &json!(1)));
    assert_eq!(api.get(&format!("/entries/{id}"))["attempts"], json!([]));
}

fn a_wait_has_bounds(database: &TestDatabase) {
    let api = Api::start(database);
    for wait in ["\"61s\"", "61", "\"-1s\"", "-1", "\"\"", "true", "[]", "\"1x\""] {
        let body = format!(r#"{{"wait": {wait}}}"#);
        let document = problem(&api.admin("POST", "/tasks/p/claim", &body), 400, "invalid_field");
        assert_eq!(document["field"], "wait", "{document}");
    }
    for wait in ["\"0s\"", "0", "null", "0.01"] {
        assert!(api.claim("p", &format!(r#"{{"wait": {wait}}}"#)).is_empty(), "{wait}");
    }
    problem(&api.admin("POST", "/tasks/t/claim", r#"{"wait": "60s"}"#), 409, "not_a_pull_task");
    problem(&api.admin("POST", "/tasks/unknown/claim", r#"{"wait": "60s"}"#), 404, "task_not_found");
}
