//! Claims of a DatabaseActor: what is due of the tasks that were asked for, as far as pauses, holds and limits allow.

use std::time::{Duration, Instant};

use super::DatabaseActor;
use crate::actor::message::{Batch, Claim};
use crate::error::Result;
use crate::model::time::{Micros, SECOND};
use crate::store::claim::{self, ClaimRequest, Claimant, Due, Limited, STEP, Starts};
use crate::store::dialect::Dialect;
use crate::store::plan::TaskPlan;
use crate::store::{Lent, holds, statement_handler};

/// How long one transaction of SQL handlers goes on taking entries: others wait for its locks.
pub(super) const TRANSACTION: Duration = Duration::from_millis(50);

/// The same on SQLite, where all that write wait for their turn.
const TURN: Duration = Duration::from_millis(10);

/// The most entries that one transaction of SQL handlers takes.
const TRANSACTION_MOST: usize = 100;

/// How soon a claim is repeated that found entries due but locked by others.
const CONTENDED: Duration = Duration::from_millis(20);

/// What becomes due within this span counts as due now for whoever asks whether all is done.
pub const SOON: Duration = CONTENDED;

/// What a rate allows within this span is worth waiting for.
const PATIENCE: Micros = 10 * SECOND;

impl DatabaseActor {
    pub(super) fn claim(&self, claimant: &Claimant, requests: &[ClaimRequest]) -> Result<Batch> {
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
        if due.limited == Limited::ByRunning {
            batch.counted.push(due.task.clone());
        }
        if let Some(wait) = due.starts_in {
            held_up(batch, wait);
        }
        if let Some(next) = due.next_in {
            batch.soon(micros(next));
        }
        if due.priorities.is_empty() {
            return Ok(());
        }
        let counted = due.limited == Limited::ByRunning;
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
        } else if let Some(wait) = claimed.next_in {
            held_up(batch, wait);
        } else if taken == 0 && !counted {
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

    pub(super) fn work(&mut self, claimant: &Claimant, plan: &TaskPlan) -> Result<Batch> {
        let mut connection = self.connection()?;
        let mut batch = Batch::default();
        let Some(due) = claim::due(&mut connection, &[plan.name()])?.pop() else { return Ok(batch) };
        if due.paused {
            return Ok(batch);
        }
        if due.limited == Limited::ByRunning {
            // What runs is counted, for another node has declared it so: then it must be marked running.
            drop(connection);
            return self.claim(claimant, &[plan.request(1)]);
        }
        if let Some(wait) = due.starts_in {
            held_up(&mut batch, wait);
        }
        if let Some(next) = due.next_in {
            batch.soon(micros(next));
        }
        if due.priorities.is_empty() {
            return Ok(batch);
        }
        let span = if connection.dialect() == Dialect::Sqlite { TURN } else { TRANSACTION };
        let fitting = span.as_micros() / self.pace.as_micros().max(1);
        let mut limit = usize::try_from(fitting).unwrap_or(TRANSACTION_MOST).clamp(1, TRANSACTION_MOST);
        let starts = match due.limited {
            Limited::No | Limited::ByRunning => None,
            Limited::ByRate => Some(Starts::take(&mut connection, plan.name(), limit)?),
        };
        let next_in = starts.and_then(|starts| starts.next_in);
        if let Some(starts) = starts {
            limit = starts.most;
            if limit == 0 {
                held_up(&mut batch, next_in.unwrap_or_default());
                return Ok(batch);
            }
        }
        let start = Instant::now();
        let worked = statement_handler::work(&mut connection, claimant, plan, &due.priorities, limit);
        if let Some(starts) = starts {
            let made = worked.as_ref().map_or(0, |worked| worked.samples.len());
            if let Err(error) = starts.give_back(&mut connection, plan.name(), limit.saturating_sub(made)) {
                tracing::warn!(task = plan.name(), %error, "starts that were not made count against the rate");
            }
        }
        // Two transactions that met in a deadlock may meet again: one entry at a time they do not.
        let worked = worked.inspect_err(|_| self.pace = TRANSACTION)?;
        let entries = worked.samples.len();
        if let Ok(entries) = u32::try_from(entries)
            && entries > 0
        {
            self.pace = (self.pace + start.elapsed() / entries) / 2;
        }
        if let Some(wait) = next_in.filter(|_| worked.more) {
            held_up(&mut batch, wait);
        } else if worked.more {
            batch.more.push(plan.name().to_owned());
        } else if entries == 0 && worked.settled == 0 {
            batch.soon(CONTENDED);
        }
        batch.worked = worked.samples;
        Ok(batch)
    }
}

/// The task's rate allows no more for so long, while entries are due.
fn held_up(batch: &mut Batch, wait: Micros) {
    batch.soon(micros(wait.max(STEP)));
    batch.waits |= wait < PATIENCE;
}

fn micros(span: Micros) -> Duration {
    Duration::from_micros(u64::try_from(span).unwrap_or(0))
}
