//! Failures and what follows them, at a real node: how long is waited, what is final, what odd bytes do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "nodes/ask.rs"]
mod ask;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use ask::{config, insert, insert_with, now, shown, state, until_count, until_state};
use house::{Answer, Backend, Hook, Node, TestDatabase, numbers, on_every_backend, until};
use serde_json::json;

on_every_backend!(
    a_late_attempt_waits_no_longer_than_the_most,
    the_receivers_wish_is_kept,
    what_is_final_is_called_once,
    redirects_are_never_followed,
    odd_bytes_are_recorded,
);

const MINUTE: i64 = 60_000_000;

fn a_late_attempt_waits_no_longer_than_the_most(database: &TestDatabase) {
    let hook = Hook::start(|_| 500);
    let tasks = format!(
        "[tasks.t]\nhttp = {{ url = \"{}\" }}\nmax_attempts = 1000\n\
         backoff = {{ first = \"1s\", factor = 10.0, max = \"1h\", jitter = 0.1 }}",
        hook.url("/")
    );
    let _node = Node::start(&config(database, &tasks)).wait_ready();
    let before = now();
    let ids: Vec<_> = [40, 400, 998].map(|n| insert_with(database, "t", "{}", ", attempt", &format!(", {n}"))).to_vec();
    let failed = "SELECT count(*) FROM soloist_attempts WHERE outcome = 'failed'";
    until(ask::LIMIT, "each has failed once more", || database.number(failed) == 3);
    for id in ids {
        let run_at = database.number(&format!("SELECT run_at FROM soloist_entries WHERE id = {id}"));
        assert_eq!(state(database, id), "pending");
        assert!(run_at >= before + 54 * MINUTE, "{} min", (run_at - before) / MINUTE);
        assert!(run_at <= now() + 66 * MINUTE, "{} min", (run_at - before) / MINUTE);
    }
}

/// When each path was called.
type Calls = Arc<Mutex<Vec<(String, Instant, SystemTime)>>>;

fn calls_of(calls: &Calls, path: &str) -> Vec<(Instant, SystemTime)> {
    let calls = calls.lock().unwrap();
    calls.iter().filter(|(called, ..)| called == path).map(|(_, at, clock)| (*at, *clock)).collect()
}

fn the_receivers_wish_is_kept(database: &TestDatabase) {
    let seconds = numbers(2, 5);
    let calls = Calls::default();
    let date = Arc::new(Mutex::new(None));
    let hook = {
        let (calls, date) = (calls.clone(), date.clone());
        Hook::start(move |request| {
            let first = calls_of(&calls, &request.path).is_empty();
            calls.lock().unwrap().push((request.path.clone(), Instant::now(), SystemTime::now()));
            let (status, wish) = match request.path.as_str() {
                _ if !first => return Answer::from(200),
                "/seconds" => (429, seconds.to_string()),
                "/date" => {
                    let at = SystemTime::now() + Duration::from_secs(seconds);
                    *date.lock().unwrap() = Some(at);
                    (503, httpdate::fmt_http_date(at))
                }
                "/absurd" => (503, "99999999999".to_owned()),
                _ => (500, "banana".to_owned()),
            };
            Answer::Full(status, vec![("Retry-After".to_owned(), wish)], "later".to_owned())
        })
    };
    let paths = ["seconds", "date", "absurd", "banana"];
    let tasks: String = paths
        .iter()
        .map(|path| {
            format!(
                "[tasks.{path}]\nhttp = {{ url = \"{}\" }}\nbackoff = {{ first = \"100ms\", factor = 1.0, jitter = 0.0 }}\n",
                hook.url(&format!("/{path}"))
            )
        })
        .collect();
    let node = Node::start(&config(database, &tasks)).wait_ready();
    let ids = paths.map(|path| insert(database, path, "{}"));
    for position in [0, 1, 3] {
        until_state(database, ids[position], "completed");
        assert_eq!(shown(&node, ids[position])["attempt"], 2, "{}", paths[position]);
    }
    let times = calls_of(&calls, "/seconds");
    assert_eq!(times.len(), 2);
    assert!(times[1].0 - times[0].0 >= Duration::from_secs(seconds), "{times:?}");
    let times = calls_of(&calls, "/date");
    let whole = |at: SystemTime| at.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    assert_eq!(times.len(), 2);
    assert!(whole(times[1].1) >= whole(date.lock().unwrap().unwrap()), "{times:?}");
    let times = calls_of(&calls, "/banana");
    assert!(times[1].0 - times[0].0 < Duration::from_secs(2), "plain backoff: {times:?}");

    let run_at = database.number(&format!("SELECT run_at FROM soloist_entries WHERE id = {}", ids[2]));
    let days = (run_at - now()) / (24 * 60 * MINUTE);
    assert_eq!((state(database, ids[2]).as_str(), days), ("pending", 6), "at most 7 days");
    assert_eq!(calls_of(&calls, "/absurd").len(), 1);
}

