//! The SchedulerActor: one per process, supervised. It decides when to claim and how much, and nothing else.
//!
//! It owns the budget: a claim asks for no more than there are free slots, so that nothing unbounded waits in memory;
//! the SyncArbiter behind it has no back-pressure of its own. It does no I/O and runs no code of users.

mod alarm;
mod budget;
mod handlers;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix::prelude::*;
use tokio::sync::{oneshot, watch};

use self::budget::Slots;
use super::database::DatabaseActor;
use super::executor::ExecutorActor;
use super::message::{Batch, Execute, ProcessBatch, Work};
use super::tally::Tally;
use crate::error::{Error, Result};
use crate::store::claim::Claimant;
use crate::store::plan::TaskPlan;

/// The most entries that one claim takes: more make a claim slow for others and gain nothing (docs/architecture).
pub const BATCH: usize = 1000;

/// Claims for the executor on their way at once: one is read while another is worked.
const CLAIMS: usize = 2;

/// How soon a failed claim is repeated; twice as long after each further one, up to `poll`. Short, since after a restart
/// of the database each connection fails once before it is replaced.
const FIRST_AGAIN: Duration = Duration::from_millis(50);

/// What the scheduler needs of the node around it.
#[derive(Clone)]
pub struct Wiring {
    /// Claims and results.
    pub database: Addr<DatabaseActor>,
    /// Transactions of SQL handlers.
    pub statements: Addr<DatabaseActor>,
    /// Works what is claimed.
    pub executor: Addr<ExecutorActor>,
    /// Sums.
    pub tally: Tally,
    /// The longest between two looks.
    pub poll: Duration,
    /// How long a lease lasts: a claim that is longer on its way than a quarter of it is not started.
    pub lease: Duration,
    /// Told of each wake, for whoever else waits for work.
    pub woken: watch::Sender<()>,
}

/// Decides when to claim and how much.
#[derive(Default)]
pub struct SchedulerActor {
    wiring: Option<Wiring>,
    claimant: Option<Claimant>,
    plans: Vec<Arc<TaskPlan>>,
    slots: HashMap<String, Slots>,
    /// Entries claimed under the present incarnation and not yet recorded.
    outstanding: usize,
    /// Claims for the executor on their way.
    claiming: usize,
    /// Transactions on their way.
    transacting: usize,
    claims: u64,
    /// Entries recorded since the start.
    recorded: u64,
    empty: u32,
    /// Claims in a row that failed.
    failures: u32,
    stopping: Option<Vec<oneshot::Sender<()>>>,
    /// The next look, and when it is.
    timer: Option<(SpawnHandle, Instant)>,
    /// A wake that came while no further claim could be sent.
    woken: bool,
}

impl SchedulerActor {
    /// A scheduler that waits to be told its tasks and the lease under which it claims.
    pub fn new(wiring: Wiring) -> Self {
        Self { wiring: Some(wiring), ..Self::default() }
    }

    /// Claims what there is room for; otherwise looks again when something ends or the timer rings.
    fn tick(&mut self, ctx: &mut Context<Self>) {
        let (Some(claimant), None) = (self.claimant.clone(), &self.stopping) else { return };
        self.tick_transactions(&claimant, ctx);
        if self.claiming >= CLAIMS {
            self.woken = true;
            return;
        }
        let spare = self.spare();
        let mut requests = Vec::new();
        for plan in self.plans.iter().filter(|plan| plan.is_claimed_by_nodes() && !plan.transaction) {
            let slots = self.slots.entry(plan.name().to_owned()).or_default();
            // While one claim of a task is on its way, a second goes out only if there is likely to be more.
            if slots.reserved > 0 && !slots.hungry {
                continue;
            }
            let limit = slots.free(plan.config.concurrency).min(BATCH).min(spare);
            if limit > 0 {
                slots.reserved += limit;
                requests.push(plan.request(limit));
            }
        }
        if requests.is_empty() {
            self.woken |= self.claiming > 0;
            return;
        }
        self.woken = false;
        self.claiming += 1;
        let reserved: Vec<_> = requests.iter().map(|request| (request.task.clone(), request.limit)).collect();
        self.process(claimant, Work::Claim(requests), ctx, move |act, node_id, result, ctx| {
            act.claiming -= 1;
            for (task, limit) in &reserved {
                if let Some(slots) = act.slots.get_mut(task) {
                    slots.reserved = slots.reserved.saturating_sub(*limit);
                    slots.hungry = false;
                }
            }
            act.received(node_id, result, ctx);
        });
    }

