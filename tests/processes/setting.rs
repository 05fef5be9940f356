//! What tests with several processes share: the configuration of a node, entries, what the database says of them.
#![allow(dead_code)] // each test binary uses a part

use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use house::{Backend, Node, Signal, TestDatabase, soloist, until};

/// For what takes a moment; long, since the machine may be busy.
pub const SOON: Duration = Duration::from_secs(60);

/// A configuration: lines of `[database]`, lines of `[node]`, and the tasks.
pub fn config(database: &TestDatabase, of_database: &str, of_node: &str, tasks: &str) -> String {
    format!("[database]\nurl = \"{}\"\n{of_database}\n[node]\npoll = \"100ms\"\n{of_node}\n{tasks}\n", database.url())
}

/// Brings a database to the schema before any node runs.
pub fn migrate(database: &TestDatabase) {
    let migrated = soloist().arg("migrate").env("DATABASE_URL", database.url()).current_dir("/").output();
    let migrated = migrated.expect("the binary runs");
    assert!(migrated.status.success(), "{}", String::from_utf8_lossy(&migrated.stderr));
}

/// Enqueues entries with the payloads `{"n": N}` by plain SQL.
pub fn enqueue(database: &TestDatabase, task: &str, numbers: Range<usize>) {
    let values: Vec<_> = numbers.map(|n| format!("('{task}', '{{\"n\": {n}}}')")).collect();
    for part in values.chunks(1000) {
        database.sql(&format!("INSERT INTO soloist_entries (task, payload) VALUES {}", part.join(", ")));
    }
}

/// The entries of a task by state, as in `2 completed, 1 pending`.
pub fn states(database: &TestDatabase, task: &str) -> String {
    let sql =
        format!("SELECT count(*), state FROM soloist_entries WHERE task = '{task}' GROUP BY state ORDER BY state");
    let rows = database.query(&sql).into_iter();
    let words = rows.map(|row| row.into_iter().flatten().collect::<Vec<_>>().join(" "));
    words.collect::<Vec<_>>().join(", ")
}

/// Waits until all entries of a task have completed.
#[track_caller]
pub fn until_completed(database: &TestDatabase, task: &str, entries: usize) {
    let wanted = format!("{entries} completed");
    let mut last = String::new();
    let limit = SOON.max(Duration::from_millis(20) * u32::try_from(entries).unwrap_or(u32::MAX));
    let start = std::time::Instant::now();
    until(limit, &format!("{wanted} of {task}"), || {
        last = states(database, task);
        if start.elapsed() + Duration::from_secs(1) > limit {
            println!("{task}: {last}");
        }
        last == wanted
    });
}

/// The database's clock in microseconds.
pub fn clock(database: &TestDatabase) -> i64 {
    database.number(&format!("SELECT {}", now(database)))
}

/// The expression that reads it.
pub fn now(database: &TestDatabase) -> &'static str {
    match database.backend() {
        Backend::Sqlite => "CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)",
        Backend::Postgres => "CAST(floor(extract(epoch from clock_timestamp()) * 1000000) AS BIGINT)",
        Backend::MariaDb | Backend::MySql => "CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED)",
    }
}

/// Stops a process between its transactions: on SQLite a process that is stopped inside one stops every other.
pub fn pause(database: &TestDatabase, node: &Node) {
    until(SOON, "the node is caught outside of a transaction", || {
        node.signal(Signal::STOP);
        let free = database.backend() != Backend::Sqlite
            || database.try_sql("PRAGMA busy_timeout = 100; BEGIN IMMEDIATE; COMMIT;").is_ok();
        if !free {
            node.signal(Signal::CONT);
        }
        free
    });
}

/// Stops nodes cleanly.
#[track_caller]
pub fn stop(nodes: &mut [Node]) {
    for node in nodes.iter() {
        node.signal(Signal::TERM);
    }
    for node in nodes {
        assert_eq!(node.exit_code(), Some(0), "{}", node.log());
    }
}

/// Closed until it is opened, then open for good.
#[derive(Clone, Default)]
pub struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    /// Waits until it is open.
    pub fn pass(&self) {
        let open = self.0.0.lock().expect("no holder panics");
        drop(self.0.1.wait_while(open, |open| !*open).expect("no holder panics"));
    }

    /// Opens it.
    pub fn open(&self) {
        *self.0.0.lock().expect("no holder panics") = true;
        self.0.1.notify_all();
    }
}
