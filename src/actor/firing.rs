//! The FiringActor: decides when to look for due schedules, and nothing else.
//!
//! The leader looks when one is due; any other node looks for what is overdue by more than a second, so that nobody
//! need notice that the leader is gone. That a due time fires once is the database's decision alone.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use actix::prelude::*;
use tokio::sync::oneshot;

use super::database::DatabaseActor;
use super::message::{DeclaredAs, Incarnation, Leads, LeaseLost, PlanFirings, PlannedFirings, StopFiring, Wake};
use super::reports::Reports;
use super::scheduler::SchedulerActor;
use crate::error::{Error, Result};
use crate::store::firings::Pass;
use crate::store::schedules::Seen;
use crate::telemetry::meters::Meters;

/// As reports name it.
const NAME: &str = "firing";

/// What a node that does not lead leaves to the leader; by chance up to half a second more.
const OVERDUE: Duration = Duration::from_secs(1);

/// How often it is looked whether nodes declare something else.
const RECONCILE: Duration = Duration::from_secs(1);

/// How soon a pass is repeated that found schedules due but could decide nothing: locked, or waiting a moment.
const CONTENDED: Duration = Duration::from_millis(20);

/// The longest that a leader sleeps: another node may have made or changed a schedule that is due before long.
const WATCH: Duration = Duration::from_millis(250);

/// How long a schedule that this version cannot read is left to nodes that can, before it is looked at again.
const UNREADABLE: Duration = Duration::from_secs(60);

/// How soon a pass that failed is repeated; twice as long after each further one, up to a second.
const FIRST_AGAIN: Duration = Duration::from_millis(50);

/// What firing needs of the node around it.
#[derive(Clone)]
pub struct Wiring {
    /// A pool of one thread: nothing else must make a firing late.
    pub database: Addr<DatabaseActor>,
    /// Whom to wake when entries have been made.
    pub scheduler: Addr<SchedulerActor>,
    /// Where it is noted what became of each pass.
    pub reports: Reports,
    /// The node's label.
    pub node: String,
    /// How long a lease lasts.
    pub lease: Duration,
    /// The longest between two looks.
    pub poll: Duration,
    /// Where what was decided is counted, and who leads.
    pub meters: Meters,
}

/// Decides when to look for due schedules.
pub struct FiringActor {
    wiring: Wiring,
    node_id: Option<i64>,
    /// True once this incarnation has declared its schedules. Before it would fire those that nobody declares any more,
    /// and take its own for such.
    declared: bool,
    leads_until: Option<Instant>,
    seen: Option<Seen>,
    reconciled: Option<Instant>,
    /// True while a pass is on its way.
    passing: bool,
    /// True if something happened meanwhile.
    woken: bool,
    failures: u32,
    /// Schedules that this version cannot read, and since when they are left to others.
    unreadable: HashMap<String, Instant>,
    timer: Option<SpawnHandle>,
    stopping: Option<Vec<oneshot::Sender<()>>>,
}

impl FiringActor {
    /// An actor that waits for [`Incarnation`].
    pub fn new(wiring: Wiring) -> Self {
        Self {
            wiring,
            node_id: None,
            declared: false,
            leads_until: None,
            seen: None,
            reconciled: None,
            passing: false,
            woken: false,
            failures: 0,
            unreadable: HashMap::new(),
            timer: None,
            stopping: None,
        }
    }

    fn leads(&self) -> bool {
        self.leads_until.is_some_and(|until| Instant::now() < until)
    }

    fn look(&mut self, ctx: &mut Context<Self>) {
        if !self.declared || self.stopping.is_some() {
            return;
        }
        if self.passing {
            self.woken = true;
            return;
        }
        self.passing = true;
        self.woken = false;
        let overdue = if self.leads() { Duration::ZERO } else { OVERDUE + OVERDUE.mul_f64(fastrand::f64() / 2.0) };
        self.unreadable.retain(|_, since| since.elapsed() < UNREADABLE);
        let leave = self.unreadable.keys().cloned().collect();
        let pass = Pass { node: self.wiring.node.clone(), lease: self.wiring.lease, overdue, leave };
        let reconcile = self.reconciled.is_none_or(|last| last.elapsed() >= RECONCILE);
        let began = Instant::now();
        let answer =
            self.wiring.database.send(PlanFirings { pass, seen: self.seen.clone(), reconcile }).into_actor(self);
        ctx.spawn(answer.map(move |answer, act, ctx| {
            act.passing = false;
            // What woke it meanwhile may have been declared after it was looked at.
            if reconcile && !act.woken && matches!(answer, Ok(Ok(_))) {
                act.reconciled = Some(began);
            }
            let result = answer.unwrap_or_else(|error| Err(Error::internal(format!("a DB actor is gone: {error}"))));
            act.passed(result, ctx);
        }));
    }

