//! Every message that crosses between actors, with its reply.

mod firing;

use std::sync::Arc;
use std::time::{Duration, Instant};

use actix::prelude::*;
pub use firing::{
    Declare, DeclaredAs, GiveUpLead, Lead, Leading, Leads, PlanFirings, PlannedFirings, StepDown, StopFiring,
};

use crate::error::{Error, Result};
use crate::model::Entry;
use crate::model::sums::Sample;
use crate::store::claim::{ClaimRequest, Claimant};
use crate::store::plan::TaskPlan;
use crate::store::rescue::Rescued;
use crate::store::server::Strategy;
use crate::store::settle::{Settled, Settlement};
use crate::store::statement_handler::Ran;

/// Something may be due. Carries nothing: whoever hears it looks at the database.
#[derive(Message, Debug, Clone, Copy)]
#[rtype(result = "()")]
pub struct Wake;

/// To the scheduler and the executor: the tasks that this node works. Replaces those before.
#[derive(Message, Clone)]
#[rtype(result = "()")]
pub struct Configure {
    /// The tasks.
    pub plans: Vec<Arc<TaskPlan>>,
}

/// The node has a lease, under this incarnation.
#[derive(Message, Debug, Clone)]
#[rtype(result = "()")]
pub struct Incarnation {
    /// Who claims from now on.
    pub claimant: Claimant,
}

/// The lease has ended or may end soon: claims are dropped, their handlers ended.
#[derive(Message, Debug, Clone, Copy)]
#[rtype(result = "()")]
pub struct LeaseLost;

/// To a DB actor: one atomic claim, or one transaction that claims, works and finishes.
#[derive(Message, Clone)]
#[rtype(result = "Result<Batch>")]
pub struct ProcessBatch {
    /// Who claims.
    pub claimant: Claimant,
    /// What is asked.
    pub work: Work,
}

/// What a [`ProcessBatch`] asks.
#[derive(Clone)]
pub enum Work {
    /// Claim entries of these tasks, for the executor.
    Claim(Vec<ClaimRequest>),
    /// Claim, work and finish entries of one SQL task in one transaction.
    Transaction(Arc<TaskPlan>),
}

/// What a [`ProcessBatch`] brought.
#[derive(Debug, Default)]
pub struct Batch {
    /// Claimed entries; tasks with none are left out.
    pub claimed: Vec<Claim>,
    /// Tasks that may have more due now.
    pub more: Vec<String>,
    /// Tasks with due entries of which only so many may run: worth looking again when one of them is recorded.
    pub counted: Vec<String>,
    /// How long until it is worth looking again, if something that was looked at says so.
    pub next_in: Option<Duration>,
    /// True if due entries wait for a rate that soon allows them.
    pub waits: bool,
    /// What was worked and finished in the transaction.
    pub worked: Vec<Sample>,
    /// What stopped it half-way; what was claimed before stands.
    pub error: Option<Error>,
}

impl Batch {
    /// Worth looking again after this span, or earlier.
    pub fn soon(&mut self, span: Duration) {
        self.next_in = Some(self.next_in.map_or(span, |next| next.min(span)));
    }
}

impl Batch {
    /// Without its claims, which are left to be handed back: one that was so long on its way may have been already
    /// (`duty::verify` waits for longer than that, but not for ever), and must not be started twice.
    pub(super) fn too_late(mut self) -> Self {
        for claim in std::mem::take(&mut self.claimed) {
            tracing::warn!(task = claim.task, entries = claim.entries.len(), "a claim came too late and goes back");
        }
        self
    }
}

/// Claimed entries of one task.
#[derive(Debug)]
pub struct Claim {
    /// The task.
    pub task: String,
    /// In the order in which they are due.
    pub entries: Vec<Entry>,
    /// True if this one entry finds out whether the host takes work again.
    pub probe: bool,
}

/// To a DB actor: write what became of entries of one task.
#[derive(Message, Clone)]
#[rtype(result = "Result<Settled>")]
pub struct Settle {
    /// The task.
    pub plan: Arc<TaskPlan>,
    /// The node that worked them.
    pub node_id: i64,
    /// What is to be written.
    pub settlements: Arc<Vec<Settlement>>,
    /// The host's words, if it refused the task.
    pub hold: Option<String>,
    /// True if the host has taken work, so that a hold ends.
    pub release: bool,
    /// What stands on each log line of it.
    pub span: tracing::Span,
}

/// To a DB actor: run an SQL handler for one claimed entry and finish it in the same transaction.
#[derive(Message, Clone)]
#[rtype(result = "Result<Ran>")]
pub struct RunStatement {
    /// The task.
    pub plan: Arc<TaskPlan>,
    /// The entry.
    pub entry: Entry,
    /// What stands on each log line of it: a span does not cross from thread to thread by itself.
    pub span: tracing::Span,
}

