//! What Prometheus reads: who may, what it is called, what stands in its labels, and that many readers are one.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use house::{Metrics, TestDatabase, on_every_backend, promtool};
use soloist::http::{DEFINITIONS, Kind};

use super::server::{Api, READ, problem};

on_every_backend!(
    labels_are_bounded,
    what_waits_is_told_by_task,
    many_who_ask_for_the_status_are_one_reader,
    who_has_written_sees_it
);

fn scrape(api: &Api) -> Metrics {
    let response = api.with(READ, "GET", "/metrics", "");
    assert_eq!(response.status, 200, "{response:?}");
    assert!(response.header("content-type").is_some_and(|value| value.starts_with("text/plain; version=0.0.4")));
    promtool(&["check", "metrics"], &response.body);
    Metrics::read(&response.body)
}

#[test]
fn metrics_ask_for_a_token() {
    let database = TestDatabase::new(house::Backend::Sqlite).unwrap();
    let api = Api::start(&database);
    problem(&api.send("GET", "/metrics", &[], ""), 401, "unauthenticated");
    problem(&api.with("wrong", "GET", "/metrics", ""), 401, "unauthenticated");
    problem(&api.with(READ, "POST", "/metrics", ""), 405, "method_not_allowed");
    problem(&api.with(READ, "GET", "/metrics?task=t", ""), 400, "unknown_parameter");
    scrape(&api);
}

#[test]
fn the_documents_list_every_metric() {
    let documents = include_str!("../../docs/operations.md");
    let listed: Vec<_> = documents.lines().filter(|line| line.starts_with("| `soloist_")).collect();
    let wanted = DEFINITIONS.iter().map(|metric| {
        let kind = match metric.kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        format!("| `{}` | {kind} | {} | {} |", metric.name, metric.labels.join(", "), metric.help)
    });
    let wanted: Vec<_> = wanted.collect();
    assert_eq!(listed.join("\n"), wanted.join("\n"), "docs/operations.md, in the order of src/http/metrics");
}

fn labels_are_bounded(database: &TestDatabase) {
    let api = Api::start(database);
    let id = api.enqueue(r#"{"task": "t"}"#);
    database.sql("INSERT INTO soloist_entries (task, payload) VALUES ('made-up', '1'), ('made-up-2', '1')");
    api.get(&format!("/entries/{id}"));
    for path in ["/api/v1/entries/4711", "/api/v1/nowhere/s3cret", "/api/v1/tasks/unheard-of"] {
        api.with(READ, "GET", path, "");
    }
    api.with(READ, "BREW", "/api/v1/entries", "");
    api.send("GET", "/healthz", &[], "");
    let response = api.with(READ, "GET", "/metrics", "");
    for word in ["made-up", "4711", "s3cret", "unheard-of", "BREW", READ] {
        assert!(!response.body.contains(word), "{word} in:\n{}", response.body);
    }
    let metrics = scrape(&api);
    let asked = |method, route, status| {
        let labels = [("method", method), ("route", route), ("status", status)];
        metrics.figure("soloist_http_requests_total", &labels)
    };
    assert_eq!(asked("GET", "/api/v1/entries/{id}", "2xx"), Some(1.0));
    assert_eq!(asked("GET", "/api/v1/entries/{id}", "4xx"), Some(1.0));
    assert_eq!(asked("GET", "(none)", "4xx"), Some(1.0));
    assert_eq!(asked("(other)", "/api/v1/entries", "4xx"), Some(1.0));
    assert_eq!(asked("GET", "/healthz", "2xx"), Some(1.0));
    assert_eq!(asked("GET", "/metrics", "2xx"), Some(1.0));
    assert_eq!(metrics.figure("soloist_undeclared_entries", &[("state", "pending")]), Some(2.0));
    assert_eq!(metrics.figure("soloist_entries_pending", &[("task", "t")]), Some(1.0));
}

fn what_waits_is_told_by_task(database: &TestDatabase) {
    let api = Api::start(database);
    let metrics = scrape(&api);
    assert_eq!(metrics.figure("soloist_database_up", &[]), Some(1.0));
    assert_eq!(metrics.figure("soloist_nodes_living", &[]), Some(1.0));
    assert_eq!(metrics.figure("soloist_oldest_due_seconds", &[("task", "t")]), Some(0.0));
    assert_eq!(metrics.figure("soloist_task_paused", &[("task", "t")]), Some(0.0));
    for body in [r#"{"task": "t"}"#, r#"{"task": "t"}"#, r#"{"task": "t", "run_at": "2100-01-01T00:00:00Z"}"#] {
        api.enqueue(body);
    }
    api.admin("POST", "/tasks/t/pause", "");
    let metrics = scrape(&api);
    let of = |name: &str| metrics.figure(name, &[("task", "t")]);
    assert_eq!((of("soloist_entries_pending"), of("soloist_entries_due")), (Some(3.0), Some(2.0)));
    assert_eq!((of("soloist_entries_running"), of("soloist_task_paused")), (Some(0.0), Some(1.0)));
    assert!(of("soloist_oldest_due_seconds").is_some_and(|age| (0.0..60.0).contains(&age)));
}

#[test]
fn a_database_that_is_away_takes_only_its_own_figures_away() {
    let api = Api::start_on_unreachable("postgres://nobody@127.0.0.1:1/none");
    let metrics = scrape(&api);
    assert_eq!(metrics.figure("soloist_database_up", &[]), Some(0.0));
    assert_eq!(metrics.sum("soloist_node_info"), 1.0);
    assert!(!metrics.families.contains_key("soloist_entries_pending"));
}

fn many_who_ask_for_the_status_are_one_reader(database: &TestDatabase) {
    let api = Api::start(database);
    let start = Instant::now();
    let span = Duration::from_millis(1500);
    let seen: Vec<BTreeSet<String>> = std::thread::scope(|scope| {
        let asking = |_| {
            scope.spawn(|| {
                let mut seen = BTreeSet::new();
                while start.elapsed() < span {
                    let response = api.with(READ, "GET", "/api/v1/status", "");
                    assert_eq!(response.status, 200, "{response:?}");
                    seen.insert(response.json()["as_of"].as_str().unwrap().to_owned());
                }
                seen
            })
        };
        let threads: Vec<_> = (0..16).map(asking).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let looks: BTreeSet<_> = seen.iter().flatten().collect();
    let most = 2 + start.elapsed().as_secs();
    assert!(u64::try_from(looks.len()).unwrap() <= most, "{} looks in {:?}", looks.len(), start.elapsed());
}

fn who_has_written_sees_it(database: &TestDatabase) {
    let api = Api::start(database);
    let paused = |api: &Api| {
        let status = api.get("/status");
        let tasks = status["tasks"].as_array().unwrap().clone();
        tasks.iter().any(|task| task["name"] == "t" && !task["paused"].is_null())
    };
    for _ in 0..3 {
        assert!(!paused(&api));
        assert_eq!(api.admin("POST", "/tasks/t/pause", "").status, 200);
        assert!(paused(&api));
        assert_eq!(api.admin("POST", "/tasks/t/resume", "").status, 200);
    }
}
