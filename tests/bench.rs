//! `soloist bench`, the real binary with small numbers, on every backend: its figures, and that nothing stays behind.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::process::{Command, Stdio};
use std::time::Duration;

use house::{Signal, TestDatabase, on_every_backend, soloist, until};
use serde_json::Value;

on_every_backend!(
    figures_are_measured_and_nothing_stays,
    several_nodes_drain_together,
    every_kind_of_task_is_drained,
    what_a_killed_run_left_is_taken_away,
    an_interrupted_run_takes_its_entries_away,
);

fn bench(database: &TestDatabase, arguments: &[&str]) -> Command {
    let mut command = soloist();
    command.args(["--json", "bench"]).args(arguments).env("DATABASE_URL", database.url());
    command.current_dir(std::env::temp_dir());
    command
}

#[track_caller]
fn migrate(database: &TestDatabase) {
    let mut command = soloist();
    command.args(["migrate", "up"]).env("DATABASE_URL", database.url()).current_dir(std::env::temp_dir());
    assert!(command.stdout(Stdio::null()).status().unwrap().success());
}

#[track_caller]
fn figures(mut command: Command) -> Value {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[track_caller]
fn nothing_is_left(database: &TestDatabase) {
    for table in ["entries", "attempts", "nodes", "declarations", "tasks", "minutes", "schedules", "firings"] {
        assert_eq!(database.number(&format!("SELECT count(*) FROM soloist_{table}")), 0, "{table}");
    }
}

fn figures_are_measured_and_nothing_stays(database: &TestDatabase) {
    migrate(database);
    let figures = figures(bench(database, &["--entries", "2000"]));
    for key in
        ["enqueue_per_s", "drain_per_s", "limit_per_s", "start_ms_p50", "start_ms_p99", "lateness_ms_p99", "rss_mb"]
    {
        assert!(figures[key].as_f64().is_some_and(|figure| figure > 0.0), "{key}: {figures}");
    }
    assert!(figures["start_ms_p50"].as_f64() <= figures["start_ms_p99"].as_f64(), "{figures}");
    nothing_is_left(database);
}

fn several_nodes_drain_together(database: &TestDatabase) {
    migrate(database);
    let figures = figures(bench(database, &["--entries", "3000", "--nodes", "3"]));
    assert_eq!(figures["nodes"], 3);
    assert!(figures["drain_per_s"].as_f64().is_some_and(|figure| figure > 0.0), "{figures}");
    nothing_is_left(database);
}

fn every_kind_of_task_is_drained(database: &TestDatabase) {
    migrate(database);
    for kind in ["sql", "hook"] {
        let figures = figures(bench(database, &["--entries", "200", "--task", kind]));
        assert!(figures["drain_per_s"].as_f64().is_some_and(|figure| figure > 0.0), "{kind}: {figures}");
    }
    nothing_is_left(database);
}

fn has_entries(database: &TestDatabase) -> bool {
    database.number("SELECT count(*) FROM soloist_entries WHERE task LIKE 'soloist-bench-%.limit'") > 0
}

fn what_a_killed_run_left_is_taken_away(database: &TestDatabase) {
    migrate(database);
    database.sql("INSERT INTO soloist_entries (task) VALUES ('soloist-bench-mine')");
    let mut command = bench(database, &["--entries", "50000"]);
    let mut killed = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until(Duration::from_secs(60), "entries of the bench are there", || has_entries(database));
    killed.kill().unwrap();
    killed.wait().unwrap();
    // Its node would live for the length of a lease.
    database.sql("UPDATE soloist_nodes SET lease_until = 1");
    figures(bench(database, &["--entries", "10"]));
    assert!(!has_entries(database));
    assert_eq!(database.number("SELECT count(*) FROM soloist_entries"), 1, "an entry of somebody else stays");
    database.sql("DELETE FROM soloist_entries");
    nothing_is_left(database);
}

fn an_interrupted_run_takes_its_entries_away(database: &TestDatabase) {
    migrate(database);
    let mut command = bench(database, &["--entries", "50000"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until(Duration::from_secs(60), "entries of the bench are there", || has_entries(database));
    let pid = rustix::process::Pid::from_raw(child.id().cast_signed()).unwrap();
    rustix::process::kill_process(pid, Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    nothing_is_left(database);
}
