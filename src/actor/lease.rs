//! The LeaseActor: one thread and one connection for the node's lease, so that no load can come before a heartbeat.

use std::time::{Duration, Instant};

use actix::prelude::*;

use super::guard;
use super::message::{GiveUpLead, Lead, Leading, Register, Renew, Resign};
use crate::config::NodeRole;
use crate::error::Result;
use crate::store::leases::{self, Holder, Take};
use crate::store::{Store, nodes};

/// The lease of the leader.
const SCHEDULER: &str = "scheduler";

/// Writes the node's lease. Lives in a SyncArbiter of one thread.
pub struct LeaseActor {
    /// Where.
    pub store: Store,
    /// The node's label.
    pub name: String,
    /// What it does.
    pub roles: Vec<NodeRole>,
    /// How long a lease lasts.
    pub lease: Duration,
}

impl Actor for LeaseActor {
    type Context = SyncContext<Self>;
}

impl Handler<Register> for LeaseActor {
    type Result = Result<(i64, Instant)>;

    fn handle(&mut self, _: Register, _: &mut Self::Context) -> Self::Result {
        guard::catch("registering the node", || {
            // Counted from here: a connection that is slow to open must not take from the lease.
            let mut connection = self.store.lease()?;
            let asked = Instant::now();
            Ok((nodes::register(&mut connection, &self.name, &self.roles, self.lease)?, asked))
        })
    }
}

impl Handler<Renew> for LeaseActor {
    type Result = Result<Option<Instant>>;

    fn handle(&mut self, message: Renew, _: &mut Self::Context) -> Self::Result {
        guard::catch("renewing the lease", || {
            let mut connection = self.store.lease()?;
            let asked = Instant::now();
            Ok(nodes::renew(&mut connection, message.node_id, self.lease)?.then_some(asked))
        })
    }
}

impl Handler<Resign> for LeaseActor {
    type Result = Result<()>;

    fn handle(&mut self, message: Resign, _: &mut Self::Context) -> Self::Result {
        guard::catch("giving up the lease", || {
            let mut connection = self.store.lease()?;
            if message.stopped {
                nodes::stop(&mut connection, message.node_id)
            } else {
                nodes::drain(&mut connection, message.node_id)
            }
        })
    }
}

impl Handler<Lead> for LeaseActor {
    type Result = Result<Option<Leading>>;

    fn handle(&mut self, message: Lead, _: &mut Self::Context) -> Self::Result {
        guard::catch("leading", || {
            let mut connection = self.store.lease()?;
            let asked = Instant::now();
            if let Some(term) = message.term
                && leases::renew(&mut connection, SCHEDULER, term, self.lease)?
            {
                return Ok(Some(Leading { term, asked }));
            }
            let holder = Holder { node_id: Some(message.node_id), label: &self.name };
            Ok(match leases::take(&mut connection, SCHEDULER, holder, self.lease, Duration::ZERO)? {
                Take::Taken(term) => Some(Leading { term, asked }),
                Take::Refused(_) => None,
            })
        })
    }
}

impl Handler<GiveUpLead> for LeaseActor {
    type Result = Result<()>;

    fn handle(&mut self, message: GiveUpLead, _: &mut Self::Context) -> Self::Result {
        guard::catch("giving up the lead", || leases::resign(&mut *self.store.lease()?, SCHEDULER, message.term))
    }
}
