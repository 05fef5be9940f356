//! What the executor does with each message.

use std::rc::Rc;
use std::time::Instant;

use actix::prelude::*;
use tokio::sync::oneshot;

use super::{Ended, ExecutorActor, ReportTo};
use crate::actor::message::{
    Abandon, Configure, Drain, Execute, Finished, Incarnation, LeaseLost, OpenClaims, Recorded,
};

impl Handler<ReportTo> for ExecutorActor {
    type Result = ();

    fn handle(&mut self, message: ReportTo, _: &mut Self::Context) {
        self.scheduler = Some(message.0);
    }
}

impl Handler<Configure> for ExecutorActor {
    type Result = ();

    fn handle(&mut self, message: Configure, _: &mut Self::Context) {
        self.configure(message.plans);
    }
}

impl Handler<Incarnation> for ExecutorActor {
    type Result = ();

    fn handle(&mut self, message: Incarnation, _: &mut Self::Context) {
        self.node_id = message.claimant.node_id;
    }
}

impl Handler<LeaseLost> for ExecutorActor {
    type Result = ();

    fn handle(&mut self, _: LeaseLost, _: &mut Self::Context) {
        let lost = self.open.len();
        for open in self.open.values() {
            self.tally.meters.lost(open.task.plan.name(), 1);
        }
        self.stop_all();
        self.open.clear();
        self.acknowledger.clear();
        self.node_id = 0;
        if lost > 0 {
            tracing::warn!(lost, "claims lost with the lease; others take them over");
        }
        self.drained();
    }
}

impl Handler<Execute> for ExecutorActor {
    type Result = ();

    fn handle(&mut self, message: Execute, ctx: &mut Self::Context) {
        let Execute { claim, node_id } = message;
        let entries = claim.entries;
        let count = entries.len();
        let working = self.tasks.get(&claim.task).cloned();
        let Some(working) = working.filter(|_| node_id == self.node_id) else {
            // The lease or the task went while this was on its way. Rescue or the next look gives it back.
            if let Some(scheduler) = &self.scheduler {
                scheduler.do_send(Finished { task: claim.task.clone(), entries: count });
                scheduler.do_send(Recorded { task: claim.task, node_id, entries: count });
            }
            return;
        };
        if working.handler.is_immediate() {
            return self.start(&working, entries, claim.probe, ctx);
        }
        let mut entries = entries.into_iter().peekable();
        while entries.peek().is_some() {
            let chunk = entries.by_ref().take(working.plan.config.batch.max(1)).collect();
            self.start(&working, chunk, claim.probe, ctx);
        }
    }
}

impl Handler<Ended> for ExecutorActor {
    type Result = ();

    fn handle(&mut self, message: Ended, ctx: &mut Self::Context) {
        self.ended(message, ctx);
    }
}

impl Handler<Abandon> for ExecutorActor {
    type Result = ();

    fn handle(&mut self, message: Abandon, _: &mut Self::Context) {
        for (entry, claim) in message.claims {
            // What waits to be recorded hears from the fence itself.
            if self.open.get(&(entry, claim)).is_some_and(|open| !open.ended)
                && let Some(open) = self.open.remove(&(entry, claim))
            {
                let _entered = open.call.span.enter();
                tracing::warn!(task = open.task.plan.name(), entry, "its claim no longer stands: the handler is ended");
                self.tally.meters.lost(open.task.plan.name(), 1);
                // A call for several entries goes on for the others.
                if Rc::strong_count(&open.call) == 1 {
                    open.call.stop.cancel();
                }
                self.recorded(open.task.plan.name(), 1);
            }
        }
        self.drained();
    }
}

impl Handler<OpenClaims> for ExecutorActor {
    type Result = Vec<(i64, i64)>;

    fn handle(&mut self, _: OpenClaims, _: &mut Self::Context) -> Self::Result {
        self.open.keys().copied().collect()
    }
}

impl Handler<Drain> for ExecutorActor {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, message: Drain, ctx: &mut Self::Context) -> Self::Result {
        let (reply, answer) = oneshot::channel();
        self.draining = Some(reply);
        ctx.run_later(message.until.saturating_duration_since(Instant::now()), |act, _| {
            act.past = true;
            act.stop_all();
        });
        self.flush(true, ctx);
        self.drained();
        Box::pin(async move {
            // An error says that the actor is gone, and all it held with it.
            let _ = answer.await;
        })
    }
}
