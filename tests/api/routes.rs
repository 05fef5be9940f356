//! Every route of the API, from the table that the server is built of: who may use it, and what is wrong for it. A route
//! without a sample here fails.

use house::{TestDatabase, on_every_backend};
use soloist::config::Role;
use soloist::http::{Listed, listed};

use super::server::{ADMIN, Api, READ, TRIGGER, problem};

on_every_backend!(every_route_asks_for_its_role, every_route_refuses_what_is_wrong);

/// A request that is right: method, path as it is listed, a path that fits it, and a body where one is taken.
type Sample = (&'static str, &'static str, &'static str, Option<&'static str>);

const SAMPLES: &[Sample] = &[
    ("GET", "/status", "/status", None),
    ("GET", "/nodes", "/nodes", None),
    ("GET", "/events", "/events", None),
    ("GET", "/audit", "/audit", None),
    ("GET", "/tasks", "/tasks", None),
    ("GET", "/tasks/{task}", "/tasks/t", None),
    ("POST", "/tasks/{task}/trigger", "/tasks/t/trigger", Some("{}")),
    ("POST", "/tasks/{task}/pause", "/tasks/t/pause", Some("{}")),
    ("POST", "/tasks/{task}/resume", "/tasks/t/resume", Some("{}")),
    ("POST", "/tasks/{task}/probe", "/tasks/p/probe", Some("{}")),
    ("POST", "/tasks/{task}/claim", "/tasks/p/claim", Some("{}")),
    ("GET", "/firings", "/firings", None),
    ("GET", "/schedules", "/schedules", None),
    ("POST", "/schedules", "/schedules", Some(r#"{"name": "new", "task": "t", "every": "1h"}"#)),
    ("GET", "/schedules/{schedule}", "/schedules/s", None),
    ("PATCH", "/schedules/{schedule}", "/schedules/s", Some(r#"{"every": "2h"}"#)),
    ("POST", "/schedules/{schedule}/pause", "/schedules/s/pause", Some("{}")),
    ("POST", "/schedules/{schedule}/resume", "/schedules/s/resume", Some("{}")),
    ("POST", "/schedules/{schedule}/fire", "/schedules/s/fire", Some("{}")),
    ("DELETE", "/schedules/{schedule}", "/schedules/s", None),
    ("GET", "/entries", "/entries", None),
    ("POST", "/entries", "/entries", Some(r#"{"task": "t"}"#)),
    ("POST", "/entries/bulk", "/entries/bulk", Some(r#"{"action": "cancel", "task": "slow"}"#)),
    ("GET", "/entries/{id}", "/entries/1", None),
    ("POST", "/entries/{id}/run-now", "/entries/1/run-now", Some("{}")),
    ("POST", "/entries/{id}/cancel", "/entries/1/cancel", Some("{}")),
    ("POST", "/entries/{id}/retry", "/entries/1/retry", Some("{}")),
    ("POST", "/entries/{id}/complete", "/entries/1/complete", Some(r#"{"token": "x"}"#)),
    ("POST", "/entries/{id}/fail", "/entries/1/fail", Some(r#"{"token": "x"}"#)),
    ("POST", "/entries/{id}/extend", "/entries/1/extend", Some(r#"{"token": "x"}"#)),
    ("DELETE", "/entries/{id}", "/entries/1", None),
];

/// Lists, which take `limit` and `cursor`.
const LISTS: &[&str] = &["/nodes", "/audit", "/tasks", "/firings", "/schedules", "/entries"];

/// Routes that take an `Idempotency-Key`.
const REPEATABLE: &[&str] = &["/tasks/{task}/trigger", "/schedules/{schedule}/fire", "/entries"];

/// Each route with its sample.
fn routes() -> Vec<(Listed, &'static str, Option<&'static str>)> {
    let sampled = |route: Listed| {
        let sample = SAMPLES.iter().find(|(method, path, ..)| (*method, *path) == (route.method.as_str(), route.path));
        let (_, _, path, body) = sample.unwrap_or_else(|| panic!("{route:?} needs a sample here"));
        (route, *path, *body)
    };
    let routes: Vec<_> = listed().into_iter().map(sampled).collect();
    assert_eq!(routes.len(), SAMPLES.len(), "a sample is of a route that is no more");
    routes
}

fn start(database: &TestDatabase) -> Api {
    let api = Api::start(database);
    assert_eq!(api.enqueue(r#"{"task": "t", "key": "k"}"#), 1);
    let made = api.admin("POST", "/schedules", r#"{"name": "s", "task": "t", "every": "1h"}"#);
    assert_eq!(made.status, 201, "{made:?}");
    api
}

/// All that a request could have changed.
fn holdings(database: &TestDatabase) -> Vec<(&'static str, i64)> {
    let counted = [
        "soloist_entries",
        "soloist_entries WHERE state = 'pending'",
        "soloist_attempts",
        "soloist_tasks",
        "soloist_tasks WHERE paused_since IS NOT NULL",
        "soloist_sweeps",
        "soloist_schedules",
        "soloist_schedules WHERE paused_since IS NOT NULL",
        "soloist_firings",
        "soloist_requests",
        "soloist_audit",
        "soloist_nodes",
        "soloist_declarations",
    ];
    counted.map(|what| (what, database.number(&format!("SELECT count(*) FROM {what}")))).to_vec()
}

fn every_route_asks_for_its_role(database: &TestDatabase) {
    let api = start(database);
    let before = holdings(database);
    for (route, path, body) in routes() {
        let (method, path, body) = (route.method.as_str(), format!("/api/v1{path}"), body.unwrap_or_default());
        let response = api.send(method, &path, &[], body);
        problem(&response, 401, "unauthenticated");
        assert!(response.header("www-authenticate").is_some_and(|value| value.starts_with("Bearer")), "{path}");
        api.forget_failures();
        let wrong = api.with("adm1n-tokem", method, &path, body);
        problem(&wrong, 401, "unauthenticated");
        assert!(!wrong.body.contains("adm1n"), "a token is not shown: {}", wrong.body);
        let right = format!("Bearer {ADMIN}");
        let twice = [("Authorization", right.as_str()), ("Authorization", right.as_str())];
        problem(&api.send(method, &path, &twice, body), 401, "unauthenticated");
        for (role, token) in [(Role::Read, READ), (Role::Trigger, TRIGGER)] {
            if role < route.role {
                problem(&api.with(token, method, &path, body), 403, "forbidden");
            }
        }
    }
    assert_eq!(holdings(database), before);
    // What does not exist tells strangers nothing either.
    problem(&api.send("GET", "/api/v1/nowhere", &[], ""), 401, "unauthenticated");
    problem(&api.admin("GET", "/nowhere", ""), 404, "route_not_found");
    for (route, path, body) in routes() {
        let path = format!("/api/v1{path}");
        for (role, token) in [(Role::Read, READ), (Role::Trigger, TRIGGER), (Role::Admin, ADMIN)] {
            // Events go on for ever, and have tests of their own.
            if role >= route.role && route.path != "/events" {
                let response = api.with(token, &route.method, &path, body.unwrap_or_default());
                let status = response.status;
                assert!(![401, 403, 405].contains(&status) && status < 500, "{role:?} {route:?}: {response:?}");
                assert_eq!(response.header("x-content-type-options"), Some("nosniff"), "{route:?}");
            }
        }
    }
}

fn every_route_refuses_what_is_wrong(database: &TestDatabase) {
    let api = start(database);
    let before = holdings(database);
    let all = routes();
    for (route, path, body) in &all {
        let method = route.method.as_str();
        let send = |path: &str, headers: &[(&str, &str)], body: &str| {
            let bearer = format!("Bearer {ADMIN}");
            let mut all = vec![("Authorization", bearer.as_str())];
            all.extend_from_slice(headers);
            api.send(method, &format!("/api/v1{path}"), &all, body)
        };
        let right = body.unwrap_or_default();
        problem(&send(&format!("{path}?nonsense=1"), &[], right), 400, "unknown_parameter");
        let others = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"].into_iter().filter(|other| {
            *other != "HEAD" && !all.iter().any(|(same, ..)| same.path == route.path && same.method == *other)
        });
        for other in others {
            let response = api.admin(other, path, "");
            problem(&response, 405, "method_not_allowed");
            assert!(response.header("allow").is_some_and(|allowed| allowed.contains(method)), "{response:?}");
        }
        for wrong in strange_names(route.path) {
            let response = send(&wrong, &[], right);
            assert_eq!(response.status, 404, "{method} {wrong}: {response:?}");
            assert!(response.json()["code"].as_str().is_some_and(|code| code.ends_with("_not_found")), "{response:?}");
        }
        if LISTS.contains(&route.path) && method == "GET" {
            for query in ["cursor=x", "cursor=MTo", "limit=0", "limit=501", "limit=x", "limit=1&limit=2"] {
                let response = send(&format!("{path}?{query}"), &[], "");
                // A cursor of a list by name may hold any text.
                let any_name = query == "cursor=MTo" && ["/tasks", "/schedules"].contains(&route.path);
                if !any_name {
                    problem(&response, 400, "invalid_parameter");
                }
            }
        }
        if REPEATABLE.contains(&route.path) && method == "POST" {
            let twice = [("Idempotency-Key", "a"), ("Idempotency-Key", "a")];
            problem(&send(path, &twice, right), 400, "invalid_idempotency_key");
        }
        if body.is_none() {
            continue;
        }
        for wrong in ["{", "nope", "7", "[7]", "{} {}", "{'a': 1}"] {
            problem(&send(path, &[], wrong), 400, "bad_json");
        }
        let separator = if right == "{}" { "" } else { ", " };
        let stranger = right.replacen('{', &format!(r#"{{"nonsense": 1{separator}"#), 1);
        problem(&send(path, &[], &stranger), 400, "unknown_field");
        let doubled = right.replacen('{', &format!(r#"{{"twice": 1, "twice": 1{separator}"#), 1);
        problem(&send(path, &[], &doubled), 400, "invalid_field");
        problem(&send(path, &[("Content-Type", "text/plain")], right), 415, "unsupported_media_type");
        problem(&send(path, &[("Content-Encoding", "gzip")], right), 415, "unsupported_media_type");
        let long = [("Content-Length", "9437184"), ("Content-Type", "application/json")];
        problem(&send(path, &long, ""), 413, "too_large");
    }
    assert_eq!(holdings(database), before);
    assert_eq!((api.wakes(), api.firing_wakes()), (1, 1), "nobody was told of anything");
}

/// The path with what is no id or name, or that of nothing, in its braces.
fn strange_names(path: &str) -> Vec<String> {
    let fill = |name: &str, with: &[&str]| with.iter().map(|text| path.replace(name, text)).collect::<Vec<_>>();
    match path {
        _ if path.contains("{id}") => {
            fill("{id}", &["abc", "-1", "+1", "1.0", "9223372036854775808", "99999999999999999999", "%31%00"])
        }
        _ if path.contains("{task}") => fill("{task}", &["nobody", "a%20b", "%00", "..%2f", &"t".repeat(101)]),
        _ if path.contains("{schedule}") => fill("{schedule}", &["nobody", "a%20b", "%00", "..%2f", &"s".repeat(101)]),
        _ => Vec::new(),
    }
}
