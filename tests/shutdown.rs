#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
//! The end of a node: what runs is finished or handed back, no program is left behind, a lost lease ends its handlers.

#[path = "processes/lock.rs"]
mod lock;
#[path = "processes/setting.rs"]
mod setting;

use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use house::{Backend, Hook, Node, Signal, TestDatabase, numbers, on_every_backend, until};
use lock::Lock;
use setting::{SOON, clock, config, enqueue, migrate, now, states, until_completed};
use tempfile::TempDir;

/// A task whose program notes its attempt and its processes in `directory` and works for `seconds`.
fn program(task: &str, directory: &Path, seconds: u32) -> String {
    scripted(task, directory, seconds, "")
}

/// The same, but it does not end at TERM: only KILL ends it.
fn stubborn_program(task: &str, directory: &Path, seconds: u32) -> String {
    scripted(task, directory, seconds, "trap '' TERM; ")
}

fn scripted(task: &str, directory: &Path, seconds: u32, first: &str) -> String {
    let place = directory.join(task);
    let script = format!(
        "{first}sleep {seconds} & echo $$ $! >> {place}.processes; echo $SOLOIST_ATTEMPT >> {place}.attempts; wait",
        place = place.display()
    );
    format!("[tasks.{task}]\ncommand = [\"/bin/sh\", \"-c\", \"{script}\"]\n")
}