/// To the executor: work these.
#[derive(Message, Debug)]
#[rtype(result = "()")]
pub struct Execute {
    /// What was claimed.
    pub claim: Claim,
    /// The incarnation under which they are claimed.
    pub node_id: i64,
}

/// To the scheduler: handlers of a task have ended.
#[derive(Message, Debug, Clone)]
#[rtype(result = "()")]
pub struct Finished {
    /// The task.
    pub task: String,
    /// How many entries.
    pub entries: usize,
}

/// To the scheduler: results have been recorded, or given up with their claims.
#[derive(Message, Debug, Clone)]
#[rtype(result = "()")]
pub struct Recorded {
    /// The task.
    pub task: String,
    /// The incarnation under which they were claimed.
    pub node_id: i64,
    /// How many entries.
    pub entries: usize,
}

/// To the executor: these claims no longer stand; end their handlers.
#[derive(Message, Debug, Clone)]
#[rtype(result = "()")]
pub struct Abandon {
    /// Entry and claim number.
    pub claims: Vec<(i64, i64)>,
}

/// To the executor: which claims are open, as entry and claim number.
#[derive(Message, Debug, Clone, Copy)]
#[rtype(result = "Vec<(i64, i64)>")]
pub struct OpenClaims;

/// To the scheduler: claim nothing more. The reply comes once no claim is on its way.
#[derive(Message, Debug, Clone, Copy)]
#[rtype(result = "()")]
pub struct StopClaiming;

/// To the executor: finish what runs until then, end and hand back the rest. The reply comes once all is recorded.
#[derive(Message, Debug, Clone, Copy)]
#[rtype(result = "()")]
pub struct Drain {
    /// When what still runs is ended.
    pub until: Instant,
}

/// To the scheduler, in tests: end its context, so that its supervisor starts it again.
#[cfg(feature = "testing")]
#[derive(Message, Debug, Clone, Copy)]
#[rtype(result = "()")]
pub struct Restart;

/// To the scheduler: what it is doing, for tests and for `work`.
#[derive(Message, Debug, Clone, Copy)]
#[rtype(result = "Activity")]
pub struct Observe;

/// What a scheduler is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, MessageResponse)]
pub struct Activity {
    /// Entries claimed and not yet recorded.
    pub outstanding: usize,
    /// Claims on their way.
    pub claiming: usize,
    /// Entries recorded since the start.
    pub recorded: u64,
    /// Claims that came back since the start.
    pub claims: u64,
    /// Claims in a row that came back with nothing, and nothing has been outstanding since.
    pub empty: u32,
}

/// To the LeaseActor: register a new incarnation. Its id, and an instant at which the lease had not begun.
#[derive(Message, Debug, Clone, Copy)]
#[rtype(result = "Result<(i64, Instant)>")]
pub struct Register;

/// To the LeaseActor: extend the lease of this incarnation. An instant before that was asked of the database; nothing
/// if the lease has ended.
#[derive(Message, Debug, Clone, Copy)]
#[rtype(result = "Result<Option<Instant>>")]
pub struct Renew {
    /// The incarnation.
    pub node_id: i64,
}

/// To the LeaseActor: this incarnation drains, or has stopped.
#[derive(Message, Debug, Clone, Copy)]
#[rtype(result = "Result<()>")]
pub struct Resign {
    /// The incarnation.
    pub node_id: i64,
    /// False: it takes no more work. True: it ends.
    pub stopped: bool,
}

/// To the HeartbeatActor: begin.
#[derive(Message, Debug, Clone)]
#[rtype(result = "()")]
pub struct Begin {
    /// Makes idempotency keys unique over installations.
    pub installation: Arc<str>,
    /// How entries are claimed.
    pub strategy: Strategy,
}

/// To the HeartbeatActor: tell the database that the node drains, or give up the lease. The reply comes once that is
/// written, or cannot be.
#[derive(Message, Debug, Clone, Copy)]
#[rtype(result = "()")]
pub struct Leave {
    /// True: it ends.
    pub stopped: bool,
}

/// To a DB actor: take over what the dead had claimed.
#[derive(Message, Debug, Clone, Copy)]
#[rtype(result = "Result<Rescued>")]
pub struct Rescue {
    /// True: also what is claimed by incarnations whose row is gone.
    pub missing: bool,
}

/// A short piece of work on a connection; true if it is to be repeated at once.
pub type Piece = Box<dyn FnOnce(&mut crate::store::Connection) -> Result<bool> + Send>;

/// To a DB actor: any other short piece of work.
#[derive(Message)]
#[rtype(result = "Result<bool>")]
pub struct Perform {
    /// What it is, for the log.
    pub what: &'static str,
    /// The work.
    pub work: Piece,
}
