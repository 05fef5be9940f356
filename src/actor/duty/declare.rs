//! What this node declares: told to all nodes, and then to its own scheduler.

use std::time::Duration;

use actix::prelude::*;
use tokio::sync::oneshot;

use super::{Declared, DutyActor};
use crate::actor::message::{Configure, Declare, DeclaredAs};
use crate::store::nodes::{self, Declaration, DeclarationKind};

impl Handler<Declare> for DutyActor {
    type Result = ();

    fn handle(&mut self, message: Declare, ctx: &mut Self::Context) {
        self.plans = message.plans;
        self.schedules = message.schedules;
        if message.anew {
            self.since = None;
            self.readings += 1;
        }
        self.declare(ctx);
    }
}

impl Handler<Declared> for DutyActor {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, _: Declared, _: &mut Self::Context) -> Self::Result {
        let (reply, answer) = oneshot::channel();
        if !self.declared {
            self.waiting.push(reply);
        }
        Box::pin(async move {
            // An error says that there is nothing to wait for.
            let _ = answer.await;
        })
    }
}

impl DutyActor {
    /// Tells all nodes which tasks and schedules this one declares; tried until it is written. Only then does the
    /// scheduler hear of them: nothing may be claimed before its limits are in force.
    pub(super) fn declare(&mut self, ctx: &mut Context<Self>) {
        let Some(node_id) = self.node_id else { return };
        let (mut declarations, plans) = (self.schedules.clone(), self.plans.clone());
        declarations.extend(plans.iter().map(|plan| Declaration {
            kind: DeclarationKind::Task,
            name: plan.name().to_owned(),
            body: plan.declaration(),
        }));
        let (since, readings, (tell, told)) = (self.since, self.readings, oneshot::channel());
        let work = self.perform("declaring tasks and schedules", move |connection| {
            let since = nodes::declare(connection, node_id, &declarations, since)?;
            // The receiver waits on the same future: it cannot be gone.
            let _ = tell.send(since);
            Ok(false)
        });
        let work = async move { work.await.map(|_| told) };
        ctx.spawn(work.into_actor(self).map(move |result, act, ctx| {
            match result {
                Ok(mut told) if readings == act.readings => act.since = told.try_recv().ok(),
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(%error, "tasks and schedules could not be declared; tried again");
                    ctx.run_later(Duration::from_secs(1), |act, ctx| act.declare(ctx));
                    return;
                }
            }
            act.declared = true;
            if act.wiring.works {
                act.wiring.scheduler.do_send(Configure { plans });
            }
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