fn what_is_final_is_called_once(database: &TestDatabase) {
    const FINAL: [u16; 6] = [400, 410, 413, 414, 415, 422];
    const AGAIN: [u16; 6] = [402, 405, 408, 409, 425, 500];
    let hook = Hook::start(|request| request.json()["payload"]["say"].as_u64().unwrap() as u16);
    let tasks = format!(
        "[tasks.t]\nhttp = {{ url = \"{}\" }}\nmax_attempts = 2\n\
         backoff = {{ first = \"10ms\", jitter = 0.0, max = \"10ms\" }}",
        hook.url("/")
    );
    let node = Node::start(&config(database, &tasks)).wait_ready();
    let entry = |status: &u16| (*status, insert(database, "t", &format!("{{\"say\": {status}}}")));
    let (once, twice): (Vec<_>, Vec<_>) = (FINAL.iter().map(entry).collect(), AGAIN.iter().map(entry).collect());
    until_count(database, "t", "failed", 12);
    let calls = |id: i64| hook.received().iter().filter(|request| request.json()["id"] == json!(id)).count();
    for (entries, expected) in [(once, 1), (twice, 2)] {
        for (status, id) in entries {
            assert_eq!(calls(id), expected, "{status}");
            let shown = shown(&node, id);
            assert_eq!(shown["attempt"], expected, "{status}");
            assert!(shown["error"].as_str().unwrap().contains(&status.to_string()), "{shown}");
        }
    }
}

fn redirects_are_never_followed(database: &TestDatabase) {
    let inner = Hook::start(|_| 200);
    let location = inner.url("/secret");
    let hook = {
        let location = location.clone();
        Hook::start(move |request| {
            let status = request.json()["payload"]["say"].as_u64().unwrap() as u16;
            Answer::Full(status, vec![("Location".to_owned(), location.clone())], String::new())
        })
    };
    let tasks = format!("[tasks.t]\nhttp = {{ url = \"{}\" }}", hook.url("/"));
    let node = Node::start(&config(database, &tasks)).wait_ready();
    let entries = [301, 302, 303, 307, 308].map(|say| (say, insert(database, "t", &format!("{{\"say\": {say}}}"))));
    until_count(database, "t", "failed", 5);
    for (status, id) in entries {
        let error = shown(&node, id)["error"].as_str().unwrap().to_owned();
        assert!(error.contains(&status.to_string()) && error.contains(&location), "{error}");
    }
    assert_eq!((hook.count(), inner.count()), (5, 0));
}

fn odd_bytes_are_recorded(database: &TestDatabase) {
    let raw = b"HTTP/1.1 500 Said\r\nContent-Length: 6\r\n\r\na\0b\xff\xf0c".to_vec();
    let hook = Hook::start(move |request| match request.path.as_str() {
        "/raw" => Answer::Raw(raw.clone()),
        _ => Answer::from(200),
    });
    let tasks = format!(
        "[tasks.command]\ncommand = [\"sh\", \"-c\", \"printf 'a\\\\000b\\\\377c'; exit 1\"]\nmax_attempts = 1\n\
         [tasks.done]\ncommand = [\"sh\", \"-c\", \"printf 'a\\\\000b\\\\377c'\"]\n\
         [tasks.hook]\nhttp = {{ url = \"{}\" }}\nmax_attempts = 1\n\
         [tasks.echo]\nhttp = {{ url = \"{}\" }}",
        hook.url("/raw"),
        hook.url("/echo")
    );
    let node = Node::start(&config(database, &tasks)).wait_ready();
    let (command, answered) = (insert(database, "command", "{}"), insert(database, "hook", "{}"));
    let done = insert(database, "done", "{}");
    until_state(database, command, "failed");
    until_state(database, answered, "failed");
    until_state(database, done, "completed");
    let output = |id| shown(&node, id)["attempts"][0]["output"].as_str().unwrap_or_default().to_owned();
    assert_eq!(output(command), "a\u{FFFD}b\u{FFFD}c");
    assert_eq!(output(answered), "a\u{FFFD}b\u{FFFD}\u{FFFD}c");

    let answer = node.api("POST", "/api/v1/entries", r#"{"task":"echo","payload":{"x":"a\u0000b"}}"#);
    if answer.status == 201 {
        let id = answer.json()["id"].as_i64().unwrap();
        until_state(database, id, "completed");
        let sent = hook.received().into_iter().find(|request| request.path == "/echo").unwrap();
        assert_eq!(sent.json()["payload"], json!({"x": "a\0b"}));
    } else {
        assert!((400..500).contains(&answer.status) && answer.body.contains("payload"), "{answer:?}");
    }
}

/// MySQL and MariaDB only: what the database's own character set cannot hold.
#[test]
fn emoji_in_a_database_of_fewer_characters() {
    for set in ["utf8mb3", "latin1"] {
        let Some(database) = TestDatabase::new(Backend::MariaDb) else { return };
        database.sql(&format!("ALTER DATABASE CHARACTER SET {set}"));
        let hook = Hook::start(|request| match request.json()["payload"]["t"].as_str() {
            Some("💥") => Answer::Status(500, "boom 💥".to_owned()),
            _ => Answer::from(200),
        });
        let tasks = format!("[tasks.t]\nhttp = {{ url = \"{}\" }}\nmax_attempts = 1\nconcurrency = 1", hook.url("/"));
        let node = Node::start(&config(&database, &tasks)).wait_ready();
        let bad = insert(&database, "t", r#"{"t": "💥"}"#);
        until_state(&database, bad, "failed");
        let start = Instant::now();
        let next = insert(&database, "t", r#"{"t": "é"}"#);
        until_state(&database, next, "completed");
        assert!(start.elapsed() < Duration::from_millis(1500), "{set}: {:?}", start.elapsed());
        let shown = shown(&node, bad);
        assert_eq!(shown["payload"], json!({"t": "💥"}), "{set}");
        assert_eq!(shown["attempts"][0]["output"], "boom 💥", "{set}");
        assert_eq!(hook.received()[0].json()["payload"], json!({"t": "💥"}), "{set}");
    }
}
