#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
//! The trace of whoever enqueues goes with the entry to its handler, and log lines say which attempt they are of.

#[path = "processes/setting.rs"]
mod setting;

use std::collections::BTreeSet;

use house::{Backend, Hook, Node, TestDatabase, on_every_backend, request, soloist, until};
use serde_json::Value;
use setting::{SOON, config, stop, until_completed};

on_every_backend!(a_trace_goes_from_enqueue_to_handler);

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";

/// Trace, parent and flags of what is a `traceparent`.
#[track_caller]
fn parts(text: &str) -> (String, String, String) {
    let parts: Vec<_> = text.split('-').collect();
    let lengths: Vec<_> = parts.iter().map(|part| part.len()).collect();
    assert_eq!(lengths, [2, 32, 16, 2], "{text:?}");
    assert!(text.chars().all(|c| c == '-' || c.is_ascii_digit() || ('a'..='f').contains(&c)), "{text:?}");
    (parts[1].to_owned(), parts[2].to_owned(), parts[3].to_owned())
}

fn post(node: &Node, path: &str, trace: &[&str], body: &str) -> Value {
    let token = std::fs::read_to_string(node.directory().join("soloist.token")).unwrap();
    let bearer = format!("Bearer {}", token.trim());
    let mut headers = vec![("Authorization", bearer.as_str())];
    headers.extend(trace.iter().map(|trace| ("traceparent", *trace)));
    let answer = request(node.port(), "POST", path, &headers, body).unwrap();
    assert!([201, 202].contains(&answer.status), "{trace:?}: {answer:?}");
    answer.json()
}

