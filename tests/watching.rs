#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
//! A real node watched: what it counts of itself, and that watching costs it nothing that matters.

#[path = "processes/setting.rs"]
mod setting;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use house::{EventStream, Hook, Metrics, Node, TestDatabase, numbers, on_every_backend, promtool, request, until};
use serde_json::Value;
use setting::{SOON, config, enqueue, migrate, stop, until_completed};
use soloist::http::DEFINITIONS;

on_every_backend!(a_node_counts_what_it_does, watching_at_full_speed_loses_no_lease_and_delays_no_firing);

fn scrape(node: &Node) -> Metrics {
    let response = node.api("GET", "/metrics", "");
    assert_eq!(response.status, 200, "{response:?}");
    promtool(&["check", "metrics"], &response.body);
    Metrics::read(&response.body)
}

fn a_node_counts_what_it_does(database: &TestDatabase) {
    // One is retried, one fails for good.
    let hook = Hook::start(|call| {
        let call = call.json();
        match (call["payload"]["n"].as_i64(), call["attempt"].as_i64()) {
            (Some(1), Some(1)) => 500,
            (Some(2), _) => 422,
            _ => 200,
        }
    });
    let tasks = format!(
        "[tasks.hook]\nhttp = {{ url = \"{}\" }}\nbackoff = {{ first = \"0s\" }}\n\
         [tasks.idle]\npull = true\n[schedules.often]\ntask = \"idle\"\nevery = \"200ms\"\noverlap = \"allow\"",
        hook.url("/")
    );
    let mut node = Node::start(&config(database, "", "name = \"web-1\"", &tasks)).wait_ready();
    let before = scrape(&node);
    let of = |metrics: &Metrics, name: &str| metrics.figure(name, &[("task", "hook")]);
    assert_eq!(of(&before, "soloist_entries_completed_total"), Some(0.0), "counted from zero on");
    enqueue(database, "hook", 0..10);
    let ended = "SELECT count(*) FROM soloist_entries WHERE task = 'hook' AND state IN ('completed', 'failed')";
    until(SOON, "all have ended", || database.number(ended) == 10);
    let fired = [("schedule", "often"), ("outcome", "fired")];
    let mut metrics = scrape(&node);
    until(SOON, "the node has counted all of it", || {
        metrics = scrape(&node);
        of(&metrics, "soloist_entries_completed_total") == Some(9.0)
            && metrics.figure("soloist_firings_total", &fired).is_some_and(|n| n > 0.0)
            && metrics.figure("soloist_leader", &[]) == Some(1.0)
    });
    for (name, figure) in [
        ("soloist_entries_started_total", 11.0),
        ("soloist_entries_retried_total", 1.0),
        ("soloist_entries_failed_total", 1.0),
        ("soloist_run_seconds_count", 11.0),
        ("soloist_wait_seconds_count", 11.0),
        ("soloist_claims_lost_total", 0.0),
    ] {
        assert_eq!(of(&metrics, name), Some(figure), "{name}");
    }
    let late = metrics.figure("soloist_firing_lateness_seconds_count", &[]);
    assert_eq!(late, metrics.figure("soloist_firings_total", &fired), "each firing has its lateness");
    assert!(metrics.figure("soloist_pool_connections_max", &[("pool", "work")]).is_some_and(|most| most > 1.0));
    assert!(metrics.sum("soloist_pool_wait_seconds_count") > 0.0);
    let absent: Vec<_> = DEFINITIONS.iter().filter(|one| !metrics.families.contains_key(one.name)).collect();
    assert!(absent.iter().all(|one| one.name == "soloist_duty_failures_total"), "{absent:?}");
    stop(std::slice::from_mut(&mut node));
}

