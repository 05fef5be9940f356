//! `soloist demo`: every row exactly once though nodes are killed, a broken claim noticed, nothing left behind.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use house::{Backend, TestDatabase, numbers, on_every_backend, soloist, until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

const LIMIT: Duration = Duration::from_secs(60);

on_every_backend!(
    each_row_is_worked_once_though_nodes_are_killed,
    a_broken_claim_is_noticed,
    an_installation_that_was_there_stays,
);

/// The demo, with a temporary directory of its own.
fn demo(temporary: &Path, arguments: &[&str]) -> Command {
    let mut command = soloist();
    command.arg("demo").args(arguments).env("TMPDIR", temporary).current_dir(temporary).stdin(Stdio::null());
    command
}

fn on(database: &TestDatabase, arguments: &[&str], change: impl FnOnce(&mut Command)) -> Output {
    let temporary = tempfile::tempdir().unwrap();
    let url = database.url();
    let mut command = demo(temporary.path(), &[&["--json", "--database", &url], arguments].concat());
    change(&mut command);
    let output = command.output().unwrap();
    assert_nothing_is_left(temporary.path());
    output
}

#[track_caller]
fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// Neither a file nor a process that was told of one.
#[track_caller]
fn assert_nothing_is_left(temporary: &Path) {
    let files: Vec<_> = fs::read_dir(temporary).unwrap().flatten().map(|entry| entry.path()).collect();
    assert!(files.is_empty(), "{files:?}");
    assert_eq!(processes_of(temporary), Vec::<String>::new());
}

/// The command lines of processes that name a file in this directory; the demo's own does not.
fn processes_of(directory: &Path) -> Vec<String> {
    let name = directory.display().to_string();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|process| fs::read_to_string(process.path().join("cmdline")).ok());
    lines.filter(|line| line.contains(&name)).map(|line| line.replace('\0', " ")).collect()
}

fn each_row_is_worked_once_though_nodes_are_killed(database: &TestDatabase) {
    let rows = numbers(400, 20_000);
    let output = on(database, &["--entries", &rows.to_string(), "--kill"], |_| {});
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let told = json(&output);
    assert_eq!((&told["calls"], &told["doubled"], &told["lost"]), (&rows.into(), &0.into(), &0.into()), "{told}");
    assert_eq!((&told["exactly_once"], &told["nodes"]), (&true.into(), &3.into()), "{told}");
    assert!(told["kills"].as_i64().unwrap() >= 1, "{told}");
    let firings = &told["firings"];
    assert_eq!((&firings["due"], &firings["doubled"]), (&firings["fired"], &0.into()), "{told}");
    assert!(database.try_sql("SELECT count(*) FROM soloist_nodes").is_err(), "its tables are gone");
}

fn a_broken_claim_is_noticed(database: &TestDatabase) {
    let output = on(database, &["--entries", "400"], |command| {
        command.env("SOLOIST_BREAK", "no_claim");
    });
    let told = json(&output);
    assert_eq!((output.status.code(), &told["exactly_once"]), (Some(1), &false.into()), "{output:?}");
    assert!(told["doubled"].as_i64().unwrap() > 0, "{told}");
    assert_eq!(told["lost"], 0, "{told}");
}

fn an_installation_that_was_there_stays(database: &TestDatabase) {
    let url = database.url();
    let run = |arguments: &[&str]| soloist().args(arguments).env("DATABASE_URL", &url).output().unwrap();
    assert!(run(&["migrate"]).status.success());
    assert!(run(&["enqueue", "mail", "--key", "7"]).status.success());
    let trigger = "SELECT count(*) FROM pg_trigger WHERE tgname = 'soloist_wake'";
    if database.backend() == Backend::Postgres {
        // As wake = "poll" has it.
        database.sql("DROP TRIGGER IF EXISTS soloist_wake ON soloist_entries");
    }
    let output = on(database, &["--entries", "50", "--nodes", "2"], |_| {});
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    if database.backend() == Backend::Postgres {
        assert_eq!(database.number(trigger), 0, "the trigger that was taken away stays away");
    }
    assert_eq!(database.value("SELECT task FROM soloist_entries").as_deref(), Some("mail"));
    for table in ["nodes", "sweeps", "minutes", "tasks", "declarations", "schedules", "firings"] {
        assert_eq!(database.number(&format!("SELECT count(*) FROM soloist_{table}")), 0, "{table}");
    }
}

#[test]
fn it_works_with_nothing_installed() {
    let temporary = tempfile::tempdir().unwrap();
    let output = demo(temporary.path(), &["--entries", "120", "--nodes", "2"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.starts_with("120 rows, 2 nodes, "), "{said}");
    assert!(said.contains("120 handler calls in the log: every row exactly once"), "{said}");
    let shown = String::from_utf8(output.stderr).unwrap();
    assert!(shown.starts_with("2 nodes (processes of this binary), one SQLite file, 120 rows"), "{shown}");
    assert!(shown.contains("120 of 120"), "plain lines where nobody watches: {shown}");
    assert_nothing_is_left(temporary.path());
}

#[test]
fn what_is_kept_can_be_looked_at() {
    let temporary = tempfile::tempdir().unwrap();
    let output = demo(temporary.path(), &["--entries", "30", "--keep", "--json"]).output().unwrap();
    let told = json(&output);
    let directory = Path::new(told["directory"].as_str().unwrap());
    assert!(directory.starts_with(temporary.path()) && directory.join("demo.db").is_file(), "{told}");
    let config = directory.join("soloist.toml");
    let listed = soloist().args(["tasks", "list", "--json", "--config"]).arg(config).output().unwrap();
    let listed = json(&listed)["items"][0].clone();
    assert_eq!((&listed["name"], &listed["completed"]), (&"orders".into(), &30.into()), "{listed}");
    assert_eq!(processes_of(temporary.path()), Vec::<String>::new());
}

#[test]
fn what_makes_no_sense_is_refused() {
    let temporary = tempfile::tempdir().unwrap();
    for arguments in [&["--entries", "0"][..], &["--nodes", "0"], &["--database", "sqlite::memory:"]] {
        let output = demo(temporary.path(), arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
    }
    assert_nothing_is_left(temporary.path());
}

/// A demo that has rows for a long time, as soon as some are worked.
fn begun(temporary: &Path) -> Child {
    let mut child = demo(temporary, &["--entries", "200000"]);
    let mut child = child.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("200,000 rows"));
    std::thread::spawn(move || lines.for_each(drop));
    until(LIMIT, "three nodes run", || processes_of(temporary).len() == 3);
    child
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_raw(child.id().cast_signed()).unwrap(), signal).unwrap();
}

#[test]
fn control_c_leaves_nothing_behind() {
    let temporary = tempfile::tempdir().unwrap();
    let mut child = begun(temporary.path());
    signal(&child, Signal::INT);
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert_nothing_is_left(temporary.path());
}

#[test]
fn no_node_outlives_a_demo_that_is_killed() {
    let temporary = tempfile::tempdir().unwrap();
    let mut child = begun(temporary.path());
    signal(&child, Signal::KILL);
    child.wait().unwrap();
    until(LIMIT, "the kernel has ended the nodes", || processes_of(temporary.path()).is_empty());
}
