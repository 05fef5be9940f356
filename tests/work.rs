//! `soloist work`: one run that sweeps, works until nothing is due, tells what became of it, and exits.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use house::{TestDatabase, free_port, on_every_backend, soloist, until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

on_every_backend!(
    rows_and_entries_are_worked_until_nothing_is_due,
    only_the_tasks_that_were_named,
    what_a_rate_soon_allows_is_waited_for,
    what_fails_is_told_and_exits_1,
    a_source_that_cannot_be_swept_exits_1,
    waiting_retries_leave_no_room_for_more_rows,
);

const LIMIT: Duration = Duration::from_secs(60);

/// Rows of the user's own, and a log of what was done.
const ROWS: &str = "\
[tasks.thumbnail]
sql = \"INSERT INTO log (what) VALUES (:path)\"
[tasks.thumbnail.source]
table = \"images\"
key = \"id\"
pending = \"processed = FALSE\"
done = \"processed = TRUE\"
";

const MAIL: &str = "\
[tasks.mail]
sql = \"INSERT INTO log (what) VALUES (:to)\"
transaction = false
";

struct Run<'a> {
    database: &'a TestDatabase,
    directory: TempDir,
}

impl<'a> Run<'a> {
    fn new(database: &'a TestDatabase, tasks: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("soloist.toml"), format!("[node]\nname = \"cron\"\n{tasks}")).unwrap();
        let run = Self { database, directory };
        assert!(run.soloist(&["migrate"]).status.success());
        database.sql("CREATE TABLE log (what VARCHAR(100) NOT NULL)");
        run
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = soloist();
        command.args(arguments).env("DATABASE_URL", self.database.url()).current_dir(self.directory.path());
        command.stdin(Stdio::null());
        command
    }

