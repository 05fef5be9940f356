//! What the scheduler does with each message.

use actix::prelude::*;
use tokio::sync::oneshot;

use super::SchedulerActor;
use crate::actor::message::{
    Activity, Configure, Finished, Incarnation, LeaseLost, Observe, Recorded, StopClaiming, Wake,
};

impl Handler<Wake> for SchedulerActor {
    type Result = ();

    fn handle(&mut self, _: Wake, ctx: &mut Self::Context) {
        if let Some(wiring) = &self.wiring {
            wiring.woken.send_replace(());
        }
        self.empty = 0;
        self.tick(ctx);
    }
}

impl Handler<Configure> for SchedulerActor {
    type Result = ();

    fn handle(&mut self, message: Configure, ctx: &mut Self::Context) {
        self.plans = message.plans;
        self.tick(ctx);
    }
}

impl Handler<Incarnation> for SchedulerActor {
    type Result = ();

    fn handle(&mut self, message: Incarnation, ctx: &mut Self::Context) {
        self.claimant = Some(message.claimant);
        self.outstanding = 0;
        self.tick(ctx);
    }
}

impl Handler<LeaseLost> for SchedulerActor {
    type Result = ();

    fn handle(&mut self, _: LeaseLost, _: &mut Self::Context) {
        self.claimant = None;
        self.outstanding = 0;
    }
}

impl Handler<Finished> for SchedulerActor {
    type Result = ();

    fn handle(&mut self, message: Finished, ctx: &mut Self::Context) {
        if let Some(slots) = self.slots.get_mut(&message.task) {
            slots.running = slots.running.saturating_sub(message.entries);
            if slots.hungry {
                self.tick(ctx);
            }
        }
    }
}

impl Handler<Recorded> for SchedulerActor {
    type Result = ();

    fn handle(&mut self, message: Recorded, ctx: &mut Self::Context) {
        if self.claimant.as_ref().is_some_and(|claimant| claimant.node_id == message.node_id) {
            let makes_room = self.spare() == 0 || self.slots.get(&message.task).is_some_and(|slots| slots.counted);
            self.recorded += message.entries as u64;
            self.outstanding = self.outstanding.saturating_sub(message.entries);
            if makes_room {
                self.tick(ctx);
            }
        }
    }
}

impl Handler<StopClaiming> for SchedulerActor {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, _: StopClaiming, _: &mut Self::Context) -> Self::Result {
        let (reply, answer) = oneshot::channel();
        self.stopping.get_or_insert_default().push(reply);
        self.quiet();
        Box::pin(async move {
            // An error says that the actor is gone, which claims nothing either.
            let _ = answer.await;
        })
    }
}

impl Handler<Observe> for SchedulerActor {
    type Result = Activity;

    fn handle(&mut self, _: Observe, _: &mut Self::Context) -> Activity {
        Activity {
            outstanding: self.outstanding,
            claiming: self.claiming + self.transacting,
            recorded: self.recorded,
            claims: self.claims,
            empty: self.empty,
        }
    }
}

#[cfg(feature = "testing")]
impl Handler<crate::actor::message::Restart> for SchedulerActor {
    type Result = ();

    fn handle(&mut self, _: crate::actor::message::Restart, ctx: &mut Self::Context) {
        ctx.stop();
    }
}
