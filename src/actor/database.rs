//! The DatabaseActor: one thread of a SyncArbiter pool, one connection at a time, one short transaction a message.
//!
//! Makes the atomic claims and writes the results. Decides nothing: what is claimed and written comes in the message.

mod claiming;

use std::time::Duration;

use actix::prelude::*;
pub use claiming::SOON;

use super::guard;
use super::message::{Batch, Perform, PlanFirings, PlannedFirings, ProcessBatch, Rescue, RunStatement, Settle, Work};
use crate::error::{Error, Result};
use crate::store::rescue::Rescued;
use crate::store::settle::Settled;
use crate::store::statement_handler::{self, Ran};
use crate::store::{Lent, Store, firings, holds, rescue, schedules, settle};

/// What a pool of DB actors is for: which connections it uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pool {
    /// Claims, results and duties.
    Work,
    /// Sweeps.
    Sweep,
    /// Firings.
    Firing,
    /// Statements of users.
    Handler,
}

/// One thread that speaks to the database.
pub struct DatabaseActor {
    store: Store,
    pool: Pool,
    /// What one entry of a transaction lately took, to choose how many to take.
    pace: Duration,
}

impl DatabaseActor {
    /// An actor that opens connections as it needs them.
    pub fn new(store: Store, pool: Pool) -> Self {
        Self { store, pool, pace: claiming::TRANSACTION }
    }

    fn connection(&self) -> Result<Lent> {
        match self.pool {
            Pool::Work => self.store.work(),
            Pool::Sweep => self.store.sweep(),
            Pool::Firing => self.store.firing(),
            Pool::Handler => self.store.handler(),
        }
    }

    fn settle(&self, message: &Settle) -> Result<Settled> {
        let plan = &message.plan;
        let context = plan.context(message.node_id);
        let mut connection = self.connection()?;
        if message.hold.is_none() && !message.release {
            return settle::settle(&mut connection, &context, &message.settlements);
        }
        // Together: an entry that is pending again before the hold is seen would be claimed again at once.
        connection.transaction(|connection| {
            let settled = settle::settle(connection, &context, &message.settlements)?;
            if let Some(reason) = &message.hold {
                holds::hold(connection, plan.name(), reason)?;
            } else if holds::release(connection, plan.name())? {
                tracing::info!(task = plan.name(), "the host takes work again");
            }
            Ok(settled)
        })
    }
}

impl Actor for DatabaseActor {
    type Context = SyncContext<Self>;
}

impl Handler<ProcessBatch> for DatabaseActor {
    type Result = Result<Batch>;

    fn handle(&mut self, message: ProcessBatch, _: &mut Self::Context) -> Self::Result {
        guard::catch("claiming", || match &message.work {
            Work::Claim(requests) => self.claim(&message.claimant, requests),
            Work::Transaction(plan) => self.work(&message.claimant, plan),
        })
    }
}

impl Handler<Settle> for DatabaseActor {
    type Result = Result<Settled>;

    fn handle(&mut self, message: Settle, _: &mut Self::Context) -> Self::Result {
        let _entered = message.span.enter();
        guard::catch("recording results", || self.settle(&message))
    }
}

impl Handler<RunStatement> for DatabaseActor {
    type Result = Result<Ran>;

    fn handle(&mut self, message: RunStatement, _: &mut Self::Context) -> Self::Result {
        let _entered = message.span.enter();
        guard::catch("running an SQL handler", || {
            statement_handler::run(&mut *self.connection()?, &message.plan, &message.entry)
        })
    }
}

impl Handler<Rescue> for DatabaseActor {
    type Result = Result<Rescued>;

    fn handle(&mut self, message: Rescue, _: &mut Self::Context) -> Self::Result {
        guard::catch("rescuing", || {
            let mut connection = self.connection()?;
            let mut rescued = rescue::of_ended_nodes(&mut connection)?;
            if message.missing {
                let missing = rescue::of_missing_nodes(&mut connection)?;
                rescued.entries += missing.entries;
                rescued.nodes.extend(missing.nodes);
            }
            rescued.entries += rescue::of_outside_workers(&mut connection)?;
            Ok(rescued)
        })
    }
}

impl Handler<PlanFirings> for DatabaseActor {
    type Result = Result<PlannedFirings>;

    fn handle(&mut self, message: PlanFirings, _: &mut Self::Context) -> Self::Result {
        guard::catch("firing", || {
            let mut connection = self.connection()?;
            let mut seen = message.seen;
            if message.reconcile {
                match schedules::reconcile(&mut connection, seen.as_ref()) {
                    Ok(None) => {}
                    Ok(now) => seen = now,
                    // What is in force stays so, and fires.
                    Err(error) if seen.is_some() => tracing::warn!(%error, "what nodes declare could not be read"),
                    Err(error) => return Err(error),
                }
            }
            if seen.is_none() {
                return Err(Error::transient("another node is bringing into force what nodes declare"));
            }
            Ok(PlannedFirings { seen, passed: firings::pass(&mut connection, &message.pass)? })
        })
    }
}

impl Handler<Perform> for DatabaseActor {
    type Result = Result<bool>;

    fn handle(&mut self, message: Perform, _: &mut Self::Context) -> Self::Result {
        let Perform { what, work } = message;
        guard::catch(what, || work(&mut *self.connection()?)).map_err(|error: Error| error.context(what))
    }
}