    fn soloist(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn enqueue(&self, arguments: &[&str]) {
        let output = self.soloist(&[&["enqueue"], arguments].concat());
        assert!(output.status.success(), "{output:?}");
    }

    /// Runs `work`, which must end with this code; what it tells.
    #[track_caller]
    fn work(&self, arguments: &[&str], code: i32) -> Value {
        let output = self.soloist(&[&["work", "--json"], arguments].concat());
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
    }

    fn images(&self, rows: i64) {
        self.database.sql(
            "CREATE TABLE images (id BIGINT PRIMARY KEY, path VARCHAR(40) NOT NULL, \
             processed BOOLEAN NOT NULL DEFAULT FALSE)",
        );
        let values: Vec<_> = (1..=rows).map(|id| format!("({id}, 'p{id}')")).collect();
        self.database.sql(&format!("INSERT INTO images (id, path) VALUES {}", values.join(", ")));
    }

    fn log(&self) -> Vec<String> {
        let rows = self.database.query("SELECT what FROM log ORDER BY what");
        rows.into_iter().map(|row| row[0].clone().unwrap()).collect()
    }
}

fn rows_and_entries_are_worked_until_nothing_is_due(database: &TestDatabase) {
    let run = Run::new(database, &format!("{ROWS}{MAIL}"));
    run.images(40);
    run.enqueue(&["mail", "--payload", r#"{"to": "ivo"}"#]);
    run.enqueue(&["mail", "--payload", r#"{"to": "later"}"#, "--in", "1h"]);
    let told = run.work(&[], 0);
    assert_eq!(database.number("SELECT count(*) FROM images WHERE processed = FALSE"), 0, "{told}");
    let log = run.log();
    assert_eq!(log.len(), 41, "{log:?}");
    assert!(log.contains(&"ivo".to_owned()) && !log.contains(&"later".to_owned()), "{log:?}");
    assert_eq!((&told["completed"], &told["failed"], &told["stopped"]), (&41.into(), &0.into(), &false.into()));
    assert_eq!(told["tasks"]["thumbnail"]["completed"], 40, "{told}");
    assert_eq!(told["tasks"]["mail"]["not_due"], 1, "{told}");
    assert_eq!(database.number("SELECT count(*) FROM soloist_nodes WHERE stopped_at IS NULL"), 0, "it has left");
    // Nothing is due any more.
    let told = run.work(&[], 0);
    assert_eq!((&told["completed"], run.log().len()), (&0.into(), 41), "{told}");
}

/// A rate is no reason to leave work behind, unless the next start is far off.
fn what_a_rate_soon_allows_is_waited_for(database: &TestDatabase) {
    let tasks = format!("{MAIL}rate = \"20/s\"\n{}rate = \"1/h\"\n", MAIL.replace("mail", "rare"));
    let run = Run::new(database, &tasks);
    let mails = ["('mail', '{\"to\": \"ivo\"}')"; 12].join(", ");
    let rest = "('rare', '{\"to\": \"eva\"}'), ('rare', '{\"to\": \"eva\"}')";
    database.sql(&format!("INSERT INTO soloist_entries (task, payload) VALUES {mails}, {rest}"));
    let told = run.work(&[], 0);
    assert_eq!((&told["tasks"]["mail"]["completed"], &told["tasks"]["mail"]["due"]), (&12.into(), &0.into()), "{told}");
    assert_eq!((&told["tasks"]["rare"]["completed"], &told["tasks"]["rare"]["due"]), (&1.into(), &1.into()), "{told}");
    assert_eq!(run.log().len(), 13);
}

fn only_the_tasks_that_were_named(database: &TestDatabase) {
    let run = Run::new(database, &format!("{ROWS}{MAIL}[tasks.outside]\npull = true\n"));
    run.images(3);
    run.enqueue(&["mail", "--payload", r#"{"to": "ivo"}"#]);
    let told = run.work(&["--task", "mail"], 0);
    assert_eq!((run.log(), &told["completed"]), (vec!["ivo".to_owned()], &1.into()), "{told}");
    assert_eq!(database.number("SELECT count(*) FROM soloist_entries WHERE task = 'thumbnail'"), 0);
    for (name, words) in [("mial", "the nearest is “mail”"), ("outside", "claim API")] {
        let output = run.soloist(&["work", "--task", name]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains(words), "{output:?}");
    }
}

fn what_fails_is_told_and_exits_1(database: &TestDatabase) {
    let port = free_port();
    let tasks = format!(
        "{MAIL}[tasks.again]\ncommand = [\"sh\", \"-c\", \"exit 75\"]\n\
         [tasks.away]\nhttp = {{ url = \"http://127.0.0.1:{port}/\" }}\n"
    );
    let run = Run::new(database, &tasks);
    run.enqueue(&["again"]);
    let told = run.work(&["--task", "again"], 0);
    let again = &told["tasks"]["again"];
    assert_eq!((&again["retries_waiting"], &again["retried"], &told["failed"]), (&1.into(), &1.into(), &0.into()));
    assert!(again["next_retry_in_s"].as_f64().unwrap() > 0.0, "{told}");

    run.enqueue(&["mail", "--payload", r#"{"nobody": "named"}"#]);
    let told = run.work(&["--task", "mail"], 1);
    assert_eq!((&told["tasks"]["mail"]["failed"], &told["tasks"]["mail"]["completed"]), (&1.into(), &0.into()));

    run.enqueue(&["away"]);
    let told = run.work(&["--task", "away"], 1);
    let away = &told["tasks"]["away"];
    assert!(away["held"].as_str().is_some_and(|reason| !reason.is_empty()), "{told}");
    assert_eq!((&away["failed"], &away["due"]), (&0.into(), &1.into()), "{told}");
}

fn a_source_that_cannot_be_swept_exits_1(database: &TestDatabase) {
    let run = Run::new(database, &ROWS.replace("processed = FALSE", "no_such_column = 1"));
    run.images(2);
    let told = run.work(&[], 1);
    let error = told["sweep_errors"]["thumbnail"].as_str().unwrap();
    assert!(error.contains("no_such_column"), "the database's words: {told}");
    assert!(run.log().is_empty());
}

fn waiting_retries_leave_no_room_for_more_rows(database: &TestDatabase) {
    let task = ROWS.replace("sql = \"INSERT INTO log (what) VALUES (:path)\"", "command = [\"false\"]");
    let run = Run::new(database, &format!("{task}ahead = 3\n"));
    run.images(10);
    let told = run.work(&[], 0);
    assert_eq!(told["tasks"]["thumbnail"]["retries_waiting"], 3, "{told}");
}

#[test]
fn a_signal_lets_finish_what_runs() {
    house::Backend::Sqlite.run(|database| {
        let task = "[tasks.slow]\nconcurrency = 1\ncommand = [\"sh\", \"-c\", \"touch begun; until test -e go; do sleep 0.02; done\"]\n";
        let run = Run::new(database, task);
        run.enqueue(&["slow"]);
        run.enqueue(&["slow"]);
        let mut command = run.command(&["work", "--json"]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let begun = |name: &str| Path::exists(&run.directory.path().join(name));
        until(LIMIT, "the handler runs", || begun("begun"));
        kill_process(Pid::from_raw(child.id().cast_signed()).unwrap(), Signal::TERM).unwrap();
        until(LIMIT, "the node drains", || database.number("SELECT count(*) FROM soloist_nodes WHERE draining = 1") == 1);
        fs::write(run.directory.path().join("go"), "").unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((&told["stopped"], &told["completed"]), (&true.into(), &1.into()), "{told}");
        assert_eq!(told["tasks"]["slow"]["due"], 1, "the other one is left: {told}");
    });
}

#[test]
fn a_database_that_is_away_is_not_waited_for() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("soloist.toml"), MAIL).unwrap();
    let url = format!("postgres://app@127.0.0.1:{}/app", free_port());
    let output = soloist().arg("work").env("DATABASE_URL", url).current_dir(directory.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
}
