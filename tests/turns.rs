#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
//! SQLite has one writer at a time: who waits for a turn gets it, whoever else writes, and no lease ends meanwhile.

#[path = "processes/setting.rs"]
mod setting;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use house::{Backend, Hook, Node, TestDatabase, numbers, until};
use setting::{SOON, config, enqueue, migrate, states, stop, until_completed};

/// A foreign program that holds the write lock for `held` of every `round` seconds, until it is dropped.
struct Foreign(Child);

impl Foreign {
    fn start(path: &Path, held: f64, round: f64) -> Self {
        const PROGRAM: &str = "
import sqlite3, sys, time
connection = sqlite3.connect(sys.argv[1], timeout=5, isolation_level=None)
held, between = float(sys.argv[2]), float(sys.argv[3])
while True:
    connection.execute('BEGIN IMMEDIATE')
    connection.execute('INSERT INTO theirs VALUES (1)')
    time.sleep(held)
    connection.execute('COMMIT')
    time.sleep(between)
";
        let python = std::env::var_os("SOLOIST_TEST_PYTHON").unwrap_or_else(|| "python3".into());
        let mut command = Command::new(python);
        command.args(["-c", PROGRAM]).arg(path).args([held.to_string(), (round - held).to_string()]);
        Self(command.stdin(Stdio::null()).spawn().expect("Python runs"))
    }
}

impl Foreign {
    /// It got its turn each time: it ends at the first `database is locked`.
    #[track_caller]
    fn assert_undisturbed(&mut self) {
        assert!(matches!(self.0.try_wait(), Ok(None)), "the application beside waited 5 s in vain");
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(config: &str, count: usize) -> Vec<Node> {
    let nodes: Vec<_> = (0..count).map(|_| Node::start(config)).collect();
    nodes.into_iter().map(Node::wait_ready).collect()
}

/// Each node that was started still is the one that it was.
#[track_caller]
fn assert_no_lease_lost(database: &TestDatabase, nodes: &[Node]) {
    let logs: String = nodes.iter().map(Node::log).collect();
    let told: Vec<_> = logs.lines().filter(|line| line.contains("gives up its claims")).collect();
    assert!(told.is_empty(), "{told:#?}");
    let incarnations = database.number("SELECT count(*) FROM soloist_nodes");
    assert_eq!(incarnations, i64::try_from(nodes.len()).unwrap(), "a lease was lost");
}

fn assert_no_errors(nodes: &[Node]) {
    for node in nodes {
        let log = node.log();
        let errors: Vec<_> = log.lines().filter(|line| line.contains("ERROR")).collect();
        assert!(errors.is_empty(), "{errors:#?}");
    }
}

#[test]
fn a_foreign_program_that_holds_the_lock_disturbs_nothing() {
    let Some(database) = TestDatabase::new(Backend::Sqlite) else { return };
    let path = database.path().unwrap();
    migrate(&database);
    database.sql("CREATE TABLE worked (entry INTEGER NOT NULL); CREATE TABLE theirs (n INTEGER)");
    let entries = numbers(500, 2000);
    let hook = Hook::start(|_| 204);
    let tasks = format!(
        "[tasks.sql]\nsql = \"INSERT INTO worked VALUES (:entry_id)\"\nconcurrency = 4\n\
         [tasks.hook]\nhttp = {{ url = \"{}\" }}\nconcurrency = 8\n",
        hook.url("/")
    );
    let nodes = start(&config(&database, "", "lease = \"6s\"", &tasks), 3);
    let (held, round) = numbers((1.0, 1.5), (2.0, 3.0));
    let mut foreign = Foreign::start(path, held, round);
    until(SOON, "the foreign program has written", || database.number("SELECT count(*) FROM theirs") > 0);
    let begun = Instant::now();
    let (mut journal, mut accepted) = (0, 0);
    // A part in each round, so that work meets locked and free moments alike.
    let rounds = numbers(10, 20);
    for turn in 0..rounds {
        for task in ["sql", "hook"] {
            enqueue(&database, task, turn * entries / 2 / rounds..(turn + 1) * entries / 2 / rounds);
        }
        while begun.elapsed().as_secs_f64() < round * f64::from(u32::try_from(turn + 1).unwrap()) {
            let answer = nodes[0].api("POST", "/api/v1/entries", "{\"task\": \"sql\", \"payload\": {}}");
            assert_eq!(answer.status, 201, "{answer:?}");
            accepted += 1;
            assert_eq!(nodes[1].api("GET", "/api/v1/status", "").status, 200);
            let wal = std::fs::metadata(path.with_extension("db-wal")).map_or(0, |file| file.len());
            journal = journal.max(wal);
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    until_completed(&database, "sql", entries / 2 + accepted);
    until_completed(&database, "hook", entries / 2);
    foreign.assert_undisturbed();
    drop(foreign);
    println!("{entries} + {accepted} entries in {:?}; the journal grew to {journal} bytes", begun.elapsed());
    let sql = i64::try_from(entries / 2 + accepted).unwrap();
    assert_eq!(database.number("SELECT count(*) FROM worked"), sql);
    assert_eq!(database.number("SELECT count(DISTINCT entry) FROM worked"), sql);
    assert_eq!(hook.count(), entries / 2);
    assert_eq!(database.number("SELECT count(*) FROM soloist_attempts"), 0, "an attempt failed");
    assert_eq!(database.number("SELECT count(*) FROM soloist_entries WHERE error IS NOT NULL"), 0);
    assert!(journal < 64 << 20, "the journal grew to {journal} bytes");
    assert_no_lease_lost(&database, &nodes);
    assert_no_errors(&nodes);
    let mut nodes = nodes;
    stop(&mut nodes);
}

#[test]
fn a_load_of_transactions_starves_no_heartbeat() {
    let Some(database) = TestDatabase::new(Backend::Sqlite) else { return };
    migrate(&database);
    database.sql("CREATE TABLE worked (entry INTEGER NOT NULL, squares INTEGER); CREATE TABLE theirs (n INTEGER)");
    let entries = numbers(5000, 20_000);
    // Each takes a few milliseconds, so that the lock is held nearly all the time.
    let tasks = "[tasks.sql]\nconcurrency = 8\nsql = \"INSERT INTO worked SELECT :entry_id, sum(n * n) FROM \
                 (WITH RECURSIVE up(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM up WHERE n < 5000) SELECT n FROM up)\"\n";
    let nodes = start(&config(&database, "", "lease = \"1s\"", tasks), 3);
    let begun = Instant::now();
    enqueue(&database, "sql", 0..entries);
    let mut foreign = Foreign::start(database.path().unwrap(), 0.0, 0.2);
    while database.number("SELECT count(*) FROM soloist_entries WHERE state <> 'completed'") > 0 {
        assert!(begun.elapsed() < Duration::from_secs(240), "{}", states(&database, "sql"));
        std::thread::sleep(Duration::from_millis(100));
    }
    foreign.assert_undisturbed();
    let theirs = database.number("SELECT count(*) FROM theirs");
    println!("{entries} entries in {:?}; the application beside wrote {theirs} rows", begun.elapsed());
    let worked = i64::try_from(entries).unwrap();
    assert_eq!(database.number("SELECT count(DISTINCT entry) FROM worked"), worked);
    assert_eq!(database.number("SELECT count(*) FROM worked"), worked);
    let late: Vec<_> = nodes.iter().map(|node| node.log().matches("could not be renewed").count()).collect();
    println!("renewals that had to be repeated: {late:?}");
    assert_no_lease_lost(&database, &nodes);
    assert_no_errors(&nodes);
}
