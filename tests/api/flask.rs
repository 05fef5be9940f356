//! What only Soloist has of Flask-APScheduler's API: roles, declared schedules, tasks with a source, schedules that were
//! made elsewhere, and a hold over all of them. Its answers beside the real one's stand in `apscheduler`.

use std::time::Duration;

use house::{Backend, Response, TestDatabase, on_every_backend, until};
use serde_json::{Value, json};
use soloist::config::{NodeRole, Role, ShowPayload};
use soloist::store::firings::{self, Pass};
use soloist::store::nodes;

use super::server::{ADMIN, Api, READ, TRIGGER, problem};

on_every_backend!(
    every_route_asks_for_its_role,
    a_hold_keeps_every_schedule_from_firing,
    what_nodes_declare_is_a_job_that_is_not_changed,
    a_job_and_its_schedule_are_one,
    a_job_becomes_an_entry_with_its_arguments,
    one_of_eight_adds_the_job,
);

/// The 13 routes, the least role, and a body.
const ROUTES: [(&str, &str, Role, &str); 13] = [
    ("GET", "", Role::Read, ""),
    ("POST", "/pause", Role::Admin, ""),
    ("POST", "/resume", Role::Admin, ""),
    ("POST", "/start", Role::Admin, ""),
    ("POST", "/shutdown", Role::Admin, ""),
    ("GET", "/jobs", Role::Read, ""),
    (
        "POST",
        "/jobs",
        Role::Admin,
        r#"{"id": "j", "func": "m:t", "trigger": "interval", "days": 1, "replace_existing": true}"#,
    ),
    ("GET", "/jobs/j", Role::Read, ""),
    ("PATCH", "/jobs/j", Role::Admin, "{}"),
    ("DELETE", "/jobs/j", Role::Admin, ""),
    ("POST", "/jobs/j/pause", Role::Admin, ""),
    ("POST", "/jobs/j/resume", Role::Admin, ""),
    ("POST", "/jobs/j/run", Role::Trigger, ""),
];

fn call(api: &Api, method: &str, path: &str, body: &str) -> Response {
    api.with(ADMIN, method, &format!("/scheduler{path}"), body)
}

#[track_caller]
fn ok(response: &Response) -> Value {
    assert_eq!(response.status, 200, "{response:?}");
    response.json()
}

#[track_caller]
fn refused(response: &Response, status: u16, words: &str) {
    assert_eq!(response.status, status, "{response:?}");
    let message = response.json()["error_message"].as_str().unwrap().to_owned();
    assert!(message.contains(words), "{message}");
}

fn every_route_asks_for_its_role(database: &TestDatabase) {
    let api = Api::start(database);
    for (method, path, least, body) in ROUTES {
        let path = format!("/scheduler{path}");
        problem(&api.send(method, &path, &[], body), 401, "unauthenticated");
        for (role, token) in [(Role::Read, READ), (Role::Trigger, TRIGGER), (Role::Admin, ADMIN)] {
            let response = api.with(token, method, &path, body);
            if role < least {
                problem(&response, 403, "forbidden");
            } else {
                assert!(![401, 403, 405].contains(&response.status), "{role:?} {method} {path}: {response:?}");
            }
        }
    }
    problem(&call(&api, "PUT", "/jobs/j", ""), 405, "method_not_allowed");
    problem(&call(&api, "GET", "/nowhere", ""), 404, "route_not_found");
}

fn fire(api: &Api) -> usize {
    let pass = Pass { node: "test".into(), lease: Duration::from_secs(60), overdue: Duration::ZERO, leave: Vec::new() };
    firings::pass(&mut api.state.store.work().unwrap(), &pass).unwrap().fired
}

