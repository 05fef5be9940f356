//! The DatabaseActor: one thread of a SyncArbiter pool, one connection at a time, one short transaction a message.
//!
//! Makes the atomic claims and writes the results. Decides nothing: what is claimed and written comes in the message.

use std::time::{Duration, Instant};

use actix::prelude::*;

use super::guard;
use super::message::{
    Batch, Claim, Perform, PlanFirings, PlannedFirings, ProcessBatch, Rescue, RunStatement, Settle, Work,
};
use crate::error::{Error, Result};
use crate::model::time::SECOND;
use crate::store::claim::{self, ClaimRequest, Claimant, Due};
use crate::store::dialect::Dialect;
use crate::store::plan::TaskPlan;
use crate::store::rescue::Rescued;
use crate::store::settle::Settled;
use crate::store::statement_handler::{self, Ran};
use crate::store::{Lent, Store, firings, holds, rescue, schedules, settle};

/// How long one transaction of SQL handlers goes on taking entries: others wait for its locks.
const TRANSACTION: Duration = Duration::from_millis(50);

/// The same on SQLite, where all that write wait for their turn.
const TURN: Duration = Duration::from_millis(10);

/// The most entries that one transaction of SQL handlers takes.
const TRANSACTION_MOST: usize = 100;

/// How soon a claim is repeated that found entries due but locked by others.
const CONTENDED: Duration = Duration::from_millis(20);

/// What becomes due within this span counts as due now for whoever asks whether all is done.
pub const SOON: Duration = CONTENDED;

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
        Self { store, pool, pace: TRANSACTION }
    }

    fn connection(&self) -> Result<Lent> {
        match self.pool {
            Pool::Work => self.store.work(),
            Pool::Sweep => self.store.sweep(),
            Pool::Firing => self.store.firing(),
            Pool::Handler => self.store.handler(),
        }
    }

    fn claim(&self, claimant: &Claimant, requests: &[ClaimRequest]) -> Result<Batch> {
        let mut connection = self.connection()?;
        let mut batch = Batch::default();
        for due in claim::look(&mut connection, claimant, requests)? {
            let Some(request) = requests.iter().find(|request| request.task == due.task) else { continue };
            let result = Self::claim_due(&mut connection, claimant, request, due, &mut batch);
            if let Err(error) = result {
                // What was claimed of other tasks is ours and must be worked.
                batch.error = Some(error);
                break;
            }
        }
        Ok(batch)
    }

    fn claim_due(
        connection: &mut Lent,
        claimant: &Claimant,
        request: &ClaimRequest,
        due: Due,
        batch: &mut Batch,
    ) -> Result<()> {
        if due.paused {
            return Ok(());
        }
        if let Some(next) = due.next_in {
            batch.soon(micros(next));
        }
        if due.priorities.is_empty() {
            return Ok(());
        }
        let mut limit = request.limit;
        let probe = due.held.is_some();
        if let Some(probe_in) = due.held {
            if probe_in > 0 || !holds::probe(connection, &request.task)? {
                batch.soon(micros(probe_in.max(SECOND)));
                return Ok(());
            }
            limit = 1;
        }
        let request = ClaimRequest { limit, ..request.clone() };
        let claimed = match claim::claim_due(connection, claimant, &request, due) {
            Err(error) if probe => {
                holds::give_back_probe(connection, &request.task)?;
                return Err(error);
            }
            result => result?,
        };
        let taken = claimed.entries.len() + claimed.settled;
        if taken >= limit {
            batch.more.push(request.task.clone());
        } else if taken == 0 {
            // Nothing under SKIP LOCKED is not the end: another may hold the head.
            batch.soon(CONTENDED);
        }
        if claimed.entries.is_empty() {
            if probe {
                holds::give_back_probe(connection, &request.task)?;
            }
        } else {
            batch.claimed.push(Claim { task: request.task, entries: claimed.entries, probe });
        }
        Ok(())
    }

    fn work(&mut self, claimant: &Claimant, plan: &TaskPlan) -> Result<Batch> {
        let mut connection = self.connection()?;
        let mut batch = Batch::default();
        let Some(due) = claim::due(&mut connection, &[plan.name()])?.pop() else { return Ok(batch) };
        if due.paused {
            return Ok(batch);
        }
        if let Some(next) = due.next_in {
            batch.soon(micros(next));
        }
        if due.priorities.is_empty() {
            return Ok(batch);
        }
        let span = if connection.dialect() == Dialect::Sqlite { TURN } else { TRANSACTION };
        let fitting = span.as_micros() / self.pace.as_micros().max(1);
        let limit = usize::try_from(fitting).unwrap_or(TRANSACTION_MOST).clamp(1, TRANSACTION_MOST);
        let start = Instant::now();
        let worked = statement_handler::work(&mut connection, claimant, plan, &due.priorities, limit);
        // Two transactions that met in a deadlock may meet again: one entry at a time they do not.
        let worked = worked.inspect_err(|_| self.pace = TRANSACTION)?;
        let entries = worked.samples.len();
        if let Ok(entries) = u32::try_from(entries)
            && entries > 0
        {
            self.pace = (self.pace + start.elapsed() / entries) / 2;
        }
        if worked.more {
            batch.more.push(plan.name().to_owned());
        } else if entries == 0 && worked.settled == 0 {
            batch.soon(CONTENDED);
        }
        batch.worked = worked.samples;
        Ok(batch)
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

fn micros(span: i64) -> Duration {
    Duration::from_micros(u64::try_from(span).unwrap_or(0))
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
