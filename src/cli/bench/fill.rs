//! Enqueueing: entries a second, a thousand in one transaction.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use super::ground::{Ground, blocking};
use crate::cli::enqueue::progress;
use crate::config::DatabaseUrl;
use crate::error::Result;
use crate::model::NewEntry;
use crate::store::entries;

/// Entries of one transaction.
const BATCH: usize = 1000;

/// Accepts so many entries of one part; entries a second.
pub(super) async fn measure(ground: &Ground, part: &str, count: usize) -> Result<f64> {
    let (ground, task) = (ground.clone(), ground.task(part));
    blocking(move || {
        let bar = progress(count).with_prefix("enqueue");
        let start = Instant::now();
        let filled = fill(&ground, &task, count, |done| bar.set_position(done as u64));
        let took = start.elapsed().as_secs_f64();
        bar.finish_and_clear();
        filled.map(|()| count as f64 / took)
    })
    .await
}

fn fill(ground: &Ground, task: &str, count: usize, watch: impl Fn(usize) + Sync) -> Result<()> {
    // SQLite has one writer.
    let connections = if matches!(ground.config.database.url, DatabaseUrl::Sqlite { .. }) { 1 } else { 2 };
    let taken = AtomicUsize::new(0);
    let work = || {
        let mut connection = ground.store.work()?;
        loop {
            ground.stop.check()?;
            let first = taken.fetch_add(BATCH, Ordering::Relaxed);
            if first >= count {
                return Ok(());
            }
            let last = (first + BATCH).min(count);
            let new: Vec<_> = (first..last).map(|n| NewEntry::new(task, format!("{{\"n\":{n}}}"))).collect();
            entries::insert(&mut connection, &new)?;
            watch(last);
        }
    };
    super::limit::in_threads(connections, work)
}
