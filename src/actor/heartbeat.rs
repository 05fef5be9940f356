//! The HeartbeatActor: keeps the node's lease alive, and says at once when it no longer can.
//!
//! It trusts a lease only for two thirds of its length, counted on the monotonic clock from before the renewal was
//! asked of the database: handlers are ended before anybody else may take over. An ended lease is never renewed: the node comes back
//! under a new incarnation.

use std::time::{Duration, Instant};

use actix::prelude::*;

use super::lease::LeaseActor;
use super::message::{Begin, Incarnation, LeaseLost, Leave, Register, Renew, Resign};
use super::reports::{LEASE, Reports};
use crate::store::claim::Claimant;

/// How long a heartbeat may go without an answer before the database is said to be out of reach.
const PATIENCE: Duration = Duration::from_secs(4);

/// Called with whether the database has lately answered this node's heartbeats.
pub type OnPulse = Box<dyn Fn(bool) + Send>;

/// Keeps the node's lease. Lives on an arbiter of its own.
pub struct HeartbeatActor {
    lease_actor: Addr<LeaseActor>,
    lease: Duration,
    begun: Option<Begin>,
    incarnation: Option<i64>,
    trusted_until: Instant,
    /// When the database last answered.
    answered: Option<Instant>,
    on_pulse: OnPulse,
    reports: Reports,
    incarnated: Vec<Recipient<Incarnation>>,
    lost: Vec<Recipient<LeaseLost>>,
    leaving: bool,
}

type Answer<T> = Result<crate::Result<T>, MailboxError>;

impl HeartbeatActor {
    /// A heartbeat that waits for [`Begin`]. `incarnated` and `lost` hear of each new lease and of each one's end.
    pub fn new(
        lease_actor: Addr<LeaseActor>,
        lease: Duration,
        on_pulse: OnPulse,
        reports: Reports,
        incarnated: Vec<Recipient<Incarnation>>,
        lost: Vec<Recipient<LeaseLost>>,
    ) -> Self {
        reports.expect(LEASE, Some(lease / 3), Duration::ZERO);
        Self {
            lease_actor,
            lease,
            begun: None,
            incarnation: None,
            trusted_until: Instant::now(),
            answered: None,
            on_pulse,
            reports,
            incarnated,
            lost,
            leaving: false,
        }
    }

    fn beat(&mut self, ctx: &mut Context<Self>) {
        if self.leaving {
            return;
        }
        match self.incarnation {
            Some(node_id) => {
                let answer = self.lease_actor.send(Renew { node_id }).into_actor(self);
                ctx.spawn(answer.map(move |answer, act, ctx| act.renewed(node_id, answer, ctx)));
            }
            None => {
                let answer = self.lease_actor.send(Register).into_actor(self);
                ctx.spawn(answer.map(move |answer, act, ctx| act.registered(answer, ctx)));
            }
        }
    }

    fn beat_in(&self, wait: Duration, ctx: &mut Context<Self>) {
        ctx.run_later(wait, Self::beat);
    }

    /// The next beat is due a third of the lease after the last one was asked, however late its answer came.
    fn beat_after(&mut self, asked: Instant, ctx: &mut Context<Self>) {
        self.trusted_until = asked + self.lease * 2 / 3;
        self.beat_in((asked + self.lease / 3).saturating_duration_since(Instant::now()), ctx);
    }

    fn registered(&mut self, answer: Answer<(i64, Instant)>, ctx: &mut Context<Self>) {
        match answer {
            Ok(Ok((node_id, asked))) => {
                self.felt();
                if self.leaving {
                    self.lease_actor.do_send(Resign { node_id, stopped: true });
                    return;
                }
                let Some(begun) = &self.begun else { return };
                self.incarnation = Some(node_id);
                let claimant = Claimant { node_id, strategy: begun.strategy, installation: begun.installation.clone() };
                tracing::info!(node_id, "the node has a lease");
                for recipient in &self.incarnated {
                    recipient.do_send(Incarnation { claimant: claimant.clone() });
                }
                self.beat_after(asked, ctx);
            }
            Ok(Err(error)) => {
                tracing::warn!(%error, "the node could not register; it tries again");
                self.reports.failed(LEASE, &error);
                self.beat_in(self.again(), ctx);
            }
            Err(error) => tracing::error!(%error, "the LeaseActor is gone"),
        }
    }

    fn renewed(&mut self, node_id: i64, answer: Answer<Option<Instant>>, ctx: &mut Context<Self>) {
        let current = self.incarnation == Some(node_id);
        match answer {
            // Given up while the answer was on its way: handlers have been ended, there is no way back.
            Ok(Ok(Some(_))) if !current => {
                self.felt();
                self.beat(ctx);
            }
            Ok(Ok(Some(asked))) => {
                self.felt();
                self.beat_after(asked, ctx);
            }
            Ok(Ok(None)) => {
                self.felt();
                if current {
                    self.lose("its lease had ended");
                }
                self.beat(ctx);
            }
            Ok(Err(error)) => {
                tracing::warn!(node_id, %error, "the lease could not be renewed; the node tries again");
                self.reports.failed(LEASE, &error);
                self.beat_in(self.again(), ctx);
            }
            Err(error) => tracing::error!(%error, "the LeaseActor is gone"),
        }
    }

    fn felt(&mut self) {
        self.answered = Some(Instant::now());
        self.reports.done(LEASE);
        (self.on_pulse)(true);
    }

    /// How soon a failed beat is repeated.
    fn again(&self) -> Duration {
        (self.lease / 10).min(Duration::from_secs(1))
    }

    fn lose(&mut self, why: &str) {
        if let Some(node_id) = self.incarnation.take() {
            tracing::warn!(node_id, "the node gives up its claims and ends their handlers: {why}");
            for recipient in &self.lost {
                recipient.do_send(LeaseLost);
            }
        }
    }

    /// Looks whether the lease may still be trusted; re-armed after each look.
    fn watch(&mut self, ctx: &mut Context<Self>) {
        if self.incarnation.is_some() && Instant::now() >= self.trusted_until {
            self.lose("it could not be renewed in time");
        }
        // A beat that waits for a silent network answers nothing for long: its age tells.
        let patience = self.lease / 3 + PATIENCE;
        if self.answered.is_none_or(|answered| answered.elapsed() > patience) {
            (self.on_pulse)(false);
        }
        ctx.run_later((self.lease / 20).clamp(Duration::from_millis(20), Duration::from_millis(500)), Self::watch);
    }
}

impl Actor for HeartbeatActor {
    type Context = Context<Self>;
}

impl Handler<Begin> for HeartbeatActor {
    type Result = ();

    fn handle(&mut self, message: Begin, ctx: &mut Self::Context) {
        if self.begun.replace(message).is_none() {
            self.watch(ctx);
            self.beat(ctx);
        }
    }
}

impl Handler<Leave> for HeartbeatActor {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, message: Leave, _: &mut Self::Context) -> Self::Result {
        let incarnation = self.incarnation;
        if message.stopped {
            self.leaving = true;
            self.incarnation = None;
        }
        let lease_actor = self.lease_actor.clone();
        Box::pin(async move {
            let Some(node_id) = incarnation else { return };
            match lease_actor.send(Resign { node_id, stopped: message.stopped }).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::warn!(%error, "the lease was not given up; it ends by itself"),
                Err(error) => tracing::error!(%error, "the LeaseActor is gone"),
            }
        })
    }
}