    /// SQL tasks whose work is done inside the transaction that claims: each slot is one transaction.
    fn tick_transactions(&mut self, claimant: &Claimant, ctx: &mut Context<Self>) {
        let plans: Vec<_> = self.plans.iter().filter(|plan| plan.transaction).cloned().collect();
        for plan in plans {
            let slots = self.slots.entry(plan.name().to_owned()).or_default();
            let free = plan.config.concurrency.saturating_sub(slots.running);
            // One looks; the others join only while there is more.
            let wanted = if slots.hungry { free } else { free.min(usize::from(slots.running == 0)) };
            slots.running += wanted;
            slots.hungry = false;
            for _ in 0..wanted {
                self.transacting += 1;
                let name = plan.name().to_owned();
                self.process(
                    claimant.clone(),
                    Work::Transaction(plan.clone()),
                    ctx,
                    move |act, node_id, result, ctx| {
                        act.transacting -= 1;
                        if let Some(slots) = act.slots.get_mut(&name) {
                            slots.running = slots.running.saturating_sub(1);
                        }
                        if let (Ok(batch), Some(wiring)) = (&result, &act.wiring) {
                            act.recorded += batch.worked.len() as u64;
                            wiring.tally.meters.started(&name, batch.worked.len());
                            wiring.tally.add(&name, batch.worked.iter().cloned());
                        }
                        act.received(node_id, result, ctx);
                    },
                );
            }
        }
    }

    fn process(
        &mut self,
        claimant: Claimant,
        work: Work,
        ctx: &mut Context<Self>,
        then: impl FnOnce(&mut Self, i64, Result<Batch>, &mut Context<Self>) + 'static,
    ) {
        let Some(wiring) = &self.wiring else { return };
        let database = match &work {
            Work::Claim(_) => &wiring.database,
            Work::Transaction(_) => &wiring.statements,
        };
        let node_id = claimant.node_id;
        let (sent, patience) = (Instant::now(), wiring.lease / 4);
        let answer = database.send(ProcessBatch { claimant, work }).into_actor(self);
        ctx.spawn(answer.map(move |answer, act, ctx| {
            let result = answer.unwrap_or_else(|error| Err(Error::internal(format!("a DB actor is gone: {error}"))));
            let late = sent.elapsed() > patience;
            then(act, node_id, result.map(|batch| if late { batch.too_late() } else { batch }), ctx);
        }));
    }

    /// Hands on what a claim brought, and decides when to look again.
    fn received(&mut self, node_id: i64, result: Result<Batch>, ctx: &mut Context<Self>) {
        self.claims += 1;
        let mut batch = result.unwrap_or_else(|error| Batch { error: Some(error), ..Batch::default() });
        match &batch.error {
            None => self.failures = 0,
            Some(error) => {
                tracing::warn!(%error, "a claim failed; it is tried again");
                batch.soon(FIRST_AGAIN * 2_u32.saturating_pow(self.failures.min(8)));
                self.failures = self.failures.saturating_add(1);
            }
        }
        let idle = batch.claimed.is_empty()
            && batch.worked.is_empty()
            && batch.more.is_empty()
            && !batch.waits
            && batch.error.is_none()
            && batch.next_in.is_none_or(|next| next > super::database::SOON);
        self.empty = if idle && self.outstanding == 0 { self.empty.saturating_add(1) } else { 0 };
        let current = self.claimant.as_ref().is_some_and(|claimant| claimant.node_id == node_id);
        for task in &batch.counted {
            self.slots.entry(task.clone()).or_default().counted = true;
        }
        for claim in batch.claimed {
            if !current {
                // The lease ended while the claim was on its way: rescue gives these to somebody else.
                tracing::warn!(task = claim.task, entries = claim.entries.len(), "a claim came after its lease");
                continue;
            }
            let slots = self.slots.entry(claim.task.clone()).or_default();
            slots.running += claim.entries.len();
            slots.counted = batch.counted.contains(&claim.task);
            self.outstanding += claim.entries.len();
            if let Some(wiring) = &self.wiring {
                wiring.executor.do_send(Execute { claim, node_id });
            }
        }
        let mut again = self.woken;
        for task in &batch.more {
            if let Some(slots) = self.slots.get_mut(task) {
                slots.hungry = true;
                again = true;
            }
        }
        self.quiet();
        self.arm(batch.next_in, ctx);
        if again && batch.error.is_none() {
            self.tick(ctx);
        }
    }

    /// How many more entries may be in memory: two batches beyond what handlers work, so that slow results stop claims.
    fn spare(&self) -> usize {
        let slots: usize = self.plans.iter().map(|plan| plan.config.concurrency).sum();
        (slots + 2 * BATCH).saturating_sub(self.outstanding)
    }

    /// Answers those who wait for the last claim to come back.
    fn quiet(&mut self) {
        if self.claiming + self.transacting == 0
            && let Some(waiting) = &mut self.stopping
        {
            for reply in waiting.drain(..) {
                // Nobody listens any more: nothing to do.
                let _ = reply.send(());
            }
        }
    }
}

impl Actor for SchedulerActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        // Each claimed batch is one message, each handler's end another: more than the default 16 may come at once.
        ctx.set_mailbox_capacity(1024);
        self.arm(None, ctx);
    }
}

impl Supervised for SchedulerActor {
    /// The same instance goes on, but every future that would have brought an answer is gone.
    fn restarting(&mut self, _: &mut Self::Context) {
        self.claiming = 0;
        self.transacting = 0;
        self.timer = None;
        for slots in self.slots.values_mut() {
            slots.reserved = 0;
        }
        // What the executor runs ends by a message to this actor; what a transaction does ended with its future.
        for plan in self.plans.iter().filter(|plan| plan.transaction) {
            self.slots.remove(plan.name());
        }
        tracing::warn!("the SchedulerActor was restarted");
    }
}

impl SystemService for SchedulerActor {}
