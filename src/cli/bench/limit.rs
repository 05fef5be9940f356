//! The bare limit: the statements of claim and finish in two connections, prepared, with no actor between.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::ground::{Ground, blocking};
use crate::actor::scheduler::BATCH;
use crate::cli::enqueue::progress;
use crate::error::{Error, Result};
use crate::store::claim::{self, ClaimRequest, Claimant};
use crate::store::settle::{self, Context, Settlement, Verdict};
use crate::store::{Connection, nodes};

/// Connections.
const CONNECTIONS: usize = 2;

/// Claims and finishes so many entries; entries a second.
pub(super) async fn measure(ground: &Ground, count: usize) -> Result<f64> {
    let ground = ground.clone();
    blocking(move || {
        nodes::renew(&mut *ground.store.work()?, ground.node_id, ground.config.node.lease)?;
        let bar = progress(count).with_prefix("limit");
        let done = AtomicUsize::new(0);
        let start = Instant::now();
        let worked = in_threads(CONNECTIONS, || work(&ground, count, &done, |done| bar.set_position(done as u64)));
        let took = start.elapsed().as_secs_f64();
        bar.finish_and_clear();
        worked.map(|()| count as f64 / took)
    })
    .await
}

fn work(ground: &Ground, count: usize, done: &AtomicUsize, watch: impl Fn(usize)) -> Result<()> {
    let lease = ground.config.node.lease;
    let claimant = Claimant {
        node_id: ground.node_id,
        strategy: ground.store.strategy,
        installation: ground.mark.as_str().into(),
    };
    let request = ClaimRequest {
        task: ground.task("limit"),
        limit: BATCH,
        max_attempts: 10,
        free_key: false,
        at_most_once: false,
        source: None,
    };
    let mut connection = ground.store.work()?;
    let mut renewed = Instant::now();
    while done.load(Ordering::Relaxed) < count {
        ground.stop.check()?;
        if renewed.elapsed() > lease / 3 {
            nodes::renew(&mut connection, ground.node_id, lease)?;
            renewed = Instant::now();
        }
        match once(&mut connection, &claimant, &request) {
            // The other connection holds the rest.
            Ok(0) => std::thread::sleep(Duration::from_micros(200)),
            Ok(finished) => watch(done.fetch_add(finished, Ordering::Relaxed) + finished),
            Err(error) if error.is_transient() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn once(connection: &mut Connection, claimant: &Claimant, request: &ClaimRequest) -> Result<usize> {
    let claimed = claim::claim(connection, claimant, request, &[0])?;
    let settlement = |entry: &crate::model::Entry| {
        Settlement::new(entry.id, entry.claim, entry.attempt, Verdict::Completed { output: None })
    };
    let settlements: Vec<_> = claimed.entries.iter().map(settlement).collect();
    if settlements.is_empty() {
        return Ok(0);
    }
    let context = Context { node_id: claimant.node_id, source: None, drop_completed: false, drop_failed: false };
    // What is claimed must be finished, or the count would never be reached.
    loop {
        match settle::settle(connection, &context, &settlements) {
            Ok(settled) => return Ok(settlements.len() - settled.lost.len()),
            Err(error) if error.is_transient() => {}
            Err(error) => return Err(error),
        }
    }
}

/// Runs the same work in several threads; the first error of any.
pub(super) fn in_threads(threads: usize, work: impl Fn() -> Result<()> + Sync) -> Result<()> {
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(&work)).collect();
        let ended = running
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| Err(Error::internal("a thread of the bench panicked"))));
        ended.collect::<Vec<_>>().into_iter().collect()
    })
}
