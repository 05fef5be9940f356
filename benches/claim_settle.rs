//! Claim and finish by the store alone, batch by batch: `cargo bench --bench claim_settle`. On a SQLite file, or on the
//! empty database that `SOLOIST_BENCH_URL` names, whose tables of Soloist are made before and dropped after.
#![allow(clippy::unwrap_used)]

use std::time::{Duration, Instant};

use soloist::config::{Database, DatabaseUrl};
use soloist::model::NewEntry;
use soloist::store::claim::{self, ClaimRequest, Claimant};
use soloist::store::settle::{self, Context, Settlement, Verdict};
use soloist::store::{Connection, Store, entries, migrate, nodes};

const ENTRIES: usize = 20_000;
const LEASE: Duration = Duration::from_secs(600);

fn main() {
    let directory = tempfile::tempdir().unwrap();
    let file = format!("sqlite:{}", directory.path().join("bench.db").display());
    let url = std::env::var("SOLOIST_BENCH_URL").unwrap_or(file);
    let database = Database { url: DatabaseUrl::parse(&url).unwrap(), ..Database::default() };
    let store = Store::new(&database, LEASE, 1);
    let mut connection = store.work().unwrap();
    migrate::up(&mut connection).unwrap();
    println!("{}", database.url.describe());
    let node_id = nodes::register(&mut connection, "bench", &[], LEASE).unwrap();
    let claimant = Claimant { node_id, strategy: store.strategy, installation: "bench".into() };
    for batch in [1, 10, 100, 1000] {
        let count = ENTRIES.min(batch * 1000);
        for chunk in vec![NewEntry::new("bench", "{\"n\":1}"); count].chunks(1000) {
            entries::insert(&mut connection, chunk).unwrap();
        }
        let start = Instant::now();
        let finished = drain(&mut connection, &claimant, batch);
        assert_eq!(finished, count);
        let rate = count as f64 / start.elapsed().as_secs_f64();
        println!("batches of {batch:4}: {rate:8.0} entries a second, claimed and finished");
    }
    migrate::down(&mut connection).unwrap();
}

fn drain(connection: &mut Connection, claimant: &Claimant, limit: usize) -> usize {
    let request = ClaimRequest {
        task: "bench".into(),
        limit,
        max_attempts: 1,
        free_key: false,
        at_most_once: false,
        source: None,
    };
    let context = Context { node_id: claimant.node_id, source: None, drop_completed: false, drop_failed: false };
    let mut finished = 0;
    loop {
        let claimed = claim::claim(connection, claimant, &request, &[0]).unwrap();
        if claimed.entries.is_empty() {
            return finished;
        }
        let completed = |entry: &soloist::model::Entry| {
            Settlement::new(entry.id, entry.claim, entry.attempt, Verdict::Completed { output: None })
        };
        let settlements: Vec<_> = claimed.entries.iter().map(completed).collect();
        settle::settle(connection, &context, &settlements).unwrap();
        finished += settlements.len();
    }
}
