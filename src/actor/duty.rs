//! The DutyActor: what is done now and then, each duty re-armed after its work, with what became of it last.
//!
//! Every duty is safe on any number of nodes at once; none is needed for being right.

mod counts;
mod declare;
mod prune;
mod rescue;
mod sums;
mod sweep;
mod tell;
mod verify;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix::prelude::*;
use futures_util::future::LocalBoxFuture;
use tokio::sync::oneshot;

use super::database::DatabaseActor;
use super::executor::ExecutorActor;
use super::message::{DeclaredAs, Incarnation, LeaseLost, Perform};
use super::reports::Reports;
use super::scheduler::SchedulerActor;
use super::tally::Tally;
use crate::error::{Error, Result};
use crate::model::time::Micros;
use crate::store::Connection;
use crate::store::nodes::Declaration;
use crate::store::plan::TaskPlan;

/// What duties need of the node around them.
#[derive(Clone)]
pub struct Wiring {
    /// A pool of one thread.
    pub database: Addr<DatabaseActor>,
    /// Another, for sweeps and pruning: a predicate that takes long must not hold up a rescue.
    pub sweeps: Addr<DatabaseActor>,
    /// Whom to wake, and to tell which tasks may be claimed.
    pub scheduler: Addr<SchedulerActor>,
    /// True if this node works.
    pub works: bool,
    /// Whose claims are verified.
    pub executor: Addr<ExecutorActor>,
    /// Whom to tell that declarations have changed; nobody on a node that does not fire.
    pub firing: Option<Recipient<DeclaredAs>>,
    /// Sums to be written.
    pub tally: Tally,
    /// Where it is noted what became of each duty.
    pub reports: Reports,
    /// How long firings are kept.
    pub keep_firings: Duration,
    /// How long a lease lasts.
    pub lease: Duration,
    /// The longest between two looks.
    pub poll: Duration,
}

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
    /// How often the configuration was read again: what was declared of an earlier reading says nothing of `since`.
    readings: u64,
    node_id: Option<i64>,
    /// The incarnation under which this process writes its sums: its first.
    first_node_id: Option<i64>,
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
            readings: 0,
            node_id: None,
            first_node_id: None,
            unknown: HashSet::new(),
            last_missing: None,
            declared: false,
            waiting: Vec::new(),
        }
    }

    /// Does a duty from now on; it may be silent for three of its periods, or for `patience`.
    fn begin(
        &mut self,
        name: &'static str,
        every: Duration,
        patience: Duration,
        look: fn(&mut Self, &mut Context<Self>) -> Look,
        ctx: &mut Context<Self>,
    ) {
        self.wiring.reports.expect(name, Some(every), patience);
        self.repeat(name, every, look, ctx);
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
            let mut wait = every.mul_f64(0.9 + 0.2 * fastrand::f64());
            match result {
                Ok(soon) => {
                    // One that idles has nothing to be blamed for.
                    act.wiring.reports.done(name);
                    wait = soon.unwrap_or(wait);
                }
                Err(error) => {
                    tracing::warn!(duty = name, %error, "a duty failed; it is tried again");
                    act.wiring.tally.meters.duty_failed(name);
                    act.wiring.reports.failed(name, &error);
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
        let (second, soon) = (Duration::from_secs(1), Duration::ZERO);
        // What waits for a statement that may take long may be silent for as long.
        let slow = second * 90;
        self.begin("rescue", rescue, soon, Self::rescue, ctx);
        self.begin("verify", lease / 3, soon, Self::verify, ctx);
        self.begin("sweep", self.wiring.poll, slow, Self::sweep, ctx);
        self.begin("sums", second * 2, soon, Self::sums, ctx);
        self.begin("counts", second * 5, slow, Self::counts, ctx);
        self.begin("prune", second * 20, slow, Self::prune, ctx);
        self.repeat(tell::NAME, (lease / 3).clamp(second, second * 5), Self::tell, ctx);
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
