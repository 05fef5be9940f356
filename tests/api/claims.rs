//! Outside workers: claims, reports, stale ones.

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use house::{Backend, TestDatabase, numbers, on_every_backend, until};
use serde_json::{Value, json};
use soloist::store::rescue;

use super::server::{Api, problem};

on_every_backend!(
    a_claim_takes_at_most_its_limit_and_nothing_twice,
    a_stale_claim_changes_nothing,
    a_report_ends_the_claim_and_may_be_repeated,
    what_came_of_it_is_kept,
    a_failure_is_retried_until_the_attempts_are_used_up,
    a_claim_is_longer_with_extend,
    many_workers_end_everything_once,
    what_is_paused_or_not_for_outside_workers_is_not_handed_out,
);

fn report(entry: &Value) -> (i64, String) {
    (entry["id"].as_i64().unwrap(), json!({ "token": entry["token"] }).to_string())
}

fn a_claim_takes_at_most_its_limit_and_nothing_twice(database: &TestDatabase) {
    let api = Api::start(database);
    let entries = numbers(3000, 10_000);
    let claims = numbers(60, 200);
    let fill = || {
        database.sql("DELETE FROM soloist_entries");
        for chunk in 0..entries / 500 {
            let values: Vec<_> = (0..500).map(|n| format!("('p', '{n}', {})", (chunk + n) % 3 - 1)).collect();
            database
                .sql(&format!("INSERT INTO soloist_entries (task, payload, priority) VALUES {}", values.join(", ")));
        }
    };
    let claim_all = |api: &Api| {
        let (left, seen) = (AtomicUsize::new(claims), Mutex::new(Vec::new()));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    while left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok() {
                        let claimed = api.claim("p", r#"{"limit": 10, "lease": "10m"}"#);
                        assert!(claimed.len() <= 10, "{} at once", claimed.len());
                        seen.lock().unwrap().extend(claimed.iter().map(|entry| entry["id"].as_i64().unwrap()));
                    }
                });
            }
        });
        let seen = seen.into_inner().unwrap();
        assert!(!seen.is_empty());
        assert_eq!(seen.iter().collect::<HashSet<_>>().len(), seen.len(), "no entry is handed out twice");
        let running = database.number("SELECT count(*) FROM soloist_entries WHERE state = 'running'");
        assert_eq!(running, i64::try_from(seen.len()).unwrap());
    };
    fill();
    claim_all(&api);
    if database.backend() == Backend::Postgres {
        let url = database.url();
        let name = url.rsplit('/').next().unwrap();
        for setting in ["enable_hashjoin", "enable_material"] {
            database.sql(&format!("ALTER DATABASE {name} SET {setting} = off"));
        }
        drop(api);
        fill();
        claim_all(&Api::start(database));
    }
}