fn a_trace_goes_from_enqueue_to_handler(database: &TestDatabase) {
    // The first attempt at each fails.
    let hook = Hook::start(|call| if call.json()["attempt"] == 1 { 500 } else { 200 });
    let tasks = format!(
        "[tasks.hook]\nhttp = {{ url = \"{}\" }}\nbackoff = {{ first = \"0s\" }}\n\
         [tasks.program]\ncommand = [\"sh\", \"-c\", \"echo $TRACEPARENT $TRACESTATE >> traces\"]\n\
         [tasks.outside]\npull = true",
        hook.url("/")
    );
    let mut node = Node::start_with(&config(database, "", "", &tasks), |command| {
        command.env("TRACEPARENT", format!("00-{}-{PARENT}-01", "f".repeat(32))).env("TRACESTATE", "of=the-node");
    })
    .wait_ready();
    let right = format!("00-{TRACE}-{PARENT}-01");
    let unsampled = format!("00-{TRACE}-{PARENT}-00");
    let wrong = format!("00-{TRACE}-{}-01", "0".repeat(16));
    let sent = |trace: &[&str]| post(&node, "/api/v1/entries", trace, r#"{"task": "hook"}"#)["id"].as_i64().unwrap();
    let ids = [sent(&[&right]), sent(&[&unsampled]), sent(&[&wrong]), sent(&[&right, &right]), sent(&["nonsense"])];
    let triggered = post(&node, "/api/v1/tasks/hook/trigger", &[&right], "")["entries"][0].as_i64().unwrap();
    let mut enqueue = soloist();
    enqueue.args(["enqueue", "hook", "--config"]).arg(node.config()).env("TRACEPARENT", &right);
    let typed = String::from_utf8(enqueue.output().unwrap().stdout).unwrap().trim().parse::<i64>().unwrap();
    until_completed(database, "hook", 7);
    let calls: Vec<_> = hook.received();
    let traces = |id: i64| -> Vec<_> {
        let of_entry = calls.iter().filter(|call| call.json()["id"] == id);
        of_entry.map(|call| parts(call.header("traceparent").expect("each call has one"))).collect()
    };
    let mut spans = BTreeSet::from([PARENT.to_owned()]);
    for (id, flags) in [(ids[0], "01"), (ids[1], "00"), (triggered, "01"), (typed, "01")] {
        let traces = traces(id);
        assert_eq!(traces.len(), 2, "two attempts");
        for (trace, parent, own) in traces {
            assert_eq!((trace.as_str(), own.as_str()), (TRACE, flags));
            assert!(spans.insert(parent), "each attempt is a span of its own");
        }
    }
    for id in &ids[2..] {
        let traces = traces(*id);
        assert_ne!(traces[0].0, TRACE, "what is no trace is none");
        assert_ne!(traces[0].0, traces[1].0, "without one each attempt has a new one");
    }
    let kept = database.query("SELECT DISTINCT traceparent FROM soloist_entries WHERE traceparent IS NOT NULL");
    assert_eq!(kept.len(), 2, "{kept:?}");

    post(&node, "/api/v1/entries", &[&right], r#"{"task": "program"}"#);
    until_completed(database, "program", 1);
    let said = std::fs::read_to_string(node.directory().join("traces")).unwrap();
    let (trace, parent, _) = parts(said.trim());
    assert_eq!(trace, TRACE);
    assert!(spans.insert(parent), "a span of its own");

    post(&node, "/api/v1/entries", &[&right], r#"{"task": "outside"}"#);
    let claimed = node.api("POST", "/api/v1/tasks/outside/claim", "{}").json();
    let (trace, parent, _) = parts(claimed["entries"][0]["traceparent"].as_str().unwrap());
    assert_eq!(trace, TRACE);
    assert!(spans.insert(parent), "a span of its own");
    stop(std::slice::from_mut(&mut node));
}

/// The log of a node that works ten entries, of which one is retried and one fails for good.
fn log(level: &str, format: &str) -> String {
    let database = TestDatabase::new(Backend::Sqlite).unwrap();
    let hook = Hook::start(|call| match (call.json()["payload"]["n"].as_i64(), call.json()["attempt"].as_i64()) {
        (Some(1), Some(1)) => 500,
        (Some(2), _) => 422,
        _ => 200,
    });
    let tasks = format!("[tasks.hook]\nhttp = {{ url = \"{}\" }}\nbackoff = {{ first = \"0s\" }}", hook.url("/"));
    let mut node = Node::start_with(&config(&database, "", "name = \"web-1\"", &tasks), |command| {
        command.env("SOLOIST_LOG", level).env("SOLOIST_LOG_FORMAT", format);
    })
    .wait_ready();
    setting::enqueue(&database, "hook", 0..10);
    let ended = "SELECT count(*) FROM soloist_entries WHERE state IN ('completed', 'failed')";
    until(SOON, "all have ended", || database.number(ended) == 10);
    stop(std::slice::from_mut(&mut node));
    node.log()
}

#[test]
fn a_line_of_an_attempt_says_of_which() {
    let log = log("soloist=debug", "json");
    let mut told = BTreeSet::new();
    for line in log.lines() {
        let line: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let span = &line["span"];
        if span["name"] != "attempt" {
            assert!(line["fields"]["entry"].is_null(), "a line of an entry is one of an attempt: {line}");
            continue;
        }
        assert_eq!((&span["node"], &span["task"]), (&"web-1".into(), &"hook".into()), "{line}");
        assert_eq!(span["trace_id"].as_str().map(str::len), Some(32), "{line}");
        told.insert((span["entry"].as_i64().unwrap(), span["attempt"].as_i64().unwrap()));
    }
    assert_eq!(told.len(), 11, "{told:?}");
}

#[test]
fn what_is_not_wanted_is_not_written() {
    let usual = log("info", "text");
    assert!(usual.contains("attempt{") && usual.contains("it failed for good"), "{usual}");
    assert!(!usual.contains("it has ended"), "{usual}");
    let quiet = log("warn", "xml");
    assert!(!quiet.contains("attempt") && quiet.contains("SOLOIST_LOG_FORMAT"), "{quiet}");
}
