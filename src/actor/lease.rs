//! The LeaseActor: one thread and one connection for the node's lease, so that no load can come before a heartbeat.

use std::time::Duration;

use actix::prelude::*;

use super::guard;
use super::message::{Register, Renew, Resign};
use crate::config::NodeRole;
use crate::error::Result;
use crate::store::{Store, nodes};

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
    type Result = Result<i64>;

    fn handle(&mut self, _: Register, _: &mut Self::Context) -> Self::Result {
        guard::catch("registering the node", || {
            nodes::register(&mut *self.store.lease()?, &self.name, &self.roles, self.lease)
        })
    }
}

impl Handler<Renew> for LeaseActor {
    type Result = Result<bool>;

    fn handle(&mut self, message: Renew, _: &mut Self::Context) -> Self::Result {
        guard::catch("renewing the lease", || nodes::renew(&mut *self.store.lease()?, message.node_id, self.lease))
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
