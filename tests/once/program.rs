//! What the program of `soloist once` gets to see: signals, the environment, the terminal. The database is no part.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use house::{Backend, Signal, TestDatabase, soloist, until};
use rustix::process::{Pid, kill_process};

use super::{House, SOON, runs};

fn on_sqlite(test: impl FnOnce(&House<'_>)) {
    let database = TestDatabase::new(Backend::Sqlite).unwrap();
    test(&House::new(&database, "15s"));
}

#[test]
fn signals_are_passed_on() {
    on_sqlite(|house| {
        let signals = [
            (Signal::TERM, "TERM"),
            (Signal::INT, "INT"),
            (Signal::HUP, "HUP"),
            (Signal::QUIT, "QUIT"),
            (Signal::USR1, "USR1"),
            (Signal::USR2, "USR2"),
        ];
        for (signal, name) in signals {
            let script = format!("trap 'echo got {name}; exit 7' {name}; echo ready; while :; do sleep 0.02; done");
            let mut call = house.start(&["--name", name], &["sh", "-c", &script]);
            let mut lines = BufReader::new(call.0.stdout.take().unwrap()).lines();
            assert_eq!(lines.next().unwrap().unwrap(), "ready");
            call.signal(signal);
            assert_eq!(lines.next().unwrap().unwrap(), format!("got {name}"));
            assert_eq!(call.end().0, Some(7), "{name}");
        }
    });
}

#[test]
fn a_program_that_a_signal_ends_takes_its_children_along() {
    on_sqlite(|house| {
        let script = "sleep 300 & echo $! > child; echo $$ > pid.part; mv pid.part pid; wait";
        let call = house.start(&["--name", "n"], &["sh", "-c", script]);
        let (program, child) = (house.pid("pid"), house.pid("child"));
        call.signal(Signal::TERM);
        assert_eq!(call.end(), (Some(143), String::new()));
        until(SOON, "nothing is left", || !runs(program) && !runs(child));
    });
}

#[test]
fn what_was_ignored_stays_ignored() {
    on_sqlite(|house| {
        let script = "echo $$ > pid.part; mv pid.part pid; while ! [ -e go ]; do sleep 0.02; done";
        let once = house.command(&["--name", "n"], &["sh", "-c", script]);
        let mut shell = Command::new("sh");
        shell.args(["-c", "trap '' HUP INT; exec \"$0\" \"$@\""]).arg(once.get_program()).args(once.get_args());
        shell.current_dir(house.directory.path()).env("DATABASE_URL", house.database.url());
        let call = super::Call(shell.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap());
        let program = house.pid("pid");
        call.signal(Signal::HUP);
        call.signal(Signal::INT);
        // The program itself ignores them too.
        kill_process(Pid::from_raw(program).unwrap(), Signal::HUP).unwrap();
        fs::write(house.path("go"), "").unwrap();
        assert_eq!(call.end(), (Some(0), String::new()));
    });
}

#[test]
fn what_it_leaves_behind_goes_on() {
    on_sqlite(|house| {
        let script = "sleep 300 > /dev/null 2>&1 & echo $! > child";
        assert!(house.once(&["--name", "n"], &["sh", "-c", script]).status.success());
        let child = house.pid("child");
        assert!(runs(child));
        kill_process(Pid::from_raw(child).unwrap(), Signal::KILL).unwrap();
    });
}

#[test]
fn secrets_are_kept_from_it_and_all_else_is_handed_on() {
    on_sqlite(|house| {
        let config = "[tasks.mail]\nhttp = { url = \"http://127.0.0.1:1/\", token_env = \"APP_TOKEN\" }\n";
        fs::write(house.path("soloist.toml"), config).unwrap();
        let print = ["sh", "-c", "printf '%s' \"${APP_TOKEN-absent} ${PGPASSWORD-absent} $OTHER\""];
        let mut call = house.command(&["--name", "n"], &print);
        call.env("APP_TOKEN", "t0ken").env("PGPASSWORD", "s3cret").env("OTHER", "seen");
        let output = call.output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "absent absent seen", "{output:?}");
    });
}

/// The server takes any password from this host.
#[test]
fn the_databases_password_is_kept_from_it() {
    let Some(database) = TestDatabase::new(Backend::Postgres) else { return };
    let house = House::new(&database, "15s");
    let url = database.url();
    let user = url.split_once("://").unwrap().1.split_once('@').unwrap().0.to_owned();
    // The server may have a password already; one that trusts everybody takes any.
    let (password, with_password) = match user.split_once(':') {
        Some((_, password)) => (password.to_owned(), url),
        None => ("s3cret".to_owned(), url.replacen('@', ":s3cret@", 1)),
    };
    let print = ["sh", "-c", "printf '%s' \"${DATABASE_URL-absent} ${COPY-absent} $OTHER\""];
    let mut call = house.command(&["--name", "n"], &print);
    call.env("DATABASE_URL", with_password).env("COPY", password).env("OTHER", "seen");
    let output = call.output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "absent absent seen", "{output:?}");
}

