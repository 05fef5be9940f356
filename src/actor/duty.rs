//! The DutyActor: what is done now and then, each duty re-armed after its work, with what became of it last.
//!
//! Every duty is safe on any number of nodes at once; none is needed for being right.

mod prune;
mod rescue;
mod sums;
mod sweep;
mod verify;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix::prelude::*;
use futures_util::future::LocalBoxFuture;
use tokio::sync::oneshot;

use super::database::DatabaseActor;
use super::executor::ExecutorActor;
use super::message::{Declare, DeclaredAs, Incarnation, LeaseLost, Perform};
use super::scheduler::SchedulerActor;
use super::tally::Tally;
use crate::error::{Error, Result};
use crate::model::time::Micros;
use crate::store::Connection;
use crate::store::nodes::{Declaration, DeclarationKind};
use crate::store::plan::TaskPlan;

/// What duties need of the node around them.
#[derive(Clone)]
pub struct Wiring {
    /// A pool of one thread.
    pub database: Addr<DatabaseActor>,
    /// Another, for sweeps and pruning: a predicate that takes long must not hold up a rescue.
    pub sweeps: Addr<DatabaseActor>,
    /// Whom to wake.
    pub scheduler: Addr<SchedulerActor>,
    /// Whose claims are verified.
    pub executor: Addr<ExecutorActor>,
    /// Whom to tell that declarations have changed; nobody on a node that does not fire.
    pub firing: Option<Recipient<DeclaredAs>>,
    /// Sums to be written.
    pub tally: Tally,
    /// How long firings are kept.
    pub keep_firings: Duration,
    /// How long a lease lasts.
    pub lease: Duration,
    /// The longest between two looks.
    pub poll: Duration,
}

/// What became of a duty last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// When it was last done.
    pub done: Option<Instant>,
    /// Why it failed, if it did last.
    pub error: Option<String>,
    /// How far apart it is done.
    pub every: Duration,
}

/// Asks for the reports of all duties.
#[derive(Message, Debug, Clone, Copy)]
#[rtype(result = "BTreeMap<&'static str, Report>")]
pub struct Reports;

/// Writes the sums of what was counted since the last time; the reply comes once that is tried. For a stop.
#[derive(Message, Debug, Clone, Copy)]
#[rtype(result = "()")]
pub struct Finish;

/// The reply comes once other nodes and the API can see which tasks this node works.
#[derive(Message, Debug, Clone, Copy)]
#[rtype(result = "()")]
pub struct Declared;

/// Does what is done now and then.
pub struct DutyActor {
    wiring: Wiring,
    plans: Vec<Arc<TaskPlan>>,
    schedules: Vec<Declaration>,
    /// Since when this node has declared what it does, on the database's clock. Kept from one incarnation to the next:
    /// one that comes back must not speak before those that have started since.
    since: Option<Micros>,
    node_id: Option<i64>,
    /// The incarnation under which this process writes its sums: its first.
    first_node_id: Option<i64>,
    reports: BTreeMap<&'static str, Report>,
    /// Claims that the database had and the executor did not, at the last look.
    unknown: HashSet<(i64, i64)>,
    clock: rescue::ClockGuard,
    last_missing: Option<Instant>,
    /// True once the tasks have been declared.
    declared: bool,
    /// Who waits for that.
    waiting: Vec<oneshot::Sender<()>>,
}

/// One look of a duty. The span is how soon to look again, if not in its usual time.
type Look = LocalBoxFuture<'static, Result<Option<Duration>>>;

impl DutyActor {
    /// Duties that wait for [`Incarnation`].
    pub fn new(wiring: Wiring) -> Self {
        Self {
            clock: rescue::ClockGuard::new(wiring.lease),
            wiring,
            plans: Vec::new(),
            schedules: Vec::new(),
            since: None,
            node_id: None,
            first_node_id: None,
            reports: BTreeMap::new(),
            unknown: HashSet::new(),
            last_missing: None,
            declared: false,
            waiting: Vec::new(),
        }
    }

    /// Does a duty for ever: looks, notes what became of it, and waits.
    fn repeat(
        &mut self,
        name: &'static str,
        every: Duration,
        look: fn(&mut Self, &mut Context<Self>) -> Look,
        ctx: &mut Context<Self>,
    ) {
        let idle = self.node_id.is_none();
        let work = if idle { Box::pin(std::future::ready(Ok(None))) } else { look(self, ctx) };
        ctx.spawn(work.into_actor(self).map(move |result, act, ctx| {
            let report = act.reports.entry(name).or_insert(Report { done: None, error: None, every });
            let mut wait = every.mul_f64(0.9 + 0.2 * fastrand::f64());
            match result {
                Ok(soon) => {
                    if !idle {
                        report.done = Some(Instant::now());
                        report.error = None;
                    }
                    wait = soon.unwrap_or(wait);
                }
                Err(error) => {
                    tracing::warn!(duty = name, %error, "a duty failed; it is tried again");
                    act.wiring.tally.meters.duty_failed(name);
                    report.error = Some(error.to_string());
                    wait = wait.max(Duration::from_millis(500));
                }
            }
            ctx.run_later(wait, move |act, ctx| act.repeat(name, every, look, ctx));
        }));
    }

