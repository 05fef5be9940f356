//! The plans of every statement of claim, finish, rescue, sweep and prune: none reads the table of entries whole, none
//! sorts, whatever is in the table and whatever the server knows of it.
//!
//! The statements are those that ran: real calls of the store on a filled database are recorded, then explained there
//! and on an empty one, before and after the server has looked at what is in the tables.
#![cfg(feature = "testing")]
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "plans/calls.rs"]
mod calls;
#[path = "plans/explain.rs"]
mod explain;
#[path = "plans/fill.rs"]
mod fill;
#[path = "plans/pages.rs"]
mod pages;

use std::time::{Duration, Instant};

use house::{Backend, TestDatabase, on_every_backend};
use soloist::config::{Database, DatabaseUrl, NodeRole};
use soloist::model::Entry;
use soloist::store::claim::{self, ClaimRequest, Claimant};
use soloist::store::settle::{self, Context, Settlement, Verdict};
use soloist::store::{Store, migrate, nodes};

const LEASE: Duration = Duration::from_secs(600);

fn open(database: &TestDatabase) -> Store {
    let url = DatabaseUrl::parse(&database.url()).unwrap();
    let store = Store::new(&Database { url, connections: 4, ..Database::default() }, LEASE, 1);
    migrate::up(&mut store.work().unwrap()).unwrap();
    store
}

fn no_statement_scans_or_sorts(database: &TestDatabase) {
    let empty = TestDatabase::new(database.backend()).unwrap();
    let (full_store, empty_store) = (open(database), open(&empty));
    fill::tables(database);
    fill::tables(&empty);
    fill::rows(database);
    let recorded = calls::all(&full_store);
    assert!(recorded.len() > 60, "only {} statements were recorded", recorded.len());
    let mut found = Vec::new();
    for (what, store, database) in [("full", &full_store, database), ("empty", &empty_store, &empty)] {
        for (then, look) in [("", false), (", analyzed", true)] {
            if look {
                fill::analyze(database);
            }
            // PostgreSQL rightly scans an empty table; that it does not go on so is proved below.
            if what == "full" || database.backend() != Backend::Postgres {
                found.extend(explain::all(&mut store.work().unwrap(), &format!("{what}{then}"), &recorded));
            }
        }
    }
    assert!(found.is_empty(), "{} plans scan or sort:\n\n{}", found.len(), found.join("\n\n"));
}

/// What is claimed and finished while there is next to nothing in the table gives PostgreSQL plans that read it whole;
/// they must not outlive that, though nobody analyzes it.
fn plans_of_an_empty_table_are_forgotten(database: &TestDatabase) {
    let store = open(database);
    let mut connection = store.work().unwrap();
    if database.backend() == Backend::Postgres {
        database.sql("ALTER TABLE soloist_entries SET (autovacuum_enabled = off); VACUUM ANALYZE soloist_entries");
    }
    let node_id = nodes::register(&mut connection, "n", &[NodeRole::Worker], LEASE).unwrap();
    let mut once = || {
        let start = Instant::now();
        let claimant = Claimant { node_id, strategy: store.strategy, installation: "plans".into() };
        let request = ClaimRequest {
            task: "t".to_owned(),
            limit: 10,
            max_attempts: 3,
            free_key: false,
            at_most_once: false,
            source: None,
        };
        let due = claim::look(&mut connection, &claimant, std::slice::from_ref(&request)).unwrap().pop().unwrap();
        let claimed = claim::claim_due(&mut connection, &claimant, &request, due).unwrap();
        let done = |e: &Entry| Settlement::new(e.id, e.claim, e.attempt, Verdict::Completed { output: None });
        let done: Vec<_> = claimed.entries.iter().map(done).collect();
        settle::settle(&mut connection, &Context::ending(node_id), &done).unwrap();
        (done.len(), start.elapsed())
    };
    let insert = "INSERT INTO soloist_entries (task) SELECT 't' FROM";
    for _ in 0..20 {
        database.sql(&format!("{insert} (SELECT 1 AS one) AS one"));
        assert_eq!(once().0, 1);
    }
    database.sql(&format!("{insert} {}", fill::numbers()));
    std::thread::sleep(Duration::from_millis(1100));
    once();
    let mut times: Vec<_> = (0..100).map(|_| once()).collect();
    assert!(times.iter().all(|(entries, _)| *entries == 10));
    times.sort_by_key(|(_, time)| *time);
    println!("10 claimed and finished in {:?}, at most {:?}", times[50].1, times[99].1);
    // With a plan of the empty table it is four times as long.
    assert!(times[50].1 < Duration::from_millis(40), "{times:?}");
}

on_every_backend!(no_statement_scans_or_sorts, plans_of_an_empty_table_are_forgotten);
