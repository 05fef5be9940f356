//! Verify: what the database holds as claimed by this node against what the executor works.
//!
//! Entries that were cancelled or taken over have their handlers ended. Claims that never reached the executor, since
//! the connection broke between commit and answer, go back: nobody would ever work them while this node lives.

use std::collections::HashMap;

use actix::prelude::*;

use super::{DutyActor, Look, gone};
use crate::actor::message::{Abandon, OpenClaims, Perform, Wake};
use crate::store::settle::{self, Context as SettleContext, Settlement, Verdict};

/// What one look found that the executor did not have.
#[derive(Message)]
#[rtype(result = "HashMap<i64, i64>")]
struct Unknown(HashMap<i64, i64>);

impl Handler<Unknown> for DutyActor {
    type Result = MessageResult<Unknown>;

    /// Those that were unknown at the last look too: what was merely on its way has arrived by now.
    fn handle(&mut self, message: Unknown, _: &mut Self::Context) -> Self::Result {
        let twice = message.0.iter().filter(|(id, claim)| self.unknown.get(id) == Some(claim));
        let twice = twice.map(|(id, claim)| (*id, *claim)).collect();
        self.unknown = message.0;
        MessageResult(twice)
    }
}

impl DutyActor {
    pub(super) fn verify(&mut self, ctx: &mut Context<Self>) -> Look {
        let wiring = self.wiring.clone();
        let duty = ctx.address();
        let node_id = self.node_id;
        Box::pin(async move {
            let Some(node_id) = node_id else { return Ok(None) };
            let open = wiring.executor.send(OpenClaims).await.map_err(|error| gone(&error))?;
            let (tell, told) = tokio::sync::oneshot::channel();
            let read = Perform {
                what: "reading claims",
                work: Box::new(move |connection| {
                    // The receiver waits on the same future: it cannot be gone.
                    let _ = tell.send(settle::running(connection, node_id)?);
                    Ok(false)
                }),
            };
            wiring.database.send(read).await.map_err(|error| gone(&error))??;
            let Ok(running) = told.await else { return Ok(None) };
            let running: HashMap<_, _> = running.into_iter().collect();
            let ended: Vec<_> = open.into_iter().filter(|(id, claim)| running.get(id) != Some(claim)).collect();
            if !ended.is_empty() {
                wiring.executor.do_send(Abandon { claims: ended });
            }
            // Asked again after the read: what was claimed in between is known by now or will be.
            let open: HashMap<_, _> =
                wiring.executor.send(OpenClaims).await.map_err(|error| gone(&error))?.into_iter().collect();
            let unknown = running.into_iter().filter(|(id, claim)| open.get(id) != Some(claim)).collect();
            let twice = duty.send(Unknown(unknown)).await.map_err(|error| gone(&error))?;
            if twice.is_empty() {
                return Ok(None);
            }
            tracing::warn!(entries = twice.len(), "claims whose answer never arrived are handed back");
            let settlements: Vec<_> =
                twice.into_iter().map(|(id, claim)| Settlement::new(id, claim, 0, Verdict::HandedBack)).collect();
            let hand_back = Perform {
                what: "handing back claims",
                work: Box::new(move |connection| {
                    settle::settle(connection, &SettleContext::ending(node_id), &settlements).map(|_| false)
                }),
            };
            wiring.database.send(hand_back).await.map_err(|error| gone(&error))??;
            wiring.scheduler.do_send(Wake);
            Ok(None)
        })
    }
}
