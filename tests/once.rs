//! `soloist once`: of many callers one runs the program, under a lease, and nobody runs it again too soon.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use house::{Backend, Signal, TestDatabase, free_port, on_every_backend, soloist, until, until_some};
use rustix::process::{Pid, kill_process};
use tempfile::TempDir;

on_every_backend!(
    one_of_twenty_runs,
    the_exit_code_is_the_programs,
    not_again_until_nine_tenths_of_the_interval,
    the_lease_outlives_its_length_while_the_program_runs,
    a_killed_caller_takes_its_program_along,
    a_lease_that_was_taken_ends_the_program,
    a_program_is_gone_before_its_lease_when_it_cannot_be_renewed,
    a_caller_that_stood_still_too_long_ends_its_program,
    waiting_ends_with_the_run_before,
    wrong_usage_changes_nothing,
    old_turns_are_forgotten,
);

const SOON: Duration = Duration::from_secs(60);
const SECOND: i64 = 1_000_000;

/// Runs until somebody makes the file `go`.
const UNTIL_GO: &str = "echo $$ > pid.part; mv pid.part pid; while ! [ -e go ]; do sleep 0.02; done; echo gone";

/// Ends by KILL alone, and so does its child.
const STUBBORN: &str =
    "trap '' TERM; sleep 300 & echo $! > child; echo $$ > pid.part; mv pid.part pid; while :; do wait; done";

struct House<'a> {
    database: &'a TestDatabase,
    directory: TempDir,
}

/// A call that goes on; killed on drop.
struct Call(Child);

impl<'a> House<'a> {
    fn new(database: &'a TestDatabase, lease: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let config = format!("[node]\nname = \"web-1\"\nlease = \"{lease}\"\n");
        fs::write(directory.path().join("soloist.toml"), config).unwrap();
        Self { database, directory }
    }