fn a_hold_keeps_every_schedule_from_firing(database: &TestDatabase) {
    let api = Api::start(database);
    nodes::register(&mut api.state.store.work().unwrap(), "s", &[NodeRole::Scheduler], Duration::from_secs(60))
        .unwrap();
    let often = |id: &str| {
        let job = json!({ "id": id, "func": "t", "trigger": "interval", "seconds": 0.1, "max_instances": 99 });
        ok(&call(&api, "POST", "/jobs", &job.to_string()))
    };
    often("before");
    let fired = |schedule: &str, outcome: &str| {
        let firings = api.get(&format!("/firings?schedule={schedule}"));
        firings["items"].as_array().unwrap().iter().any(|firing| firing["outcome"] == outcome)
    };
    let limit = Duration::from_secs(20);
    until(limit, "it fires", || fire(&api) > 0);
    for (hold, release, reason) in
        [("/pause", "/resume", "all schedules are paused"), ("/shutdown", "/start", "the scheduler is shut down")]
    {
        assert_eq!(call(&api, "POST", hold, "").status, 204);
        often(&hold[1..]);
        until(limit, "what is there and what comes is skipped", || {
            assert_eq!(fire(&api), 0);
            fired(&hold[1..], "skipped") && fired("before", "skipped")
        });
        assert!(!fired(&hold[1..], "fired"));
        let schedule = api.get("/schedules/before");
        assert_eq!(
            (&schedule["paused"]["by"], &schedule["next_fire_at"]),
            (&json!("admin"), &Value::Null),
            "{schedule}"
        );
        assert!(schedule["paused"]["reason"].as_str().unwrap().starts_with(reason), "{schedule}");
        assert!(
            ok(&call(&api, "GET", "/jobs/before", ""))["next_run_time"].is_string(),
            "the job itself is not paused"
        );
        let status = api.get("/status");
        assert!(status["notes"].to_string().contains("All schedules are paused by admin since"), "{}", status["notes"]);
        assert_eq!(status["next_firings"], json!([]));
        assert_eq!(call(&api, "POST", release, "").status, 204);
        until(limit, "it fires again", || fire(&api) > 0);
        until(limit, "so does the new one", || {
            fire(&api);
            fired(&hold[1..], "fired")
        });
        assert_eq!(api.get("/schedules/before")["paused"], Value::Null);
    }
    // A job keeps the pause of its own through a hold.
    assert_eq!(ok(&call(&api, "POST", "/jobs/before/pause", ""))["next_run_time"], Value::Null);
    for path in ["/pause", "/resume"] {
        assert_eq!(call(&api, "POST", path, "").status, 204);
    }
    assert_eq!(ok(&call(&api, "GET", "/jobs/before", ""))["next_run_time"], Value::Null);
}

