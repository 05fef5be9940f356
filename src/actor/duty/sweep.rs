//! Sweep: pending rows of sources become entries, a step at a time; over all nodes one works at a sweep.

use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;

use super::{DutyActor, Look, gone};
use crate::actor::message::{Perform, Wake};
use crate::error::Result;
use crate::store::plan::TaskPlan;
use crate::store::sweeps::{self, Step};
use crate::store::{Connection, source::TableSource};

/// How soon a sweep looks again that waits for entries to end.
const FULL: Duration = Duration::from_millis(100);

/// Steps of one task in one turn: others have theirs between.
const TURN: usize = 8;

impl DutyActor {
    pub(super) fn sweep(&mut self, _: &mut Context<Self>) -> Look {
        let Some(node_id) = self.node_id else { return Box::pin(std::future::ready(Ok(None))) };
        let wiring = self.wiring.clone();
        let plans: Vec<_> = self.plans.iter().filter(|plan| plan.source.is_some()).cloned().collect();
        Box::pin(async move {
            let mut soon: Option<Duration> = None;
            let mut failed = None;
            for plan in plans {
                let (tell, told) = tokio::sync::oneshot::channel();
                let (lease, scheduler) = (wiring.lease, wiring.scheduler.clone());
                let turn = Perform {
                    what: "sweeping",
                    work: Box::new(move |connection| {
                        let step = take_turn(connection, &plan, node_id, lease, || scheduler.do_send(Wake));
                        // The receiver waits on the same future: it cannot be gone.
                        let _ = tell.send(step.map_err(|error| error.context(format!("task {}", plan.name()))));
                        Ok(false)
                    }),
                };
                wiring.sweeps.send(turn).await.map_err(|error| gone(&error))??;
                match told.await {
                    Ok(Ok(wait)) => soon = [soon, wait].into_iter().flatten().min(),
                    // One task's trouble does not keep the others from their turn.
                    Ok(Err(error)) => failed = Some(error),
                    Err(_) => {}
                }
            }
            failed.map_or(Ok(soon), Err)
        })
    }
}

/// How soon to look again, if not in the usual time.
fn take_turn(
    connection: &mut Connection,
    plan: &TaskPlan,
    node_id: i64,
    lease: Duration,
    wake: impl Fn(),
) -> Result<Option<Duration>> {
    let (Some(source), Some(config)) = (&plan.source, &plan.config.source) else { return Ok(None) };
    let source: &Arc<TableSource> = source;
    let task = plan.name();
    let every = config.every.unwrap_or(Duration::MAX);
    if config.every.is_some() {
        sweeps::request_due(connection, task, every)?;
    }
    for _ in 0..TURN {
        match sweeps::step(connection, source, task, node_id, lease, config.ahead)? {
            Step::Collected(entries) => {
                if entries > 0 {
                    wake();
                }
            }
            Step::Full => return Ok(Some(FULL)),
            Step::Passed | Step::Over | Step::Nothing | Step::HeldByAnother => {
                return Ok(config.every.map(|every| every.max(FULL)));
            }
        }
    }
    Ok(Some(Duration::ZERO))
}
