//! Verify: what the database holds as claimed by this node against what the executor works.
//!
//! Entries that were cancelled or taken over have their handlers ended. Claims that never reached the executor, since
//! the connection broke between commit and answer, go back: nobody would ever work them while this node lives.

use std::collections::HashSet;
use std::time::Duration;

use actix::prelude::*;

use super::{DutyActor, Look, Wiring, gone};
use crate::actor::message::{Abandon, OpenClaims, Perform, Wake};
use crate::error::{Error, Result};
use crate::store::settle::{self, Context as SettleContext, Settlement, Verdict};

/// How long after the first look a second one says whether a claim no longer stands. Until then the executor has heard
/// of what a handler itself has committed.
const AGAIN: Duration = Duration::from_millis(100);

/// Entries and their claims.
type Claims = HashSet<(i64, i64)>;

/// What one look found that the executor did not have.
#[derive(Message)]
#[rtype(result = "Claims")]
struct Unknown(Claims);

impl Handler<Unknown> for DutyActor {
    type Result = MessageResult<Unknown>;

    /// Those that were unknown at the last look too: what was merely on its way has arrived by now.
    fn handle(&mut self, message: Unknown, _: &mut Self::Context) -> Self::Result {
        let twice = message.0.intersection(&self.unknown).copied().collect();
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
            let (mut ended, unknown) = differing(&wiring, node_id).await?;
            if !ended.is_empty() {
                tokio::time::sleep(AGAIN).await;
                let (still, _) = differing(&wiring, node_id).await?;
                ended.retain(|claim| still.contains(claim));
                wiring.executor.do_send(Abandon { claims: ended.into_iter().collect() });
            }
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

/// What the executor works and the database does not hold, and what the database holds and the executor does not work.
async fn differing(wiring: &Wiring, node_id: i64) -> Result<(Claims, Claims)> {
    let open = || async {
        let open = wiring.executor.send(OpenClaims).await.map_err(|error| gone(&error))?;
        Ok::<Claims, Error>(open.into_iter().collect())
    };
    let before = open().await?;
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
    let running = told.await.map_err(|_| Error::internal("claims were read and not told"))?;
    let running: Claims = running.into_iter().collect();
    // Asked again after the read: what was claimed in between is known by now or will be.
    let after = open().await?;
    Ok((&before - &running, &running - &after))
}
