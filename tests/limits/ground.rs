//! What the tests of limits stand on: a store, nodes that declare a task, claims of threads.

use std::sync::Arc;
use std::time::Duration;

use house::TestDatabase;
use soloist::config::{Database, DatabaseUrl, HandlerKind, NodeRole, Task};
use soloist::model::Entry;
use soloist::store::claim::{self, ClaimRequest, Claimant, Claimed};
use soloist::store::nodes::{self, Declaration, DeclarationKind};
use soloist::store::plan::TaskPlan;
use soloist::store::server::Strategy;
use soloist::store::settle::{self, Context, Settlement, Verdict};
use soloist::store::{Connection, Store, migrate};

pub const LEASE: Duration = Duration::from_secs(60);

pub fn open(database: &TestDatabase) -> Store {
    let url = DatabaseUrl::parse(&database.url()).unwrap();
    let store = Store::new(&Database { url, connections: 8, ..Database::default() }, LEASE, 4);
    migrate::up(&mut store.work().unwrap()).unwrap();
    store
}

/// The task `t` with a change.
pub fn task(change: impl FnOnce(&mut Task)) -> Task {
    let mut task = Task::new("t", HandlerKind::Noop);
    change(&mut task);
    task
}

pub fn declare(connection: &mut Connection, node_id: i64, task: &Task, since: Option<i64>) -> i64 {
    let plan = TaskPlan::new(Arc::new(task.clone()), None, Strategy::SkipLocked);
    let of = Declaration { kind: DeclarationKind::Task, name: task.name.clone(), body: plan.declaration() };
    nodes::declare(connection, node_id, &[of], since).unwrap()
}

/// A node that declares the task.
pub fn node(connection: &mut Connection, name: &str, task: &Task, strategy: Strategy) -> Claimant {
    let node_id = nodes::register(connection, name, &[NodeRole::Worker], LEASE).unwrap();
    declare(connection, node_id, task, None);
    Claimant { node_id, strategy, installation: "test".into() }
}

pub fn request(limit: usize) -> ClaimRequest {
    ClaimRequest { task: "t".to_owned(), limit, max_attempts: 100, free_key: false, at_most_once: false, source: None }
}

/// What one look and claim bring; nothing while another transaction is in the way.
pub fn take(connection: &mut Connection, claimant: &Claimant, limit: usize) -> Claimed {
    let request = request(limit);
    let claimed = claim::look(connection, claimant, std::slice::from_ref(&request))
        .and_then(|mut due| due.pop().map(|due| claim::claim_due(connection, claimant, &request, due)).transpose());
    match claimed {
        Ok(claimed) => claimed.unwrap_or_default(),
        Err(error) if error.is_transient() => Claimed::default(),
        Err(error) => panic!("{error}"),
    }
}

/// Writes what became of entries; none of their claims may be lost.
pub fn end(connection: &mut Connection, claimant: &Claimant, entries: &[Entry], verdict: impl Fn(&Entry) -> Verdict) {
    let of = |entry: &Entry| Settlement::new(entry.id, entry.claim, entry.attempt, verdict(entry));
    let settlements: Vec<_> = entries.iter().map(of).collect();
    let settled = loop {
        match settle::settle(connection, &Context::ending(claimant.node_id), &settlements) {
            Err(error) if error.is_transient() => {}
            settled => break settled.unwrap(),
        }
    };
    assert!(settled.lost.is_empty(), "{settled:?}");
}

pub fn done(_: &Entry) -> Verdict {
    Verdict::Completed { output: None }
}

/// So many entries of `t`.
pub fn fill(database: &TestDatabase, entries: usize) {
    let rows = vec!["('t')"; entries].join(", ");
    database.sql(&format!("INSERT INTO soloist_entries (task) VALUES {rows}"));
}

/// Entries of `t` with these keys, which only say the order.
pub fn fill_keys<'a>(database: &TestDatabase, keys: impl IntoIterator<Item = &'a str>) {
    let rows: Vec<_> = keys.into_iter().map(|key| format!("('t', '{key}', 0)")).collect();
    for rows in rows.chunks(2000) {
        let rows = rows.join(", ");
        database.sql(&format!("INSERT INTO soloist_entries (task, dedupe_key, key_held) VALUES {rows}"));
    }
}

pub fn left(database: &TestDatabase) -> i64 {
    database.number("SELECT count(*) FROM soloist_entries WHERE state IN ('pending', 'running')")
}
