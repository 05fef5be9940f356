//! The wait from commit to start on an idle node: entries inserted one by one by another connection, each timed from
//! the return of its commit to the first line of its handler, both on the monotonic clock of this process.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::ground::{Ground, blocking};
use super::nodes::BenchNode;
use crate::error::{Error, Result};
use crate::model::NewEntry;
use crate::model::start_times::StartTimes;
use crate::store::entries;

/// Entries before the first that is measured: connections are opened, statements prepared.
const WARM: usize = 20;

/// Entries that are measured.
const MEASURED: usize = 300;

/// How long the last of them may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// The waits, shortest first.
pub(super) async fn measure(ground: &Ground, node: &BenchNode) -> Result<Vec<Duration>> {
    let (ground, times) = (ground.clone(), node.times.clone());
    blocking(move || {
        insert(&ground, WARM)?;
        wait_for(&ground, &times, WARM)?;
        let committed = insert(&ground, MEASURED)?;
        wait_for(&ground, &times, WARM + MEASURED)?;
        let started: HashMap<_, _> = times.noted().into_iter().collect();
        let wait = |(id, at): (i64, Instant)| started.get(&id).map(|started| started.saturating_duration_since(at));
        let mut waits: Vec<_> = committed.into_iter().filter_map(wait).collect();
        waits.sort_unstable();
        Ok(waits)
    })
    .await
}

/// Inserts entries one by one, 5 to 20 ms apart; when each commit had returned.
fn insert(ground: &Ground, count: usize) -> Result<Vec<(i64, Instant)>> {
    let mut connection = ground.store.read()?;
    let new = [NewEntry::new(ground.task("start"), "null")];
    let mut committed = Vec::with_capacity(count);
    for _ in 0..count {
        ground.stop.check()?;
        std::thread::sleep(Duration::from_micros(fastrand::u64(5_000..20_000)));
        let ids = entries::insert(&mut connection, &new)?;
        let now = Instant::now();
        committed.extend(ids.into_iter().map(|id| (id, now)));
    }
    Ok(committed)
}

fn wait_for(ground: &Ground, times: &StartTimes, count: usize) -> Result<()> {
    let start = Instant::now();
    while times.noted().len() < count {
        ground.stop.check()?;
        if start.elapsed() > PATIENCE + ground.config.node.poll * 2 {
            let seconds = start.elapsed().as_secs();
            return Err(Error::transient(format!("entries were not started within {seconds} s of their commit")));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}