/// Sixteen clients ask without a pause while entries drain, under a short lease, and a schedule fires all the time.
fn watching_at_full_speed_loses_no_lease_and_delays_no_firing(database: &TestDatabase) {
    let entries = numbers(2_000, 20_000);
    migrate(database);
    database.sql("CREATE TABLE effects (entry BIGINT)");
    enqueue(database, "work", 0..entries);
    let tasks = "[tasks.work]\nsql = \"INSERT INTO effects (entry) VALUES (:entry_id)\"\ntransaction = false\n\
                 concurrency = 4\n[tasks.idle]\npull = true\n\
                 [schedules.often]\ntask = \"idle\"\nevery = \"250ms\"\noverlap = \"allow\"";
    let mut node = Node::start(&config(database, "", "lease = \"3s\"", tasks)).wait_ready();
    let token = std::fs::read_to_string(node.directory().join("soloist.token")).unwrap();
    let bearer = format!("Bearer {}", token.trim());
    let (done, asked) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for client in 0..16 {
            let (port, bearer, done, asked) = (node.port(), &bearer, &done, &asked);
            scope.spawn(move || {
                let path = if client % 4 == 0 { "/metrics" } else { "/api/v1/status" };
                while !done.load(Ordering::Relaxed) {
                    let answer = request(port, "GET", path, &[("Authorization", bearer)], "").expect("an answer");
                    assert_eq!(answer.status, 200, "{path}: {answer:?}");
                    asked.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        // Ends the clients also if this thread fails.
        struct Over<'a>(&'a AtomicBool);
        impl Drop for Over<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let _over = Over(&done);
        until_completed(database, "work", entries);
        // As long as the entries of a quick run are too few to say anything.
        until(SOON, "20 firings while all ask", || {
            database.number("SELECT count(*) FROM soloist_firings WHERE outcome = 'fired'") >= 20
        });
    });
    let metrics = scrape(&node);
    let firings: Vec<Value> =
        node.api("GET", "/api/v1/firings?limit=500", "").json()["items"].as_array().unwrap().clone();
    stop(std::slice::from_mut(&mut node));
    println!("{} requests while {entries} entries drained", asked.load(Ordering::Relaxed));
    let log = node.log();
    for bad in ["gives up its claims", "could not be renewed", "claims were lost", "lease ended"] {
        assert!(!log.contains(bad), "{bad}:\n{log}");
    }
    assert_eq!(metrics.sum("soloist_claims_lost_total"), 0.0);
    assert_eq!(database.number("SELECT count(*) FROM soloist_nodes"), 1, "one incarnation");
    assert_eq!(database.number("SELECT count(DISTINCT entry) FROM effects"), entries as i64);
    assert_eq!(database.number("SELECT count(*) FROM effects"), entries as i64);
    let mut late: Vec<_> = firings.iter().filter_map(|firing| firing["late_ms"].as_f64()).collect();
    late.sort_by(f64::total_cmp);
    let (median, latest) = (late[late.len() / 2], late[late.len() - 1]);
    println!("{} firings, median {median} ms late, the latest {latest} ms", late.len());
    assert!(median < 100.0 && latest < Duration::from_secs(2).as_millis() as f64, "{late:?}");
    assert!(firings.iter().all(|firing| firing["outcome"] == "fired"), "{firings:?}");
}

/// The names of metrics in a text, without what a histogram adds to them.
fn named(text: &str) -> BTreeSet<&str> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = text.split(|c| !word(c)).filter(|word| word.starts_with("soloist_"));
    words.map(|name| name.strip_suffix("_bucket").unwrap_or(name)).collect()
}

#[test]
fn dashboard_and_alerts_ask_for_metrics_that_there_are() {
    let known: BTreeSet<_> = DEFINITIONS.iter().map(|one| one.name).collect();
    let (dashboard, alerts) = (include_str!("../docs/grafana/soloist.json"), include_str!("../docs/alerts.yml"));
    let dashboard: Value = serde_json::from_str(dashboard).unwrap();
    let expressions = |panel: &Value| -> Vec<String> {
        let targets = panel["targets"].as_array().unwrap();
        targets.iter().map(|target| target["expr"].as_str().unwrap().to_owned()).collect()
    };
    let asked = dashboard["panels"].as_array().unwrap().iter().flat_map(expressions).collect::<Vec<_>>().join("\n");
    for (what, text) in [("the dashboard", asked.as_str()), ("the alerts", alerts)] {
        let unknown: Vec<_> = named(text).difference(&known).copied().collect();
        assert!(unknown.is_empty(), "{what} asks for {unknown:?}");
    }
    // AGE tells how old the others are, which a picture shows by itself.
    let shown = named(&asked);
    let forgotten: Vec<_> = known.iter().filter(|name| !shown.contains(*name)).collect();
    assert_eq!(forgotten, [&"soloist_entries_started_total", &"soloist_status_age_seconds"], "in no picture");
    promtool(&["check", "rules", concat!(env!("CARGO_MANIFEST_DIR"), "/docs/alerts.yml")], "");
}

#[test]
fn a_node_that_stops_ends_its_streams() {
    let database = TestDatabase::new(house::Backend::Sqlite).unwrap();
    let mut node = Node::start(&config(&database, "", "", "[tasks.idle]\npull = true")).wait_ready();
    let token = std::fs::read_to_string(node.directory().join("soloist.token")).unwrap();
    let bearer = format!("Bearer {}", token.trim());
    let mut stream = EventStream::open(node.port(), "/api/v1/events", &[("Authorization", &bearer)]).expect("a stream");
    assert_eq!(stream.next().unwrap().name, "reset");
    let start = Instant::now();
    stop(std::slice::from_mut(&mut node));
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    let end = stream.until("the end", |event| event.name == "end");
    assert_eq!(end.json()["reason"], "the node stops");
    assert_eq!(stream.next(), None);
}
