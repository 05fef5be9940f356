//! What is refused, in which words, and that it changes nothing.

use house::{Backend, TestDatabase, on_every_backend};
use serde_json::Value;

use super::server::{ADMIN, Api, problem};

on_every_backend!(strange_content_is_taken_as_it_is_or_refused_by_name);

fn field(document: &Value) -> &str {
    document["field"].as_str().unwrap_or_default()
}

#[test]
fn a_wrong_body_is_refused_with_its_place() {
    let database = TestDatabase::new(Backend::Sqlite).unwrap();
    let api = Api::start(&database);
    let post = |body: &str| api.admin("POST", "/entries", body);

    let document = problem(&post("{\"task\": \"t\",\n  \"key\": }"), 400, "bad_json");
    assert_eq!((document["line"].as_u64(), document["column"].as_u64()), (Some(2), Some(10)), "{document}");
    for body in ["{", "nope", "{} {}", "[{]", "{'task': 't'}"] {
        problem(&post(body), 400, "bad_json");
    }
    for body in ["7", "\"t\"", "null", "[7]", "[[]]", "[]", " "] {
        problem(&post(body), 400, "bad_json");
    }
    problem(&post("{}"), 400, "missing_field");
    for (body, name) in [
        (r#"{"task": 7}"#, "task"),
        (r#"{"task": "a b"}"#, "task"),
        (r#"{"task": ""}"#, "task"),
        (r#"{"task": "t", "key": 7}"#, "key"),
        (r#"{"task": "t", "key": "a\u0000b"}"#, "key"),
        (r#"{"task": "t", "key": "\ud800"}"#, "key"),
        (r#"{"task": "t", "priority": 10}"#, "priority"),
        (r#"{"task": "t", "priority": 1.5}"#, "priority"),
        (r#"{"task": "t", "priority": "1"}"#, "priority"),
        (r#"{"task": "t", "priority": 99999999999999999999}"#, "priority"),
        (r#"{"task": "t", "run_at": "tomorrow"}"#, "run_at"),
        (r#"{"task": "t", "run_at": "2027-01-01"}"#, "run_at"),
        (r#"{"task": "t", "run_at": 7}"#, "run_at"),
        (r#"{"task": "t", "task": "t"}"#, "task"),
        (r#"[{"task": "t"}, {"task": "t", "priority": 10}]"#, "[1].priority"),
    ] {
        let document = problem(&post(body), 400, "invalid_field");
        assert_eq!(field(&document), name, "{body}: {document}");
        assert!(document["detail"].as_str().unwrap().contains(name), "{document}");
    }
    let long = format!(r#"{{"task": "t", "key": "{}"}}"#, "ä".repeat(256));
    assert_eq!(field(&problem(&post(&long), 400, "invalid_field")), "key");
    let document = problem(&post(r#"{"task": "t", "priorty": 1}"#), 400, "unknown_field");
    assert!(document["detail"].as_str().unwrap().contains("priority"), "{document}");
    let document = problem(&post(r#"{"task": "thumbnial"}"#), 422, "task_not_declared");
    assert!(document["detail"].as_str().unwrap().contains("thumbnail"), "{document}");
    let document = problem(&post(r#"[{"task": "t"}, {"task": "nobody"}]"#), 422, "task_not_declared");
    assert_eq!(field(&document), "[1].task");
    assert_eq!(database.number("SELECT count(*) FROM soloist_entries"), 0);
    assert_eq!(api.wakes(), 0);
}

#[test]
fn what_is_no_json_or_too_much_is_refused() {
    let database = TestDatabase::new(Backend::Sqlite).unwrap();
    let api = Api::start(&database);
    let bearer = format!("Bearer {ADMIN}");
    let post = |headers: &[(&str, &str)], body: &str| {
        let mut all = vec![("Authorization", bearer.as_str())];
        all.extend_from_slice(headers);
        api.send("POST", "/api/v1/entries", &all, body)
    };
    let body = r#"{"task": "t"}"#;
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"] {
        problem(&post(&[("Content-Type", kind)], body), 415, "unsupported_media_type");
    }
    problem(&post(&[("Content-Encoding", "gzip")], body), 415, "unsupported_media_type");
    assert_eq!(post(&[("Content-Type", "application/json; charset=utf-8")], body).status, 201);
    let payload = |bytes: usize| format!(r#"{{"task": "t", "payload": "{}"}}"#, "x".repeat(bytes - 2));
    assert_eq!(post(&[], &payload(8 << 20)).status, 201, "8 MiB are taken");
    let document = problem(&post(&[], &payload((8 << 20) + 1)), 413, "too_large");
    assert_eq!(field(&document), "payload");
    for mib in [9, 64] {
        problem(&post(&[], &payload(mib << 20)), 413, "too_large");
    }
    assert_eq!(database.number("SELECT count(*) FROM soloist_entries"), 2);
}

#[test]
fn a_wrong_path_method_or_query_is_refused_with_what_would_be_right() {
    let database = TestDatabase::new(Backend::Sqlite).unwrap();
    let api = Api::start(&database);
    problem(&api.send("GET", "/nowhere", &[], ""), 404, "route_not_found");
    for path in ["/entries/17", "/entries/abc", "/entries/-1", "/entries/99999999999999999999"] {
        problem(&api.admin("GET", path, ""), 404, "entry_not_found");
    }
    let response = api.admin("PUT", "/entries", "");
    problem(&response, 405, "method_not_allowed");
    assert_eq!(response.header("allow"), Some("GET, POST"));
    let response = api.admin("GET", "/entries?stat=failed", "");
    let document = problem(&response, 400, "unknown_parameter");
    assert!(document["detail"].as_str().unwrap().contains("state"), "{document}");
    let document = problem(&api.admin("GET", "/entries?state=faild", ""), 400, "invalid_parameter");
    assert!(document["detail"].as_str().unwrap().contains("failed"), "{document}");
    for query in
        ["limit=0", "limit=501", "limit=x", "limit=1&limit=2", "cursor=x", "cursor=MTp4", "task=a+b", "key=%00"]
    {
        let response = api.admin("GET", &format!("/entries?{query}"), "");
        problem(&response, 400, "invalid_parameter");
    }
    problem(&api.admin("POST", "/entries/1/retry", r#"{"max": 1}"#), 400, "unknown_field");
    for (method, path) in [("POST", "/entries?x=1"), ("DELETE", "/entries/1?x=1"), ("POST", "/tasks/p/claim?wait=1")] {
        problem(&api.admin(method, path, ""), 400, "unknown_parameter");
    }
    problem(&api.send("POST", "/healthz", &[], ""), 405, "method_not_allowed");
}

#[test]
fn a_database_that_cannot_be_reached_is_a_503_without_its_password() {
    let api = Api::start_on_unreachable("postgres://app:hunter2@127.0.0.1:1/app");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let status = api.get("/status");
            let problem = &status["problems"][0];
            assert_eq!((&problem["code"], &problem["level"]), (&"database_unreachable".into(), &"stopped".into()));
            assert!(!status.to_string().contains("hunter2"), "{status}");
        });
        for (method, path, body) in [("GET", "/entries", ""), ("POST", "/entries", r#"{"task": "t"}"#)] {
            let api = &api;
            scope.spawn(move || {
                let response = api.admin(method, path, body);
                problem(&response, 503, "database_unavailable");
                assert!(response.header("retry-after").is_some() && !response.body.contains("hunter2"), "{response:?}");
            });
        }
    });
    assert_eq!(api.send("GET", "/healthz", &[], "").status, 200);
}

fn strange_content_is_taken_as_it_is_or_refused_by_name(database: &TestDatabase) {
    let api = Api::start(database);
    let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let payloads = [
        r#"{"x":"\u0000"}"#.to_owned(),
        r#""\u0000""#.to_owned(),
        r#"{"\u0000":1}"#.to_owned(),
        r#""\ud800""#.to_owned(),
        r#"[123456789012345678901234567890.10, 1e400, -0, 1E+2]"#.to_owned(),
        r#"{"a": 1, "a": 2}"#.to_owned(),
        "\"\u{7f}\u{feff}\u{10ffff}\"".to_owned(),
        deep(100),
        deep(10_000),
        deep(200_000),
    ];
    for payload in payloads {
        let shown: String = payload.chars().take(60).collect();
        let response = api.admin("POST", "/entries", &format!(r#"{{"task": "t", "payload": {payload}}}"#));
        if response.status == 201 {
            assert!(response.body.contains(&payload), "{shown} comes back as it was sent");
            let id = response.body.split(',').next().unwrap().trim_start_matches("{\"id\":").to_owned();
            let again = api.admin("GET", &format!("/entries/{id}"), "");
            assert!(again.status == 200 && again.body.contains(&payload), "{shown}");
        } else {
            assert!((400..500).contains(&response.status), "{shown}: {response:?}");
            assert!(response.json()["detail"].as_str().unwrap().contains("payload"), "{shown}: {response:?}");
        }
    }
    problem(&api.admin("POST", "/entries", "{\"task\": \"t\", \"payload\": \"\u{0}\"}"), 400, "bad_json");
    assert_eq!(api.admin("GET", "/entries?limit=500", "").status, 200, "whatever was taken can be listed");
}