fn what_nodes_declare_is_a_job_that_is_not_changed(database: &TestDatabase) {
    let api = Api::start(database);
    let body =
        r#"{"name": "d", "task": "t", "cron": "0 3 * * MON", "timezone": "Europe/Berlin", "payload": {"n": 1.50}}"#;
    assert_eq!(api.admin("POST", "/schedules", body).status, 201);
    database.sql("UPDATE soloist_schedules SET origin = 'config'");
    let job = ok(&call(&api, "GET", "/jobs/d", ""));
    let next = job["next_run_time"].clone();
    let expected = json!({
        "id": "d", "name": "d", "func": "t", "args": [], "kwargs": {"n": 1.50}, "trigger": "cron", "month": "*", "day": "*",
        "day_of_week": "mon", "hour": "3", "minute": "0", "misfire_grace_time": null, "max_instances": 1,
        "next_run_time": next,
    });
    assert_eq!(job, expected);
    let offset = next.as_str().unwrap().split('T').nth(1).unwrap().to_owned();
    assert!(["03:00:00+01:00", "03:00:00+02:00"].contains(&offset.as_str()), "{next}");

    assert_eq!(ok(&call(&api, "POST", "/jobs/d/pause", ""))["next_run_time"], Value::Null);
    assert_eq!(ok(&call(&api, "PATCH", "/jobs/d", r#"{"next_run_time": null}"#))["next_run_time"], Value::Null);
    assert_eq!(ok(&call(&api, "POST", "/jobs/d/resume", "")), expected);
    ok(&api.with(TRIGGER, "POST", "/scheduler/jobs/d/run", ""));
    let again = r#"{"id": "d", "func": "t", "trigger": "cron", "hour": 1"#;
    refused(&call(&api, "POST", "/jobs", &format!("{again}}}")), 409, "Job d already exists.");
    for (method, path, body) in [
        ("PATCH", "/jobs/d", r#"{"name": "other"}"#),
        ("DELETE", "/jobs/d", ""),
        ("POST", "/jobs", &format!(r#"{again}, "replace_existing": true}}"#)),
    ] {
        refused(&call(&api, method, path, body), 409, "declared by nodes");
    }
    assert_eq!(ok(&call(&api, "GET", "/jobs/d", "")), expected);
}

fn a_job_and_its_schedule_are_one(database: &TestDatabase) {
    let api = Api::start(database);
    let job = r#"{"id": "j", "func": "m:t", "name": "Jay", "trigger": "cron", "hour": "1-3", "day_of_week": "sun", "max_instances": 4}"#;
    ok(&call(&api, "POST", "/jobs", job));
    let schedule = api.get("/schedules/j");
    assert_eq!(
        (&schedule["cron"], &schedule["overlap"], &schedule["origin"]),
        (&json!("0 1-3 * * 0"), &json!("allow"), &json!("api"))
    );
    assert_eq!((&schedule["misfire"], &schedule["misfire_grace"]), (&json!("once"), &json!("1s")));
    assert_eq!(schedule["payload"], json!({"args": [], "kwargs": {}}));

    let patch = |body: &str| assert_eq!(api.admin("PATCH", "/schedules/j", body).status, 200);
    let shown = || ok(&call(&api, "GET", "/jobs/j", ""));
    patch(r#"{"task": "thumbnail", "payload": [1], "jitter": "5s"}"#);
    let job = shown();
    assert_eq!(
        (&job["name"], &job["func"], &job["max_instances"]),
        (&json!("Jay"), &json!("thumbnail"), &json!(4)),
        "{job}"
    );
    assert_eq!((&job["args"], &job["hour"], &job["day_of_week"]), (&json!([[1]]), &json!("1-3"), &json!("sun")));
    patch(
        r#"{"every": "90m", "cron": null, "start": "2099-01-01T00:00:00Z", "overlap": "skip", "misfire": "skip", "misfire_grace": null}"#,
    );
    let job = shown();
    assert_eq!((&job["trigger"], &job["hours"], &job["minutes"]), (&json!("interval"), &json!(1), &json!(30)), "{job}");
    assert_eq!((&job["start_date"], &job["max_instances"]), (&json!("2099-01-01T00:00:00+00:00"), &json!(1)));
    assert_eq!((&job["misfire_grace_time"], job.get("hour")), (&json!(1), None));
    patch(r#"{"cron": "@daily", "every": null, "overlap": "allow", "misfire": "once"}"#);
    let job = shown();
    assert_eq!((&job["trigger"], &job["max_instances"]), (&json!("cron[@daily]"), &json!(4)), "{job}");
    let allows = r#"{"name": "allows", "task": "t", "every": "1h", "overlap": "allow"}"#;
    assert_eq!(api.admin("POST", "/schedules", allows).status, 201);
    assert_eq!(ok(&call(&api, "GET", "/jobs/allows", ""))["max_instances"], i32::MAX);
    // A change of the name alone leaves the rest as it is.
    assert_eq!(ok(&call(&api, "PATCH", "/jobs/j", r#"{"name": "Kay"}"#))["trigger"], "cron[@daily]");
    assert_eq!(api.get("/schedules/j")["cron"], "@daily");

    // What is over has made room.
    assert_eq!(
        api.admin("POST", "/schedules", r#"{"name": "over", "task": "t", "at": "2020-01-01T00:00:00Z"}"#).status,
        201
    );
    database.sql("UPDATE soloist_schedules SET next_fire_at = NULL, look_at = NULL WHERE name = 'over'");
    refused(&call(&api, "GET", "/jobs/over", ""), 404, "Job over not found");
    ok(&call(&api, "POST", "/jobs", r#"{"id": "over", "func": "t", "trigger": "interval", "hours": 1}"#));
    assert_eq!(api.get("/schedules/over")["every"], "1h");
}

fn a_job_becomes_an_entry_with_its_arguments(database: &TestDatabase) {
    let api = Api::start(database);
    let job = r#"{"id": "j", "func": "m:t", "trigger": "interval", "hours": 1, "args": [1.50, "x"], "kwargs": {"n": 12345678901234567890}}"#;
    let made = call(&api, "POST", "/jobs", job);
    assert!(made.body.contains(r#""args":[1.50, "x"],"kwargs":{"n": 12345678901234567890}"#), "{}", made.body);
    ok(&api.with(TRIGGER, "POST", "/scheduler/jobs/j/run", ""));
    let payload = r#"{"args": [1.50, "x"], "kwargs": {"n": 12345678901234567890}}"#;
    assert_eq!(database.value("SELECT payload FROM soloist_entries").as_deref(), Some(payload));
    assert_eq!(api.get("/firings?schedule=j")["items"][0]["reason"], "fired by trigger");
    // The usual way to begin at once.
    let now = jiff::Timestamp::now() - jiff::SignedDuration::from_secs(1);
    let soon = json!({ "id": "now", "func": "t", "trigger": "interval", "hours": 1, "next_run_time": now.to_string(), "misfire_grace_time": 60 });
    let job = ok(&call(&api, "POST", "/jobs", &soon.to_string()));
    let next: jiff::Timestamp = job["next_run_time"].as_str().unwrap().parse().unwrap();
    assert!(
        (next.as_microsecond() - now.as_microsecond() - 3_600_000_000).abs() < 1000,
        "an hour after the first: {job}"
    );
    assert_eq!(database.number("SELECT count(*) FROM soloist_entries WHERE schedule = 'now'"), 1);

    let sweep = |more: &str| {
        call(&api, "POST", "/jobs", &format!(r#"{{"id": "s", "func": "rows", "trigger": "cron", "hour": 1{more}}}"#))
    };
    refused(&sweep(r#", "args": [1]"#), 500, "args: the task \"rows\" has a source");
    ok(&sweep(""));
    ok(&call(&api, "POST", "/jobs/s/run", ""));
    assert_eq!(database.number("SELECT count(*) FROM soloist_sweeps"), 1);
    assert_eq!(api.get("/schedules/s")["payload"], Value::Null);
    refused(&call(&api, "PATCH", "/jobs/s", r#"{"kwargs": {"a": 1}}"#), 500, "args: ");
    refused(&call(&api, "GET", "/jobs/%00", ""), 404, "not found");
    let large = format!(r#"{{"id": "l", "func": "t", "args": ["{}"]}}"#, "x".repeat(9 << 20));
    refused(&call(&api, "POST", "/jobs", &large), 400, "larger than");
}

fn one_of_eight_adds_the_job(database: &TestDatabase) {
    let api = Api::start(database);
    let add = |body: &str| {
        std::thread::scope(|scope| {
            let calls: Vec<_> = (0..8).map(|_| scope.spawn(|| call(&api, "POST", "/jobs", body).status)).collect();
            let mut statuses: Vec<_> = calls.into_iter().map(|call| call.join().unwrap()).collect();
            statuses.sort_unstable();
            statuses
        })
    };
    assert_eq!(
        add(r#"{"id": "j", "func": "t", "trigger": "cron", "hour": 1}"#),
        [200, 409, 409, 409, 409, 409, 409, 409]
    );
    assert_eq!(add(r#"{"id": "j", "func": "t", "trigger": "cron", "hour": 2, "replace_existing": true}"#), [200; 8]);
}

#[test]
fn arguments_are_for_those_who_may_see_them() {
    let database = TestDatabase::new(Backend::Sqlite).unwrap();
    let api = Api::start_with(&database, ShowPayload::Admin);
    let job = r#"{"id": "j", "func": "t", "trigger": "cron", "hour": 1, "kwargs": {"card": "4111"}}"#;
    ok(&call(&api, "POST", "/jobs", job));
    for path in ["/scheduler/jobs", "/scheduler/jobs/j"] {
        for token in [READ, TRIGGER] {
            let response = api.with(token, "GET", path, "");
            assert!(!response.body.contains("4111") && !response.body.contains("args"), "{}", response.body);
        }
        assert!(api.with(ADMIN, "GET", path, "").body.contains("4111"));
    }
}