fn a_stale_claim_changes_nothing(database: &TestDatabase) {
    let api = Api::start(database);
    for action in ["complete", "fail", "extend"] {
        let id = api.enqueue(r#"{"task": "p", "payload": {"n": 1}}"#);
        let first = api.claim("p", r#"{"limit": 5, "lease": "1s"}"#);
        assert_eq!(first.len(), 1);
        assert_eq!((&first[0]["id"], &first[0]["attempt"]), (&json!(id), &json!(1)));
        assert_eq!(first[0]["payload"], json!({"n": 1}));
        let (_, stale) = report(&first[0]);
        let mut second = Vec::new();
        until(Duration::from_secs(10), "the first claim ends", || {
            rescue::of_outside_workers(&mut api.state.store.work().unwrap()).unwrap();
            second = api.claim("p", r#"{"limit": 5, "lease": "10m"}"#);
            !second.is_empty()
        });
        assert_eq!((&second[0]["id"], &second[0]["attempt"]), (&json!(id), &json!(2)));
        assert_ne!(second[0]["token"], first[0]["token"]);
        let row = format!(
            "SELECT state, attempt, claim, lease_until, finished_at, error FROM soloist_entries WHERE id = {id}"
        );
        let before = database.query(&row);
        problem(&api.admin("POST", &format!("/entries/{id}/{action}"), &stale), 409, "stale_claim");
        assert_eq!(database.query(&row), before, "a stale {action} changes nothing");
        let (_, live) = report(&second[0]);
        assert_eq!(api.admin("POST", &format!("/entries/{id}/complete"), &live).status, 200);
        problem(&api.admin("POST", &format!("/entries/{id}/{action}"), &stale), 409, "stale_claim");
        assert_eq!(api.get(&format!("/entries/{id}"))["state"], "completed");
    }
    // A claim whose lease has ended is stale although nobody has taken the entry since.
    let id = api.enqueue(r#"{"task": "p"}"#);
    let (_, token) = report(&api.claim("p", r#"{"lease": "1s"}"#)[0]);
    let ended = format!("UPDATE soloist_entries SET lease_until = lease_until - 5000000 WHERE id = {id}");
    database.sql(&ended);
    // That it has ended is for a node's rescue to say, which watches the database's clock.
    assert!(api.claim("p", "{}").is_empty());
    for action in ["complete", "fail", "extend"] {
        problem(&api.admin("POST", &format!("/entries/{id}/{action}"), &token), 409, "stale_claim");
    }
    assert_eq!(api.get(&format!("/entries/{id}"))["state"], "running");
    // A token that was made up, or is another entry's.
    for token in ["x", "1.1.AAAA", &format!("{id}.1.AAAA")] {
        let body = json!({ "token": token }).to_string();
        problem(&api.admin("POST", &format!("/entries/{id}/complete"), &body), 409, "stale_claim");
    }
    problem(&api.admin("POST", &format!("/entries/{}/complete", id - 1), &token), 409, "stale_claim");
}

fn a_report_ends_the_claim_and_may_be_repeated(database: &TestDatabase) {
    let api = Api::start(database);
    api.enqueue(r#"{"task": "p", "key": "k"}"#);
    let claimed = api.claim("p", "{}");
    let (id, token) = report(&claimed[0]);
    assert_eq!(claimed[0]["state"], "running");
    assert!(claimed[0]["lease_until"].as_str().unwrap() > claimed[0]["started_at"].as_str().unwrap());
    let complete = format!("/entries/{id}/complete");
    let first = api.admin("POST", &complete, &token);
    assert_eq!((first.status, first.json()["state"].as_str()), (200, Some("completed")), "{first:?}");
    let again = api.admin("POST", &complete, &token);
    assert_eq!((again.status, again.json()), (first.status, first.json()));
    problem(&api.admin("POST", &format!("/entries/{id}/fail"), &token), 409, "stale_claim");
    problem(&api.admin("POST", &format!("/entries/{id}/extend"), &token), 409, "stale_claim");
    let entry = api.get(&format!("/entries/{id}"));
    assert_eq!((&entry["state"], &entry["attempt"]), (&json!("completed"), &json!(1)));
    api.enqueue(r#"{"task": "p", "key": "k"}"#);

    let (id, _) = report(&api.claim("p", "{}")[0]);
    assert_eq!(api.admin("POST", &format!("/entries/{id}/cancel"), "").status, 200);
    problem(&api.admin("POST", &format!("/entries/{id}/complete"), &token), 409, "stale_claim");
    assert_eq!(api.get(&format!("/entries/{id}"))["state"], "cancelled");
}

fn what_came_of_it_is_kept(database: &TestDatabase) {
    let api = Api::start(database);
    let long = "é".repeat(600);
    for (result, kept) in [
        (r#""a text\n""#.to_owned(), json!("a text\n")),
        (r#"{"pages": 7, "size": 1.50}"#.to_owned(), json!(r#"{"pages": 7, "size": 1.50}"#)),
        ("17".to_owned(), json!("17")),
        ("null".to_owned(), Value::Null),
        (json!(long).to_string(), json!("é".repeat(512))),
        (r#""no\u0000 NUL""#.to_owned(), json!("no\u{fffd} NUL")),
    ] {
        let id = api.enqueue(r#"{"task": "p"}"#);
        let claimed = api.claim("p", "{}");
        let body = format!(r#"{{"token": {}, "result": {result}}}"#, claimed[0]["token"]);
        let complete = format!("/entries/{id}/complete");
        let answer = api.admin("POST", &complete, &body);
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.json(), json!({ "id": id, "state": "completed", "run_at": null }));
        let again = api.admin("POST", &complete, &body);
        assert_eq!((again.status, &again.body), (200, &answer.body), "the same answer again");
        assert_eq!(api.get(&format!("/entries/{id}"))["attempts"][0]["output"], kept, "{result}");
    }
}

fn a_failure_is_retried_until_the_attempts_are_used_up(database: &TestDatabase) {
    let api = Api::start(database);
    let id = api.enqueue(r#"{"task": "p"}"#);
    let fail = format!("/entries/{id}/fail");
    for attempt in 1..=3 {
        let claimed = api.claim("p", "{}");
        assert_eq!((claimed.len(), &claimed[0]["attempt"]), (1, &json!(attempt)));
        let body = json!({ "token": claimed[0]["token"], "error": format!("no\u{0} luck {attempt}"), "output": "o" });
        let answer = api.admin("POST", &fail, &body.to_string());
        let state = if attempt < 3 { "pending" } else { "failed" };
        assert_eq!((answer.status, answer.json()["state"].as_str()), (200, Some(state)), "{answer:?}");
        let again = api.admin("POST", &fail, &body.to_string());
        assert_eq!((again.status, again.json()), (200, answer.json()), "the same answer again");
    }
    let entry = api.get(&format!("/entries/{id}"));
    assert_eq!((&entry["state"], &entry["error"]), (&json!("failed"), &json!("no\u{fffd} luck 3")));
    let attempts = entry["attempts"].as_array().unwrap();
    assert_eq!(attempts.len(), 3, "{entry}");
    assert!(attempts.iter().all(|attempt| attempt["outcome"] == "failed" && attempt["output"] == "o"), "{entry}");

    // With a wait, and for good.
    api.enqueue(r#"{"task": "slow"}"#);
    let (waiting, token) = report(&api.claim("slow", "{}")[0]);
    assert_eq!(api.admin("POST", &format!("/entries/{waiting}/fail"), &token).json()["state"], "pending");
    assert!(api.claim("slow", "{}").is_empty(), "an hour's wait");
    api.enqueue(r#"{"task": "slow"}"#);
    let claimed = api.claim("slow", "{}");
    let body = json!({ "token": claimed[0]["token"], "retry": false }).to_string();
    let answer = api.admin("POST", &format!("/entries/{}/fail", claimed[0]["id"]), &body);
    assert_eq!(answer.json()["state"], "failed", "{answer:?}");

    // Used up by claims that nobody ended: failed instead of handed out.
    let id = api.enqueue(r#"{"task": "p"}"#);
    database.sql(&format!("UPDATE soloist_entries SET attempt = 3 WHERE id = {id}"));
    let last = api.enqueue(r#"{"task": "p"}"#);
    let claimed = api.claim("p", "{}");
    assert_eq!((claimed.len(), &claimed[0]["id"]), (1, &json!(last)));
    let entry = api.get(&format!("/entries/{id}"));
    assert_eq!((&entry["state"], &entry["attempt"]), (&json!("failed"), &json!(3)), "{entry}");
}

fn a_claim_is_longer_with_extend(database: &TestDatabase) {
    let api = Api::start(database);
    let id = api.enqueue(r#"{"task": "p"}"#);
    let claimed = api.claim("p", r#"{"lease": 5}"#);
    let body = json!({ "token": claimed[0]["token"], "lease": "1h" }).to_string();
    let answer = api.admin("POST", &format!("/entries/{id}/extend"), &body);
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(answer.json()["lease_until"].as_str() > claimed[0]["lease_until"].as_str());
    let left = "SELECT count(*) FROM soloist_entries WHERE lease_until - started_at > 3000000000";
    assert_eq!(database.number(left), 1);
    for lease in ["\"0s\"", "\"8d\"", "\"5x\"", "\"\"", "true", "-1", "0.5", "1e300", "[]"] {
        let body = format!(r#"{{"token": {}, "lease": {lease}}}"#, claimed[0]["token"]);
        let document = problem(&api.admin("POST", &format!("/entries/{id}/extend"), &body), 400, "invalid_field");
        assert_eq!(document["field"], "lease", "{document}");
    }
    for limit in ["0", "501", "\"1\"", "1.5"] {
        problem(&api.admin("POST", "/tasks/p/claim", &format!(r#"{{"limit": {limit}}}"#)), 400, "invalid_field");
    }
}

fn what_is_paused_or_not_for_outside_workers_is_not_handed_out(database: &TestDatabase) {
    let api = Api::start(database);
    api.enqueue(r#"{"task": "p", "run_at": "2099-01-01T00:00:00Z"}"#);
    assert!(api.claim("p", "{}").is_empty(), "not due");
    let id = api.enqueue(r#"{"task": "p"}"#);
    assert_eq!(api.admin("POST", "/tasks/p/pause", r#"{"reason": "repairs"}"#).status, 200);
    assert!(api.claim("p", "{}").is_empty(), "paused");
    assert_eq!(api.admin("POST", "/tasks/p/resume", "").status, 200);
    assert_eq!(api.claim("p", "{}")[0]["id"], id);
    problem(&api.admin("POST", "/tasks/t/claim", "{}"), 409, "not_a_pull_task");
    let document = problem(&api.admin("POST", "/tasks/slwo/claim", "{}"), 404, "task_not_found");
    assert!(document["detail"].as_str().unwrap().contains("slow"), "{document}");
}

fn many_workers_end_everything_once(database: &TestDatabase) {
    let api = Api::start(database);
    let entries = numbers(400, 4000);
    let many: Vec<_> = (0..entries).map(|n| json!({ "task": "p", "payload": n, "priority": n % 3 })).collect();
    assert_eq!(api.admin("POST", "/entries", &Value::from(many).to_string()).status, 201);
    let ended = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for worker in 0..8 {
            let (api, ended) = (&api, &ended);
            scope.spawn(move || {
                loop {
                    let claimed = api.claim("p", r#"{"limit": 7, "lease": "10m"}"#);
                    if claimed.is_empty() {
                        break;
                    }
                    for entry in claimed {
                        let (id, token) = report(&entry);
                        // Some fail once.
                        let fails = entry["attempt"] == 1 && (id + worker) % 5 == 0;
                        let action = if fails { "fail" } else { "complete" };
                        let response = api.admin("POST", &format!("/entries/{id}/{action}"), &token);
                        assert_eq!(response.status, 200, "{action}: {response:?}");
                        if !fails {
                            ended.lock().unwrap().push(id);
                        }
                    }
                }
            });
        }
    });
    let ended = ended.into_inner().unwrap();
    assert_eq!(ended.iter().collect::<HashSet<_>>().len(), ended.len(), "none is completed twice");
    // A worker may have left while another still failed its last one.
    let left = database.number("SELECT count(*) FROM soloist_entries WHERE state = 'pending'");
    let completed = database.number("SELECT count(*) FROM soloist_entries WHERE state = 'completed'");
    assert_eq!(completed, i64::try_from(ended.len()).unwrap());
    assert_eq!(completed + left, entries);
}