#[test]
fn a_database_that_nobody_named_is_told() {
    on_sqlite(|house| {
        fs::remove_file(house.path("soloist.toml")).unwrap();
        let mut call = house.command(&["--name", "n"], &["true"]);
        let output = call.env_remove("DATABASE_URL").output().unwrap();
        assert!(String::from_utf8_lossy(&output.stderr).contains("for this host alone"), "{output:?}");
        assert!(output.status.success() && house.path("soloist.db").exists());
    });
}

#[test]
fn the_help_has_examples() {
    let output = soloist().args(["once", "--help"]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    for words in ["0 3 * * *", "--wait --", "125", "[default: 10s]"] {
        assert!(text.contains(words), "{words} was expected: {text}");
    }
}

/// A session with a terminal of its own, in which one job runs as a shell would run it. Prints what the terminal shows.
const SESSION: &str = r#"
import os, pty, select, signal, sys, time
script, command = sys.argv[1], sys.argv[2:]
session, terminal = pty.fork()
if session == 0:
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    job = os.fork()
    if job == 0:
        os.setpgid(0, 0)
        os.tcsetpgrp(0, os.getpgrp())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        os.execvp(command[0], command)
    while True:
        _, status = os.waitpid(job, os.WUNTRACED)
        os.tcsetpgrp(0, os.getpgrp())
        if not os.WIFSTOPPED(status):
            break
        print("suspended", flush=True)
        sys.stdin.readline()
        os.tcsetpgrp(0, job)
        os.kill(job, signal.SIGCONT)
    print("ended", os.WEXITSTATUS(status) if os.WIFEXITED(status) else status, flush=True)
    os._exit(0)
shown, deadline = "", time.monotonic() + 60
for step in script.split(","):
    wanted, keys = (part.encode("latin-1").decode("unicode_escape") for part in step.split("=", 1))
    while wanted not in shown:
        ready = select.select([terminal], [], [], max(0, deadline - time.monotonic()))[0]
        try:
            shown += os.read(terminal, 4096).decode() if ready else sys.exit(shown)
        except OSError:
            sys.exit("it ended: " + shown)
    shown = shown.split(wanted, 1)[1]
    os.write(terminal, keys.encode())
os.waitpid(session, 0)
"#;

/// Runs a program under `soloist once` in a terminal; `script` is `SHOWN=KEYS,…`: what to wait for, what to type then.
#[track_caller]
fn in_a_terminal(house: &House<'_>, program: &[&str], script: &str) {
    let python = std::env::var_os("SOLOIST_TEST_PYTHON").unwrap_or_else(|| "python3".into());
    let once = house.command(&["--name", "n"], program);
    let mut session = Command::new(python);
    session.arg("-c").arg(SESSION).arg(script).arg(once.get_program()).args(once.get_args());
    session.current_dir(house.directory.path()).env("DATABASE_URL", house.database.url()).stdin(Stdio::null());
    let output = session.output().unwrap();
    assert!(output.status.success(), "{script}: {output:?}");
}

#[test]
fn it_reads_the_terminal() {
    let script = r#"echo ready; read -r line; echo "read $line"; exit 5"#;
    on_sqlite(|house| in_a_terminal(house, &["sh", "-c", script], r"ready=hello\n,read hello=,ended 5="));
}

#[test]
fn an_interrupt_of_the_terminal_ends_it() {
    on_sqlite(|house| in_a_terminal(house, &["sh", "-c", "echo ready; exec sleep 300"], r"ready=\x03,ended 130="));
    // Also once the terminal has been handed over to it.
    let script = "echo ready; read -r line; echo on; exec sleep 300";
    on_sqlite(|house| in_a_terminal(house, &["sh", "-c", script], r"ready=\n,on=\x03,ended 130="));
}

#[test]
fn it_is_suspended_and_goes_on() {
    // Without programs of its own: a shell that is stopped in the midst of starting one does not say so.
    let script = r#"echo ready; read -r line; echo on; read -r line; echo "$line"; exit 5"#;
    on_sqlite(|house| {
        let steps = r"ready=\n,on=\x1a,suspended=\n,\n=again\n,again=,ended 5=";
        in_a_terminal(house, &["sh", "-c", script], steps);
    });
    // While the terminal is still ours.
    let script = "trap 'echo back' CONT; echo ready; while :; do :; done";
    on_sqlite(|house| {
        in_a_terminal(house, &["sh", "-c", script], r"ready=\x1a,suspended=\n,back=\x03,ended 130=");
    });
}
