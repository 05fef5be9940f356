//! Declare: which tasks and schedules this node works, told to all nodes until it is written.

use std::time::Duration;

use actix::prelude::*;
use tokio::sync::oneshot;

use super::DutyActor;
use crate::actor::message::DeclaredAs;
use crate::store::nodes::{Declaration, DeclarationKind};

impl DutyActor {
    /// Tells all nodes which tasks and schedules this one declares; tried until it is written.
    pub(super) fn declare(&mut self, ctx: &mut Context<Self>) {
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
