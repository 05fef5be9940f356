//! The real binary, as people type it, on every backend.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "cli/changes.rs"]
mod changes;
#[path = "cli/schedules.rs"]
mod schedules;

use std::io::{Read, Write};
use std::process::{Command, Stdio};

use house::{TestDatabase, on_every_backend, soloist};
use serde_json::Value;

on_every_backend!(
    migrations_go_up_and_down,
    an_entry_is_accepted_and_steered,
    lines_are_accepted_all_or_none,
    entries_are_changed_in_bulk,
    tasks_are_paused_and_resumed,
    status_says_what_is_wrong,
);

/// What a command said and how it ended.
#[derive(Debug)]
struct Said {
    out: String,
    err: String,
    code: i32,
}

impl Said {
    #[track_caller]
    fn ok(self) -> String {
        assert_eq!(self.code, 0, "{self:?}");
        self.out
    }

    #[track_caller]
    fn json(self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    #[track_caller]
    fn fails(self, code: i32, words: &str) -> Self {
        assert_eq!(self.code, code, "{self:?}");
        assert!(self.err.contains(words), "{words:?} is not in {self:?}");
        self
    }
}

fn finish(mut command: Command, input: &str) -> Said {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A command that refuses its arguments reads nothing.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Said { out: text(output.stdout), err: text(output.stderr), code: output.status.code().expect("no signal") }
}

fn run_with(database: &TestDatabase, arguments: &[&str], input: &str) -> Said {
    let mut command = soloist();
    let empty = std::env::temp_dir();
    command.args(arguments).env("DATABASE_URL", database.url()).env("USER", "ivo").current_dir(empty);
    finish(command, input)
}

fn run(database: &TestDatabase, arguments: &[&str]) -> Said {
    run_with(database, arguments, "")
}

fn migrated(database: &TestDatabase) {
    run(database, &["migrate"]).ok();
}

fn enqueue(database: &TestDatabase, arguments: &[&str]) -> i64 {
    run(database, &[&["enqueue"], arguments].concat()).ok().trim().parse().unwrap()
}

/// A living node that declares the tasks `mail` and `thumbnail`.
fn living_node(database: &TestDatabase) {
    database.sql(
        "INSERT INTO soloist_nodes (id, name, roles, version, started_at, seen_at, lease_until) \
         VALUES (3, 'web-1', 'scheduler,worker', '1.0', 0, 4000000000000000, 4000000000000000); \
         INSERT INTO soloist_declarations (node_id, kind, name, body, declared_at) \
         VALUES (3, 'task', 'mail', '{\"handler\":\"http\",\"max_attempts\":3,\"concurrency\":8}', 1); \
         INSERT INTO soloist_declarations (node_id, kind, name, body, declared_at) \
         VALUES (3, 'task', 'thumbnail', '{\"handler\":\"sql\",\"max_attempts\":5}', 1)",
    );
}

fn migrations_go_up_and_down(database: &TestDatabase) {
    run(database, &["entries", "list"]).fails(2, "soloist migrate");
    let applied = run(database, &["--json", "migrate", "up"]).json();
    let names: Vec<_> = applied["applied"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    assert!(names.len() >= 10 && names[0] == "0001_entries", "{names:?}");
    assert!(run(database, &["migrate"]).ok().starts_with("Nothing to do"));
    let steps = run(database, &["migrate", "status", "--json"]).json();
    assert!(steps.as_array().unwrap().iter().all(|step| step["applied"] == true), "{steps}");
    run(database, &["migrate", "down"]).fails(2, "--yes");
    living_node(database);
    run(database, &["migrate", "down", "--yes"]).fails(1, "web-1");
    database.sql("UPDATE soloist_nodes SET stopped_at = 1");
    run(database, &["migrate", "down", "--yes"]).ok();
    assert!(database.try_sql("SELECT * FROM soloist_entries").is_err());
    assert!(run(database, &["migrate", "status"]).ok().contains("0001_entries  "), "a table");
    migrated(database);
}

fn an_entry_is_accepted_and_steered(database: &TestDatabase) {
    migrated(database);
    let payload = r#"{"n": 12345678901234567890.10}"#;
    let id = enqueue(database, &["mail", "--payload", payload, "--key", "7", "--priority", "-3", "--in", "1h"]);
    let shown = run(database, &["entries", "show", &id.to_string(), "--json"]).ok();
    assert!(shown.contains(&format!("\"payload\":{payload}")), "{shown}");
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!((&shown["key"], &shown["priority"]), (&"7".into(), &(-3).into()));
    run(database, &["enqueue", "mail", "--key", "7"]).fails(1, &format!("held by entry {id}"));
    let at = run(database, &["enqueue", "mail", "--at", "2100-01-01T01:00:00+01:00", "--json"]).json();
    let at = run(database, &["entries", "show", &at["id"].to_string(), "--json"]).json();
    assert_eq!((&at["run_at"], &at["payload"]), (&"2100-01-01T00:00:00Z".into(), &Value::Null));
    let read = run_with(database, &["enqueue", "mail", "--payload", "-"], "[1]\n").ok();
    let payload = database.value(&format!("SELECT payload FROM soloist_entries WHERE id = {}", read.trim()));
    assert_eq!(payload.as_deref().map(str::trim), Some("[1]"));

    for (arguments, words) in [
        (&["enqueue", "ma il"][..], "task:"),
        (&["enqueue", "mail", "--payload", "{'a'}"], "payload: it is not JSON"),
        (&["enqueue", "mail", "--payload", "@/nowhere.json"], "/nowhere.json cannot be read"),
        (&["enqueue", "mail", "--priority", "10"], "--priority"),
        (&["enqueue", "mail", "--at", "tomorrow"], "2027-01-01T00:00:00Z"),
        (&["enqueue", "mail", "--in", "5x"], "500ms, 30s"),
        (&["enqueue", "mail", "--in", "5s", "--at", "2027-01-01T00:00:00Z"], "cannot be used with"),
        (&["entries", "retry"], "say which entries"),
        (&["entries", "delete", "1", "--task", "mail"], "cannot be used with"),
        (&["entries", "list", "--state", "broken"], "possible values: pending"),
    ] {
        run(database, arguments).fails(2, words);
    }
    assert_eq!(database.number("SELECT count(*) FROM soloist_entries"), 3);

    let list = run(database, &["entries", "list", "--task", "mail", "--limit", "2", "--json"]).json();
    assert_eq!(list["items"].as_array().unwrap().len(), 2);
    let cursor = list["next_cursor"].as_str().unwrap();
    let rest = run(database, &["entries", "list", "--limit", "2", "--json", "--cursor", cursor]).json();
    assert_eq!((&rest["items"][0]["id"], &rest["next_cursor"]), (&id.into(), &Value::Null));
    let table = run(database, &["entries", "list"]).ok();
    assert!(table.starts_with("ID  TASK  STATE    ATTEMPT") && table.lines().count() == 4, "{table}");
    assert!(!table.contains('\u{1b}'));

    let id = id.to_string();
    let text = run(database, &["entries", "show", &id]).ok();
    assert!(text.ends_with("\nWaits: no living node knows `mail`.\n"), "{text}");
    run(database, &["entries", "retry", &id]).fails(1, "is pending: only failed, cancelled ones can be retried");
    assert_eq!(run(database, &["entries", "cancel", &id]).ok(), format!("entry {id} is cancelled\n"));
    run(database, &["entries", "retry", &id]).ok();
    database.sql(&format!("UPDATE soloist_entries SET run_at = 4000000000000000 WHERE id = {id}"));
    assert_eq!(run(database, &["entries", "run-now", &id]).ok(), format!("entry {id} is made due\n"));
    assert!(database.number(&format!("SELECT run_at FROM soloist_entries WHERE id = {id}")) < 3_000_000_000_000_000);
    let error = run(database, &["entries", "delete", &id, "99999", "--json"]);
    assert_eq!(error.code, 1);
    assert!(error.err.contains(r#""code":"not_found""#), "{error:?}");
    assert_eq!(error.json()["changed"], 1);
    run(database, &["entries", "show", &id]).fails(1, "there is no entry");
}

fn lines_are_accepted_all_or_none(database: &TestDatabase) {
    migrated(database);
    let lines: String = (0..1500).map(|n| format!("{{\"id\": {n}}}\n")).collect();
    let ids = run_with(database, &["enqueue", "mail", "--lines", "--json"], &lines).json();
    assert_eq!(ids["entries"].as_array().unwrap().len(), 1500);
    let last = &ids["entries"][1499];
    let payload = database.value(&format!("SELECT payload FROM soloist_entries WHERE id = {last}"));
    assert_eq!(payload.as_deref(), Some("{\"id\": 1499}"));
    let bad = format!("{lines}{{\"id\": }}\n{lines}");
    run_with(database, &["enqueue", "mail", "--lines"], &bad).fails(2, "line 1501").fails(2, "payload");
    assert_eq!(database.number("SELECT count(*) FROM soloist_entries"), 1500);
    assert_eq!(run_with(database, &["enqueue", "mail", "--lines"], "").ok(), "");

    // Much is printed, and the reader goes away after the first line.
    let mut command = soloist();
    command.args(["entries", "list", "--limit", "500", "--json"]).env("DATABASE_URL", database.url());
    command.current_dir(std::env::temp_dir()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut first = [0; 10];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

fn entries_are_changed_in_bulk(database: &TestDatabase) {
    migrated(database);
    run_with(database, &["enqueue", "mail", "--lines"], "1\n2\n3\n").ok();
    enqueue(database, &["other"]);
    database
        .sql("UPDATE soloist_entries SET state = 'failed', finished_at = created_at - 7200000000 WHERE payload <> '1'");
    let failed = ["--task", "mail", "--state", "failed"];
    let dry = run(database, &[&["entries", "retry", "--dry-run"], &failed[..]].concat()).ok();
    assert_eq!(dry, "2 of 2 would be retried.\n");
    let done = run(database, &[&["entries", "retry", "--json"], &failed[..]].concat()).json();
    assert_eq!((&done["matched"], &done["changed"], &done["left_out"]), (&2.into(), &2.into(), &0.into()));
    assert_eq!(run(database, &["entries", "cancel", "--task", "mail"]).ok(), "3 of 3 cancelled.\n");
    assert_eq!(run(database, &["entries", "delete", "--older-than", "1h"]).ok(), "1 of 1 deleted.\n");
    assert_eq!(run(database, &["entries", "retry", "--task", "nobody"]).ok(), "0 of 0 retried.\n");
    assert_eq!(database.number("SELECT count(*) FROM soloist_entries WHERE state = 'cancelled'"), 3);
}

fn tasks_are_paused_and_resumed(database: &TestDatabase) {
    migrated(database);
    run(database, &["tasks", "pause", "anything"]).ok();
    run(database, &["tasks", "resume", "anything"]).ok();
    living_node(database);
    run(database, &["tasks", "pause", "mial"]).fails(1, "the nearest is “mail”");
    run(database, &["tasks", "show", "mial"]).fails(1, "the nearest is “mail”");
    run(database, &["tasks", "trigger", "mial"]).fails(1, "the nearest is “mail”");
    run(database, &["tasks", "pause", "mail", "--reason", "SMTP <quota>"]).ok();
    assert!(run(database, &["tasks", "pause", "mail"]).ok().contains("already"));
    let task = run(database, &["tasks", "show", "mail", "--json"]).json();
    assert_eq!((&task["paused"]["by"], &task["paused"]["reason"]), (&"ivo".into(), &"SMTP <quota>".into()));
    assert_eq!((&task["max_attempts"], &task["declared_by"]), (&3.into(), &serde_json::json!(["web-1"])));
    assert!(run(database, &["tasks", "list"]).ok().contains("paused"));
    assert_eq!(run(database, &["tasks", "resume", "mail"]).ok(), "mail goes on.\n");
    let triggered = run(database, &["tasks", "trigger", "mail", "--payload", "{\"full\":true}", "--json"]).json();
    let id = &triggered["entries"][0];
    let payload = database.value(&format!("SELECT payload FROM soloist_entries WHERE id = {id}"));
    assert_eq!(payload.as_deref(), Some("{\"full\":true}"));
    database
        .sql("UPDATE soloist_declarations SET body = '{\"source\":true,\"handler\":\"sql\"}' WHERE name = 'thumbnail'");
    run(database, &["tasks", "trigger", "thumbnail", "--payload", "1"]).fails(2, "has a source");
    let sweep = run(database, &["tasks", "trigger", "thumbnail", "--json"]).json();
    assert_eq!(database.number("SELECT id FROM soloist_sweeps WHERE task = 'thumbnail'"), sweep["sweep"]);
    let note = run(database, &["enqueue", "mial"]);
    assert!(note.err.contains("no living node declares the task “mial”; the nearest is “mail”"), "{note:?}");
    note.ok();
    let names: Vec<_> = run(database, &["tasks", "list", "--json"]).json()["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|task| format!("{} {}", task["name"].as_str().unwrap(), task["due"]))
        .collect();
    assert_eq!(names, ["mail 1", "mial 1", "thumbnail 0"], "one that was known only for its pause is gone with it");
}

fn status_says_what_is_wrong(database: &TestDatabase) {
    migrated(database);
    assert!(run(database, &["status"]).ok().starts_with("No node is running, and no entry is due.\n"));
    enqueue(database, &["mail"]);
    let stopped = run(database, &["status", "--fail-on", "stopped"]);
    assert_eq!(stopped.code, 1);
    let first = "STOPPED No node is working: 1 entry is due and nothing starts it.\n";
    assert!(stopped.out.starts_with(first), "{}", stopped.out);
    living_node(database);
    enqueue(database, &["thumbnial"]);
    database.sql(
        "UPDATE soloist_entries SET state = 'failed', finished_at = created_at, key_held = 0, attempt = 3, \
         error = '550 no mailbox 7' WHERE task = 'mail'; \
         INSERT INTO soloist_leases (name, node_id, since, lease_until) VALUES ('scheduler', 3, 5, 4000000000000000)",
    );
    run(database, &["tasks", "pause", "thumbnail"]).ok();
    let status = run(database, &["status", "--json"]).json();
    let problems = status["problems"].as_array().unwrap();
    let codes: Vec<_> = problems.iter().map(|problem| problem["code"].as_str().unwrap()).collect();
    assert_eq!(codes, ["task_unknown", "entries_failed"]);
    assert_eq!((&problems[0]["level"], &problems[0]["task"]), (&"broken".into(), &"thumbnial".into()));
    assert!(problems[0]["since"].as_str().unwrap().ends_with('Z'));
    assert_eq!(problems[0]["detail"], "The nearest declared task is `thumbnail`.");
    assert_eq!(problems[1]["sentence"], "1 entry failed for good in the last 24 h, with one kind of error.");
    assert_eq!(status["notes"][0]["code"], "task_paused");
    assert_eq!(status["leader"]["name"], "web-1");
    assert_eq!(status["nodes"][0]["roles"], serde_json::json!(["scheduler", "worker"]));
    let mail = status["tasks"].as_array().unwrap().iter().find(|task| task["name"] == "mail").unwrap();
    assert_eq!((&mail["failed"], &mail["pending"], &mail["held"]), (&1.into(), &0.into(), &Value::Null));
    database.sql(
        "INSERT INTO soloist_minutes (starts_at, span, task, node_id, started, completed, retried, failed, waits, runs) \
         SELECT max(created_at) - 60000000, 60, 'thumbnail', 3, 36, 30, 0, 0, '', '' FROM soloist_entries; \
         INSERT INTO soloist_minutes (starts_at, span, task, node_id, started, completed, retried, failed, waits, runs) \
         SELECT max(created_at) - 60000000, 60, 'mail', 3, 36, 2, 5, 1, '', '' FROM soloist_entries",
    );
    let status = run(database, &["status", "--json"]).json();
    assert_eq!(status["problems"][0]["sentence"], "`mail` fails: 6 of its 8 attempts of the last 15 min.");
    let detail = "Most: `550 no mailbox 7`, once in `mail`. 1 failed for good; the others are tried again.";
    assert_eq!(status["problems"][0]["detail"], detail);
    let thumbnail = status["tasks"].as_array().unwrap().iter().find(|task| task["name"] == "thumbnail").unwrap();
    assert_eq!((&thumbnail["completed"], &thumbnail["rate_per_s"]), (&30.into(), &0.1.into()));
    database.sql("DELETE FROM soloist_minutes");
    assert_eq!(run(database, &["status", "--fail-on", "stopped"]).code, 0);
    assert_eq!(run(database, &["status", "--fail-on", "risk"]).code, 1);
    // Also if whoever reads has had enough.
    let mut cut = soloist();
    cut.args(["status", "--fail-on", "risk"]).env("DATABASE_URL", database.url()).stdout(Stdio::piped());
    let mut cut = cut.spawn().unwrap();
    drop(cut.stdout.take());
    assert_eq!(cut.wait().unwrap().code(), Some(1));
    let text = run(database, &["status"]).ok();
    assert!(text.contains("\nAT RISK 1 entry failed for good") && text.contains("web-1"), "{text}");
    assert!(!text.contains('\u{1b}'), "no colours without a terminal");
}

#[test]
fn alone_it_says_what_it_is() {
    let said = finish(soloist(), "").fails(2, "soloist --help");
    assert_eq!(said.err.lines().count(), 12);
}

#[test]
fn wrong_usage_and_configuration_exit_with_2() {
    let directory = tempfile::tempdir().unwrap();
    let in_directory = |arguments: &[&str]| {
        let mut command = soloist();
        command.args(arguments).current_dir(directory.path()).env_remove("DATABASE_URL");
        finish(command, "")
    };
    in_directory(&["entries"]).fails(2, "Usage: soloist entries");
    in_directory(&["stauts"]).fails(2, "status");
    in_directory(&["--config", "missing.toml", "status"]).fails(2, "missing.toml");
    in_directory(&["status"]).fails(2, "there is no database at");
    assert!(!directory.path().join("soloist.db").exists(), "looking does not make a database");
    std::fs::write(directory.path().join("bad.toml"), "[database]\nconections = 4\n").unwrap();
    in_directory(&["--config", "bad.toml", "status"]).fails(2, "bad.toml:2").fails(2, "connections");
    assert_eq!(in_directory(&["--version"]).ok(), format!("soloist {}\n", env!("CARGO_PKG_VERSION")));
    assert!(in_directory(&["--help"]).ok().contains("SOLOIST_CONFIG"));
}

#[test]
fn init_overwrites_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let init = || {
        let mut command = soloist();
        command.arg("init").current_dir(directory.path());
        finish(command, "")
    };
    assert!(init().ok().starts_with("Wrote soloist.toml"));
    std::fs::write(directory.path().join("soloist.toml"), "mine").unwrap();
    init().fails(2, "is there already");
    assert_eq!(std::fs::read_to_string(directory.path().join("soloist.toml")).unwrap(), "mine");
}

#[test]
fn a_database_that_is_away_is_named_without_its_password() {
    let mut command = soloist();
    command
        .arg("status")
        .env("DATABASE_URL", "postgres://app:s3cret@127.0.0.1:1/app")
        .current_dir(std::env::temp_dir());
    let said = finish(command, "").fails(1, "");
    assert!(said.out.starts_with("STOPPED Soloist cannot reach its database: "), "{said:?}");
    assert!(said.out.contains("127.0.0.1:1") && !format!("{said:?}").contains("s3cret"), "{said:?}");
}

#[test]
fn completions_and_manual_pages_are_made() {
    let said = |arguments: &[&str]| {
        let mut command = soloist();
        command.args(arguments).current_dir(std::env::temp_dir());
        finish(command, "")
    };
    for (shell, words) in [("bash", "complete -F"), ("zsh", "#compdef soloist"), ("fish", "complete -c soloist")] {
        let script = said(&["completions", shell]).ok();
        assert!(script.contains(words) && script.contains("schedules"), "{shell}");
    }
    said(&["completions", "nushell"]).fails(2, "possible values: bash");
    assert!(said(&["man"]).ok().starts_with(".ie \\n(.g .ds Aq"), "a page in roff");
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("man1");
    let written = said(&["man", "--dir", path.to_str().unwrap()]).ok();
    let page = std::fs::read_to_string(path.join("soloist-schedules-add.1")).unwrap();
    assert!(page.contains("interval") && written.ends_with(".\n"), "{written}");
    let pages = std::fs::read_dir(&path).unwrap().count();
    assert!(written.starts_with(&format!("{pages} pages are in ")) && pages > 30, "{written}");
}
