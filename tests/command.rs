//! The command handler with real programs: what goes in, what comes out, and that nothing is left behind.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "handlers/call.rs"]
mod call;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use soloist::handler::Call;
use soloist::handler::command::{CommandHandler, adopt_orphans};
use soloist::model::Outcome;

use house::until;

use call::{call, entry, outcome_of};

const SOON: Duration = Duration::from_secs(10);

fn handler(command: &[&str]) -> CommandHandler {
    let command: Vec<_> = command.iter().map(|word| (*word).to_owned()).collect();
    CommandHandler::new(&command, ["CARGO_MANIFEST_DIR"]).expect("a handler")
}

async fn shell(script: &str) -> Outcome {
    outcome_of(&handler(&["sh", "-c", script]), call(vec![entry(17, r#"{"n":1.50}"#)])).await
}

async fn output_of(script: &str) -> String {
    match shell(script).await {
        Outcome::Completed { output } => output.unwrap_or_default(),
        other => panic!("{script}: {other:?}"),
    }
}

/// The state of a process, as `R` or `Z`, with its parent; `None` once there is none.
fn process(pid: &str) -> Option<(char, u32)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

/// True if the process runs, or is a zombie that this process ought to have reaped.
fn left_behind(pid: &str) -> bool {
    process(pid).is_some_and(|(state, parent)| state != 'Z' || parent == std::process::id())
}

fn pid_in(file: &Path) -> String {
    until(SOON, "a file with a process id", || fs::read_to_string(file).is_ok_and(|text| text.ends_with('\n')));
    fs::read_to_string(file).expect("the file").trim().to_owned()
}

#[actix::test]
async fn the_entry_is_on_standard_input_and_in_the_environment() {
    let text = output_of("cat").await;
    let body: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(body["id"], 17);
    assert!(text.contains(r#""payload":{"n":1.50},"#), "{text}");

    let mut one = entry(17, "{}");
    one.scheduled_for = Some(1_700_000_000_000_000);
    let text = match outcome_of(&handler(&["sh", "-c", "env | grep ^SOLOIST_ | grep -v TEST | sort"]), call(vec![one]))
        .await
    {
        Outcome::Completed { output: Some(text) } => text,
        other => panic!("{other:?}"),
    };
    let expected = "SOLOIST_ATTEMPT=1\nSOLOIST_ENTRY_ID=17\nSOLOIST_IDEMPOTENCY_KEY=test-17\nSOLOIST_KEY=7\n\
                    SOLOIST_SCHEDULED_FOR=2023-11-14T22:13:20Z\nSOLOIST_TASK=thumbnail\n";
    assert_eq!(text, expected);
}

#[actix::test]
async fn hidden_variables_are_not_in_the_environment_and_all_others_are() {
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some() && std::env::var_os("CARGO_PKG_NAME").is_some());
    assert_eq!(output_of("printf '%s' \"${CARGO_MANIFEST_DIR-absent} $CARGO_PKG_NAME\"").await, "absent soloist");
    let mut one = entry(1, "{}");
    one.key = Some("a\0b".to_owned());
    let outcome = outcome_of(&handler(&["sh", "-c", "printf '%s' \"$SOLOIST_KEY\""]), call(vec![one])).await;
    assert_eq!(outcome, Outcome::Completed { output: Some("a\u{FFFD}b".to_owned()) });
}

#[actix::test]
async fn exit_codes_and_signals() {
    assert_eq!(shell("exit 0").await, Outcome::completed());
    let failed = Outcome::Failed {
        error: "sh exited with 65: no such row".to_owned(),
        output: Some("no such row\n".to_owned()),
    };
    assert_eq!(shell("echo no such row >&2; exit 65").await, failed);
    for code in [1, 2, 75, 126, 127, 255] {
        assert_eq!(shell(&format!("exit {code}")).await, Outcome::retry(format!("sh exited with {code}")));
    }
    assert_eq!(shell("kill -KILL $$").await, Outcome::retry("sh was ended by signal 9 (KILL)"));
    assert_eq!(shell("kill -TERM $$").await, Outcome::retry("sh was ended by signal 15 (TERM)"));
}

#[actix::test]
async fn a_program_that_cannot_be_started_is_named_and_tried_again() {
    let directory = tempfile::tempdir().expect("a directory");
    let plain = directory.path().join("plain");
    fs::write(&plain, "text").expect("a file");
    for (program, words) in [
        ("no-such-program", "PATH"),
        ("/no/such/program", "a file of this name"),
        (plain.to_str().expect("a path"), "execute"),
    ] {
        let outcome = outcome_of(&handler(&[program]), call(vec![entry(1, "{}")])).await;
        let Outcome::Retry { error, .. } = outcome else { panic!("{outcome:?}") };
        assert!(error.contains(program) && error.contains(words), "{error}");
    }
    for command in [vec![], vec![String::new()], vec!["a\0b".to_owned()]] {
        assert!(CommandHandler::new(&command, [""; 0]).expect_err("refused").is_usage());
    }
}

#[actix::test]
async fn output_is_cleaned_and_keeps_the_order_of_both_streams() {
    let outcome = shell("printf 'a\\000b\\377c'; exit 1").await;
    assert!(
        matches!(&outcome, Outcome::Retry { output: Some(text), .. } if text == "a\u{FFFD}b\u{FFFD}c"),
        "{outcome:?}"
    );
    assert_eq!(output_of("echo 1; echo 2 >&2; echo 3; echo 4 >&2").await, "1\n2\n3\n4\n");
    assert_eq!(output_of("yes | head -c 5000; echo the end").await.len(), 1024);
}

#[actix::test]
async fn two_hundred_megabytes_of_output_are_read_and_not_kept() {
    let resident = || -> u64 {
        let status = fs::read_to_string("/proc/self/status").expect("a status");
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("a resident size");
        line.split_whitespace().nth(1).and_then(|text| text.parse().ok()).expect("a number")
    };
    shell("true").await;
    let (before, most, over) = (resident(), Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let watch = thread::spawn({
        let (most, over) = (most.clone(), over.clone());
        move || {
            while !over.load(Ordering::Relaxed) {
                most.fetch_max(resident(), Ordering::Relaxed);
                thread::sleep(Duration::from_millis(2));
            }
        }
    });
    let script = "(yes | head -c 200000000) & (yes | head -c 200000000 >&2) & wait; echo tail; exit 3";
    let outcome = shell(script).await;
    over.store(true, Ordering::Relaxed);
    watch.join().expect("the watch");
    let Outcome::Retry { error, output: Some(text), .. } = outcome else { panic!("{outcome:?}") };
    assert_eq!(error, "sh exited with 3: tail");
    assert!(text.len() <= 16 * 1024 && text.len() > 16_000 && text.ends_with("y\ntail\n"), "{}", text.len());
    let grown = most.load(Ordering::Relaxed).saturating_sub(before);
    assert!(grown < 20 * 1024, "memory grew by {grown} KiB");
}

#[actix::test]
async fn closed_output_and_unread_input_hang_nothing() {
    let long = format!("\"{}\"", "x".repeat(5_000_000));
    for script in ["exec >&- 2>&-; sleep 0.2", "exec <&-; sleep 0.2", "true", "head -c 100 > /dev/null; sleep 0.2"] {
        let since = Instant::now();
        let outcome = outcome_of(&handler(&["sh", "-c", script]), call(vec![entry(1, &long)])).await;
        assert_eq!(outcome, Outcome::completed(), "{script}");
        assert!(since.elapsed() < Duration::from_secs(5), "{script} took {:?}", since.elapsed());
    }
    let outcome = outcome_of(&handler(&["sh", "-c", "wc -c"]), call(vec![entry(1, &long)])).await;
    let Outcome::Completed { output: Some(text) } = outcome else { panic!("{outcome:?}") };
    assert!(text.trim().parse::<u64>().expect("a number") > 5_000_000);
}

#[actix::test]
async fn the_time_out_ends_the_group_also_what_ignores_term() {
    let scripts = [
        "trap '' TERM; sleep 300 & echo $! > \"$F\"; sleep 300",
        "(trap '' TERM; exec sleep 300) & echo $! > \"$F\"; sleep 300",
        "sleep 300 & echo $! > \"$F\"; sleep 300",
    ];
    for script in scripts {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("f");
        let script = format!("F={}; echo $$ > {0}.leader; echo started; {script}", file.display());
        let after = Duration::from_secs(1);
        let since = Instant::now();
        let one = Call { timeout: Some(after), ..call(vec![entry(1, "{}")]) };
        let outcome = outcome_of(&handler(&["sh", "-c", &script]), one).await;
        assert!(since.elapsed() < Duration::from_secs(7), "{script} took {:?}", since.elapsed());
        assert_eq!(outcome, Outcome::TimedOut { after, output: Some("started\n".to_owned()) });
        for file in [file.clone(), PathBuf::from(format!("{}.leader", file.display()))] {
            let pid = pid_in(&file);
            assert!(!left_behind(&pid), "{script} left {:?} behind", process(&pid));
        }
    }
}

#[actix::test]
async fn a_term_that_is_heeded_ends_the_call_at_once() {
    let one = Call { timeout: Some(Duration::from_millis(300)), ..call(vec![entry(1, "{}")]) };
    let since = Instant::now();
    let script = "trap 'echo cleaned up; exit 0' TERM; while :; do sleep 0.05; done";
    let outcome = outcome_of(&handler(&["sh", "-c", script]), one).await;
    assert!(
        matches!(&outcome, Outcome::TimedOut { output: Some(text), .. } if text.ends_with("cleaned up\n")),
        "{outcome:?}"
    );
    assert!(since.elapsed() < Duration::from_secs(3), "{:?}", since.elapsed());
}

#[actix::test]
async fn what_a_leader_leaves_behind_is_ended_and_does_not_hold_the_call() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("f");
    let since = Instant::now();
    // The grandchild holds standard output and standard error open.
    let text = output_of(&format!("sleep 300 & echo $! > {}; echo done", file.display())).await;
    assert_eq!(text, "done\n");
    assert!(!left_behind(&pid_in(&file)));
    assert!(since.elapsed() < Duration::from_secs(3), "{:?}", since.elapsed());

    // It is asked to end before it is made to.
    let bye = directory.path().join("bye");
    let ready = directory.path().join("ready");
    let rest = "while :; do sleep 0.05; done";
    let left = format!("(trap 'echo > {}; exit' TERM; echo > {}; {rest})", bye.display(), ready.display());
    output_of(&format!("{left} & until [ -e {} ]; do sleep 0.01; done", ready.display())).await;
    assert!(bye.exists());

    // One that has left the group keeps the pipe, and keeps nobody waiting for it.
    let since = Instant::now();
    assert_eq!(output_of(&format!("setsid sleep 300 & echo $! > {}; echo done", file.display())).await, "done\n");
    assert!(since.elapsed() < Duration::from_secs(3), "{:?}", since.elapsed());
    Command::new("kill").args(["-9", &pid_in(&file)]).stderr(Stdio::null()).status().expect("kill");
}

#[actix::test]
async fn a_stop_hands_back_and_ends_the_group_soon() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("f");
    let script = format!("trap '' TERM; sleep 300 & echo $! > {}; sleep 300", file.display());
    let one = Call { timeout: None, ..call(vec![entry(1, "{}")]) };
    let stop = one.stop.clone();
    let at = thread::spawn({
        let file = file.clone();
        move || {
            pid_in(&file);
            stop.cancel();
            Instant::now()
        }
    });
    assert_eq!(outcome_of(&handler(&["sh", "-c", &script]), one).await, Outcome::HandedBack);
    let took = at.join().expect("the thread").elapsed();
    assert!(took < Duration::from_secs(2), "{took:?}");
    assert!(!left_behind(&pid_in(&file)));
    let stopped = call(vec![entry(1, "{}")]);
    stopped.stop.cancel();
    assert_eq!(outcome_of(&handler(&["sh", "-c", "exit 1"]), stopped).await, Outcome::HandedBack);
}

#[actix::test]
async fn a_call_that_is_dropped_leaves_nothing_behind() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("f");
    let handler = handler(&["sh", "-c", &format!("sleep 300 & echo $! > {}; sleep 300", file.display())]);
    let seen = actix_web::web::block({
        let file = file.clone();
        move || pid_in(&file)
    });
    tokio::select! {
        outcome = outcome_of(&handler, call(vec![entry(1, "{}")])) => panic!("{outcome:?}"),
        pid = seen => {
            let pid = pid.expect("a process id");
            until(SOON, "the end of the group", || process(&pid).is_none_or(|(state, _)| state == 'Z'));
        }
    }
}

/// Not a test: what the next one kills.
#[actix::test]
#[ignore = "started by kill_9_of_the_node_takes_its_programs_along"]
async fn a_node_that_is_killed() {
    let Ok(file) = std::env::var("SOLOIST_TEST_FILE") else { return };
    let script = format!("trap '' TERM; sleep 300 & echo $! > {file}; echo $$ > {file}.leader; sleep 300; true");
    outcome_of(&handler(&["sh", "-c", &script]), Call { timeout: None, ..call(vec![entry(1, "{}")]) }).await;
}

#[test]
fn kill_9_of_the_node_takes_its_programs_along() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("f");
    let mut node = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "a_node_that_is_killed", "--ignored"])
        .env("SOLOIST_TEST_FILE", &file)
        .stdout(Stdio::null())
        .spawn()
        .expect("a node");
    let pids = [pid_in(&file), pid_in(&PathBuf::from(format!("{}.leader", file.display())))];
    node.kill().expect("kill -9");
    node.wait().expect("its end");
    let ended = |pid: &String| process(pid).is_none_or(|(state, _)| state == 'Z');
    until(SOON, "the end of the program and of what it had started", || pids.iter().all(ended));
}

#[actix::test]
async fn who_adopts_orphans_reaps_them() {
    adopt_orphans();
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("f");
    output_of(&format!("sleep 300 & echo $! > {}", file.display())).await;
    assert_eq!(process(&pid_in(&file)), None);
}
