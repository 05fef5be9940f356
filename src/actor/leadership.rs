//! The LeadershipActor: keeps, or waits for, the lease of the scheduler, and tells who fires until when that may be
//! trusted.
//!
//! Leading is a hint: it decides who looks first. Its lease is renewed by the LeaseActor, like the node's own.

use std::time::{Duration, Instant};

use actix::prelude::*;

use super::lease::LeaseActor;
use super::message::{GiveUpLead, Incarnation, Lead, Leading, Leads, LeaseLost, StepDown};
use super::reports::Reports;
use crate::error::Result;

/// As reports name it.
const NAME: &str = "leadership";

/// How often a node that does not lead looks whether it may: a stop of the leader is noticed within half a second.
const LOOK: Duration = Duration::from_millis(300);

/// Keeps the lease of the scheduler.
pub struct LeadershipActor {
    lease_actor: Addr<LeaseActor>,
    lease: Duration,
    told: Recipient<Leads>,
    reports: Reports,
    node_id: Option<i64>,
    term: Option<i64>,
    leaving: bool,
    timer: Option<SpawnHandle>,
}

impl LeadershipActor {
    /// An actor that waits for [`Incarnation`]. `told` hears of each change.
    pub fn new(lease_actor: Addr<LeaseActor>, lease: Duration, told: Recipient<Leads>, reports: Reports) -> Self {
        Self { lease_actor, lease, told, reports, node_id: None, term: None, leaving: false, timer: None }
    }

    fn look(&mut self, ctx: &mut Context<Self>) {
        let (Some(node_id), false) = (self.node_id, self.leaving) else { return };
        let answer = self.lease_actor.send(Lead { node_id, term: self.term }).into_actor(self);
        ctx.spawn(answer.map(move |answer, act, ctx| match answer {
            Ok(answer) => act.answered(node_id, answer, ctx),
            Err(error) => tracing::error!(%error, "the LeaseActor is gone"),
        }));
    }

    fn answered(&mut self, node_id: i64, answer: Result<Option<Leading>>, ctx: &mut Context<Self>) {
        let mut wait = LOOK.mul_f64(0.8 + 0.4 * fastrand::f64());
        let ours = self.node_id == Some(node_id) && !self.leaving;
        match &answer {
            Ok(_) => self.reports.done(NAME),
            Err(error) => self.reports.failed(NAME, error),
        }
        match answer {
            Ok(Some(leading)) if ours => {
                if self.term != Some(leading.term) {
                    tracing::info!(term = leading.term, "this node leads: it fires schedules first");
                }
                self.term = Some(leading.term);
                self.told.do_send(Leads { until: Some(leading.asked + self.lease * 2 / 3) });
                wait = (leading.asked + self.lease / 3).saturating_duration_since(Instant::now());
            }
            // Stepped down, or under another incarnation, while the answer was on its way.
            Ok(Some(leading)) => self.lease_actor.do_send(GiveUpLead { term: leading.term }),
            Ok(None) => {
                if ours && self.term.take().is_some() {
                    tracing::warn!("this node leads no more");
                    self.told.do_send(Leads { until: None });
                }
            }
            // Until when the last answer is trusted has been told.
            Err(error) => tracing::debug!(%error, "who leads could not be asked; the node tries again"),
        }
        self.look_in(wait, ctx);
    }

    fn look_in(&mut self, wait: Duration, ctx: &mut Context<Self>) {
        if let Some(timer) = self.timer.take() {
            ctx.cancel_future(timer);
        }
        self.timer = Some(ctx.run_later(wait, |act, ctx| {
            act.timer = None;
            act.look(ctx);
        }));
    }
}

impl Actor for LeadershipActor {
    type Context = Context<Self>;
}

impl Handler<Incarnation> for LeadershipActor {
    type Result = ();

    fn handle(&mut self, message: Incarnation, ctx: &mut Self::Context) {
        self.reports.expect(NAME, Some(self.lease / 3), Duration::ZERO);
        self.node_id = Some(message.claimant.node_id);
        self.look_in(Duration::ZERO, ctx);
    }
}

impl Handler<LeaseLost> for LeadershipActor {
    type Result = ();

    fn handle(&mut self, _: LeaseLost, _: &mut Self::Context) {
        self.node_id = None;
        self.term = None;
    }
}

impl Handler<StepDown> for LeadershipActor {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, _: StepDown, _: &mut Self::Context) -> Self::Result {
        self.leaving = true;
        let (term, lease_actor) = (self.term.take(), self.lease_actor.clone());
        Box::pin(async move {
            let Some(term) = term else { return };
            match lease_actor.send(GiveUpLead { term }).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::warn!(%error, "the lead was not given up; it ends by itself"),
                Err(error) => tracing::error!(%error, "the LeaseActor is gone"),
            }
        })
    }
}