fn lines(directory: &Path, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(directory.join(name)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// The processes that a task's program noted and that live; a zombie does not.
fn living(directory: &Path, task: &str) -> Vec<String> {
    let noted = lines(directory, &format!("{task}.processes"));
    let pids = noted.iter().flat_map(|line| line.split(' ')).map(str::to_owned);
    pids.filter(|pid| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
    })
    .collect()
}

fn until_attempts(directory: &Path, task: &str, attempts: usize) {
    until(SOON, &format!("{attempts} starts of {task}"), || {
        lines(directory, &format!("{task}.attempts")).len() == attempts
    });
}

fn directory() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// Row 57: what can finish within `drain` does; the rest is pending at once, its attempt not counted.
fn a_stop_finishes_what_it_can_and_hands_back_the_rest(database: &TestDatabase) {
    let place = directory();
    let place = place.path();
    let tasks = program("short", place, 1) + &program("long", place, 60);
    let config = config(database, "", "drain = \"2s\"", &tasks);
    let mut node = Node::start(&config).wait_ready();
    enqueue(database, "long", 0..1);
    until_attempts(place, "long", 1);
    enqueue(database, "short", 0..1);
    until_attempts(place, "short", 1);
    node.signal(Signal::TERM);
    let told = Instant::now();
    assert_eq!(node.exit_code(), Some(0));
    let took = told.elapsed();
    assert!(took < Duration::from_secs(3), "it stopped after {took:?}");
    assert_eq!(living(place, "long"), [""; 0], "no program is left");
    assert_eq!(states(database, "short"), "1 completed");
    let row = database.query("SELECT state, attempt, run_at <= created_at FROM soloist_entries WHERE task = 'long'");
    assert_eq!(row[0][..2], [Some("pending".to_owned()), Some("0".to_owned())], "{row:?}");
    assert!(matches!(row[0][2].as_deref(), Some("t" | "1")), "it waits for nothing: {row:?}");

    let mut node = Node::start(&config).wait_ready();
    until_attempts(place, "long", 2);
    assert_eq!(lines(place, "long.attempts"), ["1", "1"]);
    node.signal(Signal::TERM);
    assert_eq!(node.exit_code(), Some(0));
}

fn a_second_signal_ends_a_node_at_once(database: &TestDatabase) {
    let place = directory();
    let place = place.path();
    let tasks = stubborn_program("long", place, 60);
    let mut node = Node::start(&config(database, "", "drain = \"60s\"\nlease = \"1s\"", &tasks)).wait_ready();
    enqueue(database, "long", 0..1);
    until_attempts(place, "long", 1);
    node.signal(Signal::TERM);
    until(SOON, "the node has heard the first signal", || node.log().contains("stopping"));
    assert!(node.is_running());
    node.signal(Signal::TERM);
    let told = Instant::now();
    assert_eq!(node.exit_code(), Some(1));
    let took = told.elapsed();
    assert!(took < Duration::from_secs(1), "it ended after {took:?}");
    until(Duration::from_secs(5), "no program is left", || living(place, "long").is_empty());

    // What it held is taken over when its lease ends.
    let mut node = Node::start(&config(database, "", "drain = \"0s\"\nlease = \"1s\"", &tasks)).wait_ready();
    until_attempts(place, "long", 2);
    assert_eq!(lines(place, "long.attempts"), ["1", "2"]);
    node.signal(Signal::TERM);
    assert_eq!(node.exit_code(), Some(0));
    assert_eq!(living(place, "long"), [""; 0]);
}

fn an_idle_node_stops_within_a_second(database: &TestDatabase) {
    for signal in [Signal::TERM, Signal::INT] {
        let mut node =
            Node::start(&config(database, "", "name = \"idle\"", "[tasks.t]\ncommand = [\"true\"]\n")).wait_ready();
        let registered = "SELECT count(*) FROM soloist_nodes WHERE name = 'idle' AND stopped_at IS NULL";
        until(SOON, "it has a lease", || database.number(registered) == 1);
        node.signal(signal);
        let told = Instant::now();
        assert_eq!(node.exit_code(), Some(0));
        let took = told.elapsed();
        assert!(took < Duration::from_secs(1), "it stopped after {took:?}");
        assert_eq!(database.number(registered), 0, "it has given up its lease");
        let live = format!("SELECT count(*) FROM soloist_nodes WHERE lease_until > {}", now(database));
        assert_eq!(database.number(&live), 0);
    }
}

/// A claim that is on its way when the node is told to stop is worked or handed back; it is not forgotten.
fn a_claim_on_its_way_is_not_forgotten(database: &TestDatabase) {
    const ENTRIES: usize = 20;
    let hook = Hook::start(|_| 200);
    let tasks = format!("[tasks.t]\nhttp = {{ url = \"{}\" }}\nconcurrency = 8\n", hook.url("/"));
    let mut node = Node::start(&config(database, "", "drain = \"10s\"", &tasks)).wait_ready();
    let registered = "SELECT count(*) FROM soloist_nodes";
    until(SOON, "it has a lease", || database.number(registered) == 1);
    // Due only when the lock is held, so that the claim has to wait for it; on a busy machine that may take some tries.
    let (lock, due) = [1_500_000, 5_000_000, 20_000_000]
        .into_iter()
        .find_map(|ahead| {
            database.sql("DELETE FROM soloist_entries");
            let due = clock(database) + ahead;
            let values: Vec<_> = (0..ENTRIES).map(|n| format!("('t', '{n}', {due})")).collect();
            database.sql(&format!("INSERT INTO soloist_entries (task, payload, run_at) VALUES {}", values.join(", ")));
            let lock = Lock::on_entries(database);
            if clock(database) < due {
                return Some((lock, due));
            }
            drop(lock);
            until_completed(database, "t", ENTRIES);
            None
        })
        .expect("the lock is held before the entries are due");
    let called_before = hook.count();
    until(SOON, "the entries are due and the node has looked", || clock(database) > due + 500_000);
    assert_eq!(states(database, "t"), format!("{ENTRIES} pending"));
    node.signal(Signal::TERM);
    until(SOON, "the node has heard", || node.log().contains("stopping"));
    drop(lock);
    assert_eq!(node.exit_code(), Some(0));
    let count = |condition: &str| {
        usize::try_from(database.number(&format!("SELECT count(*) FROM soloist_entries WHERE {condition}"))).unwrap()
    };
    let completed = count("state = 'completed' AND attempt = 1");
    assert_eq!(completed + count("state = 'pending' AND attempt = 0"), ENTRIES, "{}", states(database, "t"));
    assert_eq!(hook.count() - called_before, completed);
    let mut node = Node::start(&config(database, "", "", &tasks)).wait_ready();
    until_completed(database, "t", ENTRIES);
    assert_eq!(hook.count() - called_before, ENTRIES, "each was called once");
    setting::stop(std::slice::from_mut(&mut node));
}

/// A node that cannot renew ends its handlers while its lease still stands, whatever their programs think of TERM.
fn a_node_that_cannot_renew_ends_its_handlers_first(database: &TestDatabase) {
    let place = directory();
    let place = place.path();
    let tasks = stubborn_program("long", place, 60);
    let mut node = Node::start(&config(database, "", "drain = \"0s\"\nlease = \"3s\"", &tasks)).wait_ready();
    enqueue(database, "long", 0..1);
    until_attempts(place, "long", 1);
    let first = "SELECT min(lease_until) FROM soloist_nodes";
    let lock = Lock::on_nodes(database);
    until(SOON, "its program is ended", || living(place, "long").is_empty());
    // The servers of tests share this host's clock; to ask them for it takes too long to tell.
    let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros();
    let until_then = u128::try_from(database.number(first)).unwrap();
    assert!(at < until_then, "it ended {} ms after its lease", (at - until_then) / 1000);
    drop(lock);
    // The same process takes its own former entry over, as another incarnation.
    until_attempts(place, "long", 2);
    assert_eq!(lines(place, "long.attempts"), ["1", "2"]);
    assert_eq!(database.number("SELECT count(*) FROM soloist_nodes"), 2);
    node.signal(Signal::TERM);
    assert_eq!(node.exit_code(), Some(0));
    assert_eq!(living(place, "long"), [""; 0]);
}

/// An SQL statement that outlasts the drain holds up no stop; nothing of it is kept.
fn a_statement_that_goes_on_holds_up_no_stop(database: &TestDatabase) {
    let slow = match database.backend() {
        Backend::Sqlite => {
            "INSERT INTO effects SELECT max(n) FROM \
             (WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 1000000000) SELECT n FROM c)"
        }
        Backend::Postgres => "INSERT INTO effects SELECT 1 FROM pg_sleep(20)",
        Backend::MariaDb | Backend::MySql => "INSERT INTO effects SELECT SLEEP(20)",
    };
    migrate(database);
    database.sql("CREATE TABLE effects (n BIGINT)");
    let both: &[bool] =
        if database.backend() == Backend::Sqlite { numbers(&[true], &[true, false]) } else { &[true, false] };
    for transaction in both.iter().copied() {
        let task = format!("slow_{transaction}");
        let tasks = format!("[tasks.{task}]\nsql = \"{slow}\"\ntransaction = {transaction}\n");
        enqueue(database, &task, 0..1);
        let mut node = Node::start(&config(database, "", "drain = \"500ms\"", &tasks)).wait_ready();
        let running = match database.backend() {
            Backend::Sqlite => None, // The one writer's turn is taken: nothing to be seen from outside.
            Backend::Postgres => Some("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"),
            _ => Some("SELECT count(*) FROM information_schema.processlist WHERE state = 'User sleep'"),
        };
        match running {
            Some(running) => until(SOON, "the statement runs", || database.number(running) > 0),
            None => until(SOON, "the statement runs", || {
                database.try_sql("PRAGMA busy_timeout = 300; BEGIN IMMEDIATE; COMMIT;").is_err()
            }),
        }
        node.signal(Signal::TERM);
        let told = Instant::now();
        assert_eq!(node.exit_code(), Some(0));
        let took = told.elapsed();
        assert!(took < Duration::from_secs(10), "it stopped after {took:?}");
        println!("{task}: stopped after {took:?}, {}", states(database, &task));
        assert_eq!(database.number("SELECT count(*) FROM effects"), 0);
        if transaction || database.backend() != Backend::Sqlite {
            let row = database.query(&format!("SELECT state, attempt FROM soloist_entries WHERE task = '{task}'"));
            assert_eq!(row[0], [Some("pending".to_owned()), Some("0".to_owned())], "{}", node.log());
        }
    }
}

on_every_backend!(
    a_stop_finishes_what_it_can_and_hands_back_the_rest,
    a_second_signal_ends_a_node_at_once,
    an_idle_node_stops_within_a_second,
    a_claim_on_its_way_is_not_forgotten,
    a_node_that_cannot_renew_ends_its_handlers_first,
    a_statement_that_goes_on_holds_up_no_stop,
);
