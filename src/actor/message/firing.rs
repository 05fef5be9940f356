//! Messages about schedules: declaring, leading, firing.

use std::sync::Arc;
use std::time::Instant;

use actix::prelude::*;

use crate::error::Result;
use crate::store::firings::{Pass, Passed};
use crate::store::nodes::Declaration;
use crate::store::plan::TaskPlan;
use crate::store::schedules::Seen;

/// To the DutyActor: what this node works and declares. Replaces what was before.
#[derive(Message, Clone)]
#[rtype(result = "()")]
pub struct Declare {
    /// The tasks.
    pub plans: Vec<Arc<TaskPlan>>,
    /// The schedules.
    pub schedules: Vec<Declaration>,
    /// True if the configuration was just read, so that this node is now the one that speaks where nodes differ.
    pub anew: bool,
}

/// To the LeaseActor: renew the lease of the scheduler, or take it if nobody holds it.
#[derive(Message, Debug, Clone, Copy)]
#[rtype(result = "Result<Option<Leading>>")]
pub struct Lead {
    /// The incarnation.
    pub node_id: i64,
    /// The term under which it led until now.
    pub term: Option<i64>,
}

/// The lease of the scheduler, held.
#[derive(Debug, Clone, Copy)]
pub struct Leading {
    /// The term.
    pub term: i64,
    /// An instant at which the lease had not begun.
    pub asked: Instant,
}

/// To the LeaseActor: give up the lease of the scheduler.
#[derive(Message, Debug, Clone, Copy)]
#[rtype(result = "Result<()>")]
pub struct GiveUpLead {
    /// The term under which it was held.
    pub term: i64,
}

/// To the LeadershipActor: lead no more. The reply comes once that is written, or cannot be.
#[derive(Message, Debug, Clone, Copy)]
#[rtype(result = "()")]
pub struct StepDown;

/// To the FiringActor: this node fires first until then; nothing if another does.
#[derive(Message, Debug, Clone, Copy)]
#[rtype(result = "()")]
pub struct Leads {
    /// Until when that may be trusted.
    pub until: Option<Instant>,
}

/// To the FiringActor: fire no more. The reply comes once no pass is on its way.
#[derive(Message, Debug, Clone, Copy)]
#[rtype(result = "()")]
pub struct StopFiring;

/// To the FiringActor: this incarnation has declared what it does. Before that it would fire what nobody declares any
/// more, and take its own for such.
#[derive(Message, Debug, Clone, Copy)]
#[rtype(result = "()")]
pub struct DeclaredAs {
    /// The incarnation.
    pub node_id: i64,
}

/// To a DB actor: bring into force what nodes declare, and fire what is due.
#[derive(Message, Debug, Clone)]
#[rtype(result = "Result<PlannedFirings>")]
pub struct PlanFirings {
    /// Who fires, and what.
    pub pass: Pass,
    /// Which declarations were brought into force last.
    pub seen: Option<Seen>,
    /// False if they were looked at a moment ago.
    pub reconcile: bool,
}

/// What a [`PlanFirings`] brought.
#[derive(Debug)]
pub struct PlannedFirings {
    /// Which declarations are in force now.
    pub seen: Option<Seen>,
    /// What was fired.
    pub passed: Passed,
}