    fn command(&self, arguments: &[&str], program: &[&str]) -> Command {
        let mut command = soloist();
        command.arg("once").args(arguments).arg("--").args(program);
        command.env("DATABASE_URL", self.database.url()).current_dir(self.directory.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn once(&self, arguments: &[&str], program: &[&str]) -> Output {
        self.command(arguments, program).output().unwrap()
    }

    fn start(&self, arguments: &[&str], program: &[&str]) -> Call {
        Call(self.command(arguments, program).spawn().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The process id in a file, once it is there.
    #[track_caller]
    fn pid(&self, file: &str) -> i32 {
        until_some(SOON, &format!("a process id in {file}"), || {
            fs::read_to_string(self.path(file)).ok()?.strip_suffix('\n')?.parse().ok()
        })
    }

    /// A number of the lease's row.
    fn lease(&self, name: &str, what: &str) -> i64 {
        self.database.number(&format!("SELECT {what} FROM soloist_leases WHERE name = 'once:{name}'"))
    }
}

impl Call {
    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(self.0.id().cast_signed()).unwrap(), signal).unwrap();
    }

    #[track_caller]
    fn wait(&mut self) -> ExitStatus {
        until_some(SOON, "the call ends", || self.0.try_wait().unwrap())
    }

    /// Its end, and what it has said on standard error.
    #[track_caller]
    fn end(mut self) -> (Option<i32>, String) {
        let code = self.wait().code();
        (code, std::io::read_to_string(self.0.stderr.take().unwrap()).unwrap())
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// True while a process runs: a zombie does not.
fn runs(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

#[track_caller]
fn is_skipped(output: &Output, code: i32, words: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{output:?}");
    assert!(said.starts_with("skipped: ") && said.lines().count() == 1, "{said}");
    assert!(said.contains(words) && said.contains("on web-1"), "{words} was expected: {said}");
    assert!(output.stdout.is_empty(), "{output:?}");
}

/// On an empty database: the tables are made on the way, by one of them too.
fn one_of_twenty_runs(database: &TestDatabase) {
    let house = House::new(database, "15s");
    let arguments = ["--name", "backup.2-a_B", "--every", "1h"];
    let calls: Vec<_> =
        (0..20).map(|_| house.command(&arguments, &["sh", "-c", "echo ran"]).spawn().unwrap()).collect();
    let outputs: Vec<_> = calls.into_iter().map(|call| call.wait_with_output().unwrap()).collect();
    let (ran, skipped): (Vec<_>, Vec<_>) = outputs.into_iter().partition(|output| output.stdout == b"ran\n");
    assert_eq!((ran.len(), skipped.len()), (1, 19), "{ran:?} {skipped:?}");
    assert!(ran[0].status.success() && ran[0].stderr.is_empty(), "{ran:?}");
    skipped.iter().for_each(|output| is_skipped(output, 0, "“backup.2-a_B”"));
    is_skipped(&house.once(&arguments, &["echo", "ran"]), 0, "it may run again in 5");
    is_skipped(&house.once(&[&arguments[..], &["--fail"]].concat(), &["echo", "ran"]), 75, "it may run again in 5");
    assert_eq!(house.lease("backup.2-a_B", "term"), 1);
    // Another name is another turn, also the longest there can be.
    let other = house.once(&["--name", &"x".repeat(100)], &["echo", "ran"]);
    assert_eq!((other.status.code(), &other.stdout[..]), (Some(0), &b"ran\n"[..]), "{other:?}");
}

fn the_exit_code_is_the_programs(database: &TestDatabase) {
    let house = House::new(database, "15s");
    let plain = house.path("plain");
    fs::write(&plain, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&plain, fs::Permissions::from_mode(0o644)).unwrap();
    let cases: [(&[&str], i32, &str); 9] = [
        (&["true"], 0, ""),
        (&["sh", "-c", "exit 3"], 3, ""),
        (&["sh", "-c", "exit 255"], 255, ""),
        (&["sh", "-c", "kill -TERM $$"], 143, ""),
        (&["sh", "-c", "kill -KILL $$"], 137, ""),
        (&["./plain"], 126, "./plain"),
        (&["./plain/no"], 126, "./plain/no"),
        (&["no-such-program"], 127, "no-such-program"),
        (&["/no/such/program"], 127, "/no/such/program"),
    ];
    for (n, (program, code, words)) in cases.into_iter().enumerate() {
        let name = format!("n{n}");
        let output = house.once(&["--name", &name, "--every", "1h"], program);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{program:?}: {output:?}");
        assert!(said.contains(words) && said.is_empty() == words.is_empty(), "{program:?}: {said}");
        // Whatever came of it, it is given up, and not run again for now.
        assert_eq!(house.lease(&name, "CASE WHEN lease_until <= since + 14000000 THEN 1 ELSE 0 END"), 1, "{program:?}");
        is_skipped(&house.once(&["--name", &name, "--every", "1h"], program), 0, "was last started");
    }
    // Input and output are the program's own, and so are arguments that look like options.
    let mut call = house.command(&["--name", "own"], &["sh", "-c", "cat; echo \"$1\" >&2", "--json", "--help"]);
    let mut child = call.stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"in and out").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((&output.stdout[..], &output.stderr[..]), (&b"in and out"[..], &b"--help\n"[..]), "{output:?}");
}

fn not_again_until_nine_tenths_of_the_interval(database: &TestDatabase) {
    let house = House::new(database, "15s");
    let every = |every: &'static str| ["--name", "n", "--every", every];
    // What comes of a run, and how long it takes, is all the same: it counts from the start.
    assert_eq!(house.once(&every("4s"), &["sh", "-c", "sleep 1; exit 3"]).status.code(), Some(3));
    let first = house.lease("n", "since");
    is_skipped(&house.once(&every("1h"), &["true"]), 0, "it may run again in 5");
    let output = until_some(SOON, "it runs again", || {
        let output = house.once(&every("4s"), &["echo", "ran"]);
        (!output.stdout.is_empty()).then_some(output)
    });
    assert!(output.status.success(), "{output:?}");
    let second = house.lease("n", "since");
    assert!(second - first >= 36 * SECOND / 10, "after {} µs", second - first);
    // The interval is this call's, whatever the last one's was.
    until(SOON, "90 ms have passed", || house.once(&every("100ms"), &["true"]).stderr.is_empty());
    assert_eq!(house.lease("n", "term"), 3);
}

fn the_lease_outlives_its_length_while_the_program_runs(database: &TestDatabase) {
    let house = House::new(database, "1s");
    let call = house.start(&["--name", "n", "--every", "100ms"], &["sh", "-c", UNTIL_GO]);
    house.pid("pid");
    let since = house.lease("n", "since");
    until(SOON, "the lease is renewed", || house.lease("n", "lease_until") > since + 4 * SECOND);
    is_skipped(&house.once(&["--name", "n", "--every", "100ms"], &["true"]), 0, "has been running for");
    fs::write(house.path("go"), "").unwrap();
    assert_eq!(call.end(), (Some(0), String::new()));
    assert_eq!((house.lease("n", "since"), house.lease("n", "term")), (since, 1));
    let output = house.once(&["--name", "n", "--every", "100ms"], &["echo", "ran"]);
    assert_eq!(output.stdout, b"ran\n", "the lease was given up: {output:?}");
}

fn a_killed_caller_takes_its_program_along(database: &TestDatabase) {
    let house = House::new(database, "1s");
    let mut call = house.start(&["--name", "n", "--every", "100ms"], &["sh", "-c", STUBBORN]);
    let (program, child) = (house.pid("pid"), house.pid("child"));
    call.signal(Signal::KILL);
    call.wait();
    until(SOON, "the program and its child are gone", || !runs(program) && !runs(child));
    let lease_until = house.lease("n", "lease_until");
    let next = house.once(&["--name", "n", "--every", "100ms", "--wait"], &["echo", "ran"]);
    assert_eq!(next.stdout, b"ran\n", "{next:?}");
    let since = house.lease("n", "since");
    assert!(since >= lease_until, "{since} is before the end of the dead caller's lease, {lease_until}");
}

fn a_lease_that_was_taken_ends_the_program(database: &TestDatabase) {
    let house = House::new(database, "2s");
    let call = house.start(&["--name", "n"], &["sh", "-c", STUBBORN]);
    let (program, child) = (house.pid("pid"), house.pid("child"));
    database
        .sql("UPDATE soloist_leases SET term = term + 1, lease_until = lease_until + 3600000000 WHERE name = 'once:n'");
    let lease_until = house.lease("n", "lease_until");
    let (code, said) = call.end();
    assert!(code == Some(125) && said.contains("the lease of “n”") && said.contains("taken"), "{code:?} {said}");
    assert!(!runs(program) && !runs(child));
    assert_eq!(house.lease("n", "lease_until"), lease_until, "the lease is another's: it stays");
}

fn a_program_is_gone_before_its_lease_when_it_cannot_be_renewed(database: &TestDatabase) {
    let house = House::new(database, "4s");
    let mut call = house.start(&["--name", "n"], &["sh", "-c", STUBBORN]);
    let (program, child) = (house.pid("pid"), house.pid("child"));
    database.sql("ALTER TABLE soloist_leases RENAME TO hidden_leases");
    call.wait();
    let ended = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros();
    assert!(!runs(program) && !runs(child));
    let lease_until = database.number("SELECT lease_until FROM hidden_leases WHERE name = 'once:n'");
    assert!(ended < u128::try_from(lease_until).unwrap(), "it went on until {ended}, the lease until {lease_until}");
    let (code, said) = call.end();
    assert!(code == Some(125) && said.contains("could not be renewed in time"), "{code:?} {said}");
}

fn a_caller_that_stood_still_too_long_ends_its_program(database: &TestDatabase) {
    let house = House::new(database, "1s");
    let call = house.start(&["--name", "n", "--every", "100ms"], &["sh", "-c", UNTIL_GO]);
    let program = house.pid("pid");
    call.signal(Signal::STOP);
    let next = house.once(&["--name", "n", "--every", "100ms", "--wait"], &["echo", "ran"]);
    assert_eq!(next.stdout, b"ran\n", "{next:?}");
    let standing = (house.lease("n", "term"), house.lease("n", "lease_until"));
    call.signal(Signal::CONT);
    let (code, said) = call.end();
    assert!(code == Some(125) && said.contains("the lease of “n”"), "{code:?} {said}");
    assert!(!runs(program));
    assert_eq!((house.lease("n", "term"), house.lease("n", "lease_until")), standing, "it changes nothing any more");
}

fn waiting_ends_with_the_run_before(database: &TestDatabase) {
    let house = House::new(database, "15s");
    let mut first = house.start(&["--name", "n", "--every", "100ms"], &["sh", "-c", UNTIL_GO]);
    house.pid("pid");
    let mut second = house.start(&["--name", "n", "--every", "100ms", "--wait"], &["sh", "-c", "cat done; exit 4"]);
    let mut said = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(second.0.stderr.take().unwrap()), &mut said).unwrap();
    assert!(said.starts_with("waiting: “n” has been running for"), "{said}");
    // An interrupt ends the waiting.
    let mut third = house.start(&["--name", "n", "--wait"], &["touch", "third"]);
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(third.0.stderr.take().unwrap()), &mut line).unwrap();
    third.signal(Signal::INT);
    assert!(!third.wait().success() && !house.path("third").exists());
    assert!(second.0.try_wait().unwrap().is_none() && first.0.try_wait().unwrap().is_none());
    fs::write(house.path("done"), "first is done").unwrap();
    fs::write(house.path("go"), "").unwrap();
    assert_eq!(first.wait().code(), Some(0));
    assert_eq!(second.wait().code(), Some(4));
    let read = std::io::read_to_string(second.0.stdout.take().unwrap()).unwrap();
    assert_eq!(read, "first is done");
}

fn wrong_usage_changes_nothing(database: &TestDatabase) {
    let house = House::new(database, "15s");
    let touch: &[&str] = &["touch", "ran"];
    for every in ["0s", "-5m", "", "5", "5x", "NaNs", "1e400s", "99999999999d", "18446744073709551616s", "99ms", "367d"]
    {
        let output = house.once(&["--name", "n", "--every", every], touch);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains("--every"), "{every}: {output:?}");
    }
    let long = "x".repeat(101);
    let cases: [(&[&str], &[&str], &str); 9] = [
        (&[], touch, "--name"),
        (&["--name", ""], touch, "a name is wanted"),
        (&["--name", "ma il"], touch, "' ' cannot be in the name"),
        (&["--name", "täglich"], touch, "'ä' cannot be in the name"),
        (&["--name", &long], touch, "at most 100"),
        (&["--name", "n", "--wait", "--fail"], touch, "cannot be used with"),
        (&["--name", "n"], &[], "CMD"),
        (&["--name", "n"], &[""], "the program after -- is empty"),
        (&["--name", "n", "touch", "ran"], &[], "touch"),
    ];
    for (arguments, program, words) in cases {
        let output = house.once(arguments, program);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains(words), "{arguments:?}: {output:?}");
    }
    let mut memory = house.command(&["--name", "n"], touch);
    let output = memory.env("DATABASE_URL", "sqlite::memory:").output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    fs::write(house.path("soloist.toml"), "[node]\nlease = \"1\"\n").unwrap();
    assert_eq!(house.once(&["--name", "n"], touch).status.code(), Some(2));
    fs::write(house.path("soloist.toml"), "").unwrap();
    assert!(!house.path("ran").exists());
    assert!(database.try_sql("SELECT count(*) FROM soloist_leases").is_err(), "there is no table yet");

