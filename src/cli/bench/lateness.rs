//! How late firings are: some schedules beside each other, fired by the node for a few seconds.

use std::time::Duration;

use super::ground::{Ground, blocking};
use crate::config::schedule::{Overlap, Schedule, Trigger};
use crate::error::Result;
use crate::model::By;
use crate::store::bench;
use crate::store::schedules;

/// Schedules that fire together.
const SCHEDULES: usize = 20;

/// How often each is due.
const EVERY: Duration = Duration::from_millis(250);

/// How long they fire.
const SPAN: Duration = Duration::from_secs(3);

/// How late each firing was, the least first.
pub(super) async fn measure(ground: &Ground) -> Result<Vec<Duration>> {
    let task = ground.task("start");
    let names: Vec<_> = (0..SCHEDULES).map(|number| ground.task(&format!("firing-{number}"))).collect();
    let (store, made) = (ground.store.clone(), names.clone());
    blocking(move || {
        let mut connection = store.work()?;
        for name in made {
            let mut schedule = Schedule::new(name, task.as_str(), Trigger::Every(EVERY));
            schedule.overlap = Overlap::Allow;
            schedules::create(&mut connection, schedule, &By::itself("bench"))?;
        }
        Ok(())
    })
    .await?;
    let end = std::time::Instant::now() + SPAN;
    while std::time::Instant::now() < end {
        ground.stop.check()?;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let (store, mark) = (ground.store.clone(), ground.mark.clone());
    let mut late = blocking(move || {
        let mut connection = store.work()?;
        for name in &names {
            schedules::remove(&mut connection, name, &By::itself("bench"))?;
        }
        bench::lateness(&mut connection, &mark)
    })
    .await?;
    late.sort_unstable();
    Ok(late)
}
