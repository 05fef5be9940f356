//! Server-sent events: what they tell, where a stream goes on, and when it ends.

use house::{EventStream, TestDatabase, full, on_every_backend, until};
use soloist::config::Role;
use std::time::Duration;

use super::server::{ADMIN, Api, READ, problem, token};

on_every_backend!(what_changes_is_told, a_stream_goes_on_after_the_last_event_that_was_seen);

fn open(api: &Api, last: Option<&str>) -> EventStream {
    let bearer = format!("Bearer {READ}");
    let mut headers = vec![("Authorization", bearer.as_str())];
    headers.extend(last.map(|last| ("Last-Event-ID", last)));
    EventStream::open(api.port, "/api/v1/events", &headers).expect("a stream")
}

/// A stream, once the node looks.
fn begun(api: &Api) -> EventStream {
    let mut stream = open(api, None);
    let first = stream.next().unwrap();
    assert_eq!((first.name.as_str(), first.json()["reason"].as_str()), ("reset", Some("a new stream")));
    stream.until("the first look", |event| event.name == "reset");
    stream
}

fn what_changes_is_told(database: &TestDatabase) {
    let api = Api::start(database);
    let mut stream = begun(&api);
    let id = api.enqueue(r#"{"task": "t"}"#);
    let task = stream.until("the task", |event| event.name == "task").json();
    assert_eq!((&task["name"], &task["pending"], &task["due"]), (&"t".into(), &1.into(), &1.into()), "{task}");
    let found = stream.until("a problem: no node works", |event| event.name == "problem").json();
    assert_eq!((&found["code"], &found["level"]), (&"no_worker".into(), &"stopped".into()), "{found}");
    let status = stream.until("the status", |event| event.name == "status").json();
    let changed: Vec<_> = status["changed"].as_array().unwrap().iter().map(|part| part.as_str().unwrap()).collect();
    assert_eq!(changed, ["tasks", "problems"], "{status}");
    assert_eq!(status["level"], "stopped");

    assert_eq!(api.admin("POST", &format!("/entries/{id}/cancel"), "").status, 200);
    let over = stream.until("its end", |event| event.name == "problem_over").json();
    assert_eq!(over["code"], "no_worker");

    let schedule = r#"{"name": "s", "task": "t", "every": "1d"}"#;
    assert_eq!(api.admin("POST", "/schedules", schedule).status, 201);
    stream.until("a schedule", |event| {
        event.name == "status" && event.json()["changed"].as_array().unwrap().contains(&"schedules".into())
    });
    let fired = api.admin("POST", "/schedules/s/fire", "");
    assert_eq!(fired.status, 202);
    let firing = stream.until("the firing", |event| event.name == "firing").json();
    assert_eq!((&firing["schedule"], &firing["outcome"]), (&"s".into(), &"fired".into()), "{firing}");
    assert!(firing["entry_id"].is_number() && firing["id"].is_number(), "{firing}");
}

fn a_stream_goes_on_after_the_last_event_that_was_seen(database: &TestDatabase) {
    let api = Api::start(database);
    let mut stream = begun(&api);
    for _ in 0..3 {
        api.enqueue(r#"{"task": "t"}"#);
    }
    let mut events = vec![stream.next().unwrap()];
    while events.last().unwrap().name != "status" {
        events.push(stream.next().unwrap());
    }
    drop(stream);
    // While nobody listens nothing is looked at; who comes back hears of it all the same.
    until(Duration::from_secs(30), "the stream is closed", || api.state.watch.events.count() == 0);
    api.enqueue(r#"{"task": "thumbnail"}"#);
    let mut again = open(&api, events[0].id.as_deref());
    for event in &events[1..] {
        assert_eq!(again.next().as_ref(), Some(event), "what came after the first is sent again");
    }
    let task = again.until("the other task", |event| event.name == "task").json();
    assert_eq!(task["name"], "thumbnail");
    for (last, reason) in [
        ("", "is none of a stream"),
        ("x", "is none of a stream"),
        ("ffffffffff-3", "another node's"),
        (&format!("{}9999", events[0].id.as_deref().unwrap()), "is none of a stream"),
    ] {
        let first = open(&api, Some(last)).next().unwrap();
        assert_eq!(first.name, "reset", "{last:?}");
        assert!(first.json()["reason"].as_str().unwrap().contains(reason), "{last:?}: {first:?}");
    }
}

#[test]
fn streams_are_bounded_and_end_with_a_reason() {
    let database = TestDatabase::new(house::Backend::Sqlite).unwrap();
    let api = Api::start(&database);
    problem(&api.send("GET", "/api/v1/events", &[], ""), 401, "unauthenticated");
    problem(&api.with(READ, "GET", "/api/v1/events?task=t", ""), 400, "unknown_parameter");
    let mut streams: Vec<_> = (0..64).map(|_| open(&api, None)).collect();
    let refused = api.with(READ, "GET", "/api/v1/events", "");
    problem(&refused, 503, "too_many_streams");
    assert_eq!(refused.header("retry-after"), Some("5"));
    streams.pop();
    until(Duration::from_secs(30), "a closed stream gives its place back", || api.state.watch.events.count() == 63);
    let mut one = open(&api, None);

    api.tokens.replace(&[token(Role::Read, READ), token(Role::Admin, ADMIN)]);
    api.enqueue(r#"{"task": "t"}"#);
    let end = one.until("its end", |event| event.name == "end");
    assert!(end.json()["reason"].as_str().unwrap().contains("tokens"), "{end:?}");
    assert_eq!((one.next(), end.id), (None, None));

    let mut one = open(&api, None);
    api.state.watch.events.close();
    let end = one.until("its end", |event| event.name == "end");
    assert_eq!(end.json()["reason"], "the node stops");
    assert_eq!(one.next(), None);
    problem(&api.with(READ, "GET", "/api/v1/events", ""), 503, "not_ready");
}

#[test]
fn a_silent_stream_has_a_heartbeat() {
    if !full() {
        return;
    }
    let database = TestDatabase::new(house::Backend::Sqlite).unwrap();
    let api = Api::start(&database);
    let mut stream = begun(&api);
    let start = std::time::Instant::now();
    while stream.line().unwrap().unwrap() != ":" {}
    assert!((10..20).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());
}