    // What fails while it runs is another code.
    let port = free_port();
    let away = match database.backend() {
        Backend::Sqlite => format!("sqlite:{}", house.path("no/such/directory/soloist.db").display()),
        Backend::Postgres => format!("postgres://postgres@127.0.0.1:{port}/postgres"),
        Backend::MariaDb | Backend::MySql => format!("mysql://root@127.0.0.1:{port}/mysql"),
    };
    let output = house.command(&["--name", "n"], touch).env("DATABASE_URL", away).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(125) && said.starts_with("error: cannot connect"), "{output:?}");
    assert!(!house.path("ran").exists());
}

fn old_turns_are_forgotten(database: &TestDatabase) {
    let house = House::new(database, "15s");
    assert!(house.once(&["--name", "first"], &["true"]).status.success());
    database.sql(
        "INSERT INTO soloist_leases (name, term, since, lease_until) VALUES ('once:old', 3, 1, 2); \
         INSERT INTO soloist_leases (name, term, since, lease_until) VALUES ('once:held', 3, 1, 9000000000000000); \
         INSERT INTO soloist_leases (name, term, since, lease_until) VALUES ('scheduler', 3, 1, 2)",
    );
    assert!(house.once(&["--name", "second"], &["true"]).status.success());
    let rows = database.query("SELECT name FROM soloist_leases ORDER BY name");
    let names: Vec<_> = rows.into_iter().map(|row| row[0].clone().unwrap()).collect();
    assert_eq!(names, ["once:first", "once:held", "once:second", "scheduler"]);
}

#[path = "once/program.rs"]
mod program;