    /// Runs a short piece of work on the duties' thread.
    fn perform(
        &self,
        what: &'static str,
        work: impl FnOnce(&mut Connection) -> Result<bool> + Send + 'static,
    ) -> LocalBoxFuture<'static, Result<bool>> {
        Self::perform_on(&self.wiring.database, what, work)
    }

    fn perform_on(
        database: &Addr<DatabaseActor>,
        what: &'static str,
        work: impl FnOnce(&mut Connection) -> Result<bool> + Send + 'static,
    ) -> LocalBoxFuture<'static, Result<bool>> {
        let answer = database.send(Perform { what, work: Box::new(work) });
        Box::pin(async move { answer.await.unwrap_or_else(|error| Err(gone(&error))) })
    }
}

fn gone(error: &MailboxError) -> Error {
    Error::internal(format!("an actor is gone: {error}"))
}

impl Actor for DutyActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let lease = self.wiring.lease;
        let rescue = (lease / 6).clamp(Duration::from_millis(100), Duration::from_millis(500));
        self.repeat("rescue", rescue, Self::rescue, ctx);
        self.repeat("verify", lease / 3, Self::verify, ctx);
        self.repeat("sweep", self.wiring.poll, Self::sweep, ctx);
        self.repeat("sums", Duration::from_secs(2), Self::sums, ctx);
        self.repeat("prune", Duration::from_secs(20), Self::prune, ctx);
    }
}

impl Handler<Incarnation> for DutyActor {
    type Result = ();

    fn handle(&mut self, message: Incarnation, ctx: &mut Self::Context) {
        let node_id = message.claimant.node_id;
        self.node_id = Some(node_id);
        self.first_node_id.get_or_insert(node_id);
        self.declare(ctx);
    }
}

impl Handler<LeaseLost> for DutyActor {
    type Result = ();

    fn handle(&mut self, _: LeaseLost, _: &mut Self::Context) {
        self.node_id = None;
        self.unknown.clear();
    }
}

impl Handler<Declare> for DutyActor {
    type Result = ();

    fn handle(&mut self, message: Declare, ctx: &mut Self::Context) {
        self.plans = message.plans;
        self.schedules = message.schedules;
        if message.anew {
            self.since = None;
        }
        self.declare(ctx);
    }
}

impl Handler<Declared> for DutyActor {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, _: Declared, _: &mut Self::Context) -> Self::Result {
        let (reply, answer) = oneshot::channel();
        if !self.declared {
            self.waiting.push(reply);
        }
        Box::pin(async move {
            // An error says that there is nothing to wait for.
            let _ = answer.await;
        })
    }
}

impl Handler<Finish> for DutyActor {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, _: Finish, ctx: &mut Self::Context) -> Self::Result {
        // No duty begins anew: what the node held is given up after this.
        self.node_id = None;
        let sums = self.sums(ctx);
        Box::pin(async move {
            if let Err(error) = sums.await {
                tracing::warn!(%error, "the last sums could not be written");
            }
        })
    }
}

impl Handler<Reports> for DutyActor {
    type Result = MessageResult<Reports>;

    fn handle(&mut self, _: Reports, _: &mut Self::Context) -> Self::Result {
        MessageResult(self.reports.clone())
    }
}

impl DutyActor {
    /// Tells all nodes which tasks and schedules this one declares; tried until it is written.
    fn declare(&mut self, ctx: &mut Context<Self>) {
        let Some(node_id) = self.node_id else { return };
        let mut declarations = self.schedules.clone();
        declarations.extend(self.plans.iter().map(|plan| Declaration {
            kind: DeclarationKind::Task,
            name: plan.name().to_owned(),
            body: plan.declaration(),
        }));
        let (since, (tell, told)) = (self.since, oneshot::channel());
        let work = self.perform("declaring tasks and schedules", move |connection| {
            let since = crate::store::nodes::declare(connection, node_id, &declarations, since)?;
            // The receiver waits on the same future: it cannot be gone.
            let _ = tell.send(since);
            Ok(false)
        });
        let work = async move { work.await.map(|_| told) };
        ctx.spawn(work.into_actor(self).map(move |result, act, ctx| {
            match result {
                Ok(mut told) => act.since = told.try_recv().ok(),
                Err(error) => {
                    tracing::warn!(%error, "tasks and schedules could not be declared; tried again");
                    ctx.run_later(Duration::from_secs(1), |act, ctx| act.declare(ctx));
                    return;
                }
            }
            act.declared = true;
            if let Some(firing) = &act.wiring.firing {
                firing.do_send(DeclaredAs { node_id });
            }
            for reply in act.waiting.drain(..) {
                // Nobody waits any more: nothing to do.
                let _ = reply.send(());
            }
        }));
    }
}