    fn passed(&mut self, result: Result<PlannedFirings>, ctx: &mut Context<Self>) {
        for reply in self.stopping.iter_mut().flat_map(|waiting| waiting.drain(..)) {
            // Nobody waits any more: nothing to do.
            let _ = reply.send(());
        }
        let longest = self.wiring.poll.min(if self.leads() { WATCH } else { OVERDUE });
        let poll = longest.mul_f64(0.8 + 0.4 * fastrand::f64());
        let wait = match result {
            Ok(planned) => {
                self.wiring.reports.done(NAME);
                self.failures = 0;
                self.seen = planned.seen;
                self.wiring.meters.fired(&planned.passed.told);
                for (schedule, error) in planned.passed.unreadable {
                    tracing::error!(schedule, error, "the schedule cannot be read: it is left to newer nodes");
                    self.unreadable.insert(schedule, Instant::now());
                }
                if planned.passed.fired + planned.passed.woken > 0 {
                    self.wiring.scheduler.do_send(Wake);
                }
                match planned.passed.next_in {
                    Some(Duration::ZERO) if planned.passed.fired == 0 => CONTENDED,
                    next => next.map_or(poll, |next| next.min(poll)),
                }
            }
            Err(error) => {
                // The first may be a deadlock, which the database ends by taking one side back.
                match error.is_transient() && self.failures == 0 {
                    true => tracing::debug!(%error, "firing failed; it is tried again at once"),
                    false => tracing::warn!(%error, "firing failed; it is tried again"),
                }
                self.wiring.reports.failed(NAME, &error);
                self.failures = self.failures.saturating_add(1);
                (FIRST_AGAIN * 2_u32.saturating_pow(self.failures.min(5) - 1)).min(OVERDUE)
            }
        };
        self.arm(if self.woken { Duration::ZERO } else { wait }, ctx);
    }

    fn arm(&mut self, wait: Duration, ctx: &mut Context<Self>) {
        if let Some(timer) = self.timer.take() {
            ctx.cancel_future(timer);
        }
        self.timer = Some(ctx.run_later(wait, |act, ctx| {
            act.timer = None;
            act.look(ctx);
        }));
    }
}

impl Actor for FiringActor {
    type Context = Context<Self>;
}

impl Handler<Incarnation> for FiringActor {
    type Result = ();

    fn handle(&mut self, message: Incarnation, _: &mut Self::Context) {
        self.wiring.reports.expect(NAME, Some(self.wiring.poll.min(OVERDUE)), Duration::ZERO);
        self.node_id = Some(message.claimant.node_id);
    }
}

impl Handler<LeaseLost> for FiringActor {
    type Result = ();

    fn handle(&mut self, _: LeaseLost, _: &mut Self::Context) {
        self.node_id = None;
        self.declared = false;
        self.leads_until = None;
        self.wiring.meters.leads(None);
        // What is in force may change until it is back.
        self.seen = None;
        self.reconciled = None;
    }
}

impl Handler<Leads> for FiringActor {
    type Result = ();

    fn handle(&mut self, message: Leads, ctx: &mut Self::Context) {
        let led = self.leads();
        self.leads_until = message.until;
        self.wiring.meters.leads(message.until);
        if self.leads() && !led {
            self.look(ctx);
        }
    }
}

impl Handler<Wake> for FiringActor {
    type Result = ();

    /// What is in force has changed.
    fn handle(&mut self, _: Wake, ctx: &mut Self::Context) {
        self.look(ctx);
    }
}

impl Handler<DeclaredAs> for FiringActor {
    type Result = ();

    fn handle(&mut self, message: DeclaredAs, ctx: &mut Self::Context) {
        if self.node_id == Some(message.node_id) {
            self.declared = true;
            self.reconciled = None;
            self.look(ctx);
        }
    }
}

impl Handler<StopFiring> for FiringActor {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, _: StopFiring, _: &mut Self::Context) -> Self::Result {
        let (reply, answer) = oneshot::channel();
        let waiting = self.stopping.get_or_insert_default();
        if self.passing {
            waiting.push(reply);
        }
        Box::pin(async move {
            // An error says that there is nothing to wait for.
            let _ = answer.await;
        })
    }
}
