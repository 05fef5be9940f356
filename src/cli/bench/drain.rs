//! The drain: entries a second through the whole of a node, from the claim to the recorded end.

use std::time::{Duration, Instant};

use super::ground::{Ground, blocking};
use super::nodes::{BenchNode, Others};
use crate::actor::message::Observe;
use crate::cli::enqueue::progress;
use crate::error::{Error, Result};
use crate::model::By;
use crate::store::{bench, tasks};

/// Lets all nodes go and waits until nothing is left; entries a second.
pub(super) async fn measure(ground: &Ground, node: &BenchNode, mut others: Others, count: usize) -> Result<f64> {
    others.wait_ready(ground).await?;
    let bar = progress(count).with_prefix("drain");
    let before = node.node.scheduler.send(Observe).await.map_err(gone)?.recorded;
    let (store, task) = (ground.store.clone(), ground.task("drain"));
    let start = Instant::now();
    {
        let (store, task) = (store.clone(), task.clone());
        blocking(move || tasks::resume(&mut *store.work()?, &task, &By::itself("bench"))).await?;
    }
    node.node.wake();
    others.go();
    loop {
        ground.stop.check()?;
        let activity = node.node.scheduler.send(Observe).await.map_err(gone)?;
        bar.set_position(activity.recorded - before);
        if activity.outstanding + activity.claiming == 0 {
            let (store, task) = (store.clone(), task.clone());
            if blocking(move || bench::unfinished(&mut *store.work()?, &task)).await? == 0 {
                break;
            }
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let took = start.elapsed().as_secs_f64();
    bar.finish_and_clear();
    others.stop();
    let completed = blocking(move || bench::completed(&mut *store.work()?, &task)).await?;
    if usize::try_from(completed) != Ok(count) {
        return Err(Error::transient(format!("{completed} of {count} entries were completed, the others failed")));
    }
    Ok(count as f64 / took)
}

fn gone(error: actix::MailboxError) -> Error {
    Error::internal(format!("the SchedulerActor is gone: {error}"))
}
