//! Recording results in batches: collected for a moment or until a batch is full, repeated until the database takes
//! them or the lease is gone.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;

use super::{ExecutorActor, span};
use crate::actor::message::Settle;
use crate::error::Result;
use crate::store::plan::TaskPlan;
use crate::store::settle::judge::Judged;
use crate::store::settle::{Settled, Settlement, Verdict};

/// How long results are collected.
const MOMENT: Duration = Duration::from_millis(2);

/// So many results are written at once.
const FULL: usize = 500;

/// So often results are tried together that meet a passing fault.
const PATIENCE: u32 = 3;

/// The longest between two tries.
const LONGEST: Duration = Duration::from_secs(5);

#[derive(Default)]
struct Waiting {
    plan: Option<Arc<TaskPlan>>,
    settlements: Vec<Settlement>,
    hold: Option<String>,
    release: bool,
}

/// Results that wait to be written, by task.
#[derive(Default)]
pub(super) struct Acknowledger {
    waiting: HashMap<String, Waiting>,
    /// True while the end of the moment is awaited.
    armed: bool,
}

impl Acknowledger {
    pub fn push(&mut self, plan: &Arc<TaskPlan>, judged: Judged, probe: bool) {
        if !self.waiting.contains_key(plan.name()) {
            self.waiting.insert(plan.name().to_owned(), Waiting::default());
        }
        if let Some(waiting) = self.waiting.get_mut(plan.name()) {
            waiting.plan = Some(plan.clone());
            // A probe that was cut off by a stop tells nothing of the host.
            let answered = !matches!(judged.settlement.verdict, Verdict::HandedBack);
            waiting.release |= probe && judged.hold.is_none() && answered;
            waiting.hold = judged.hold.or(waiting.hold.take());
            waiting.settlements.push(judged.settlement);
        }
    }

    pub fn clear(&mut self) {
        self.waiting.clear();
    }

    /// What is to be written now: full batches, or all.
    fn take(&mut self, all: bool) -> Vec<Settle> {
        let ready = |waiting: &Waiting| !waiting.settlements.is_empty() && (all || waiting.settlements.len() >= FULL);
        let mut messages = Vec::new();
        for waiting in self.waiting.values_mut().filter(|waiting| ready(waiting)) {
            if let Some(plan) = waiting.plan.clone() {
                messages.push(Settle {
                    plan,
                    node_id: 0,
                    settlements: Arc::new(std::mem::take(&mut waiting.settlements)),
                    hold: waiting.hold.take(),
                    release: std::mem::take(&mut waiting.release),
                    span: tracing::Span::none(),
                });
            }
        }
        messages
    }

    fn is_empty(&self) -> bool {
        self.waiting.values().all(|waiting| waiting.settlements.is_empty())
    }
}

impl ExecutorActor {
    /// Writes full batches now and the rest after a moment; or all now.
    pub(super) fn flush(&mut self, all: bool, ctx: &mut Context<Self>) {
        for message in self.acknowledger.take(all) {
            let span = span::of_results(&self.node, message.plan.name());
            self.send(Settle { node_id: self.node_id, span, ..message }, 0, ctx);
        }
        if !self.acknowledger.armed && !self.acknowledger.is_empty() {
            self.acknowledger.armed = true;
            ctx.run_later(MOMENT, |act, ctx| {
                act.acknowledger.armed = false;
                act.flush(true, ctx);
            });
        }
    }

    fn send(&mut self, message: Settle, tries: u32, ctx: &mut Context<Self>) {
        let answer = self.database.send(message.clone()).into_actor(self);
        ctx.spawn(answer.map(move |answer, act, ctx| match answer {
            Ok(result) => act.answered(message, result, tries, ctx),
            Err(error) => tracing::error!(%error, "a DB actor is gone: results wait for the end of the lease"),
        }));
    }

    fn answered(&mut self, message: Settle, result: Result<Settled>, tries: u32, ctx: &mut Context<Self>) {
        if message.node_id != self.node_id {
            // The claims were dropped with their lease; the fence has seen to the rest.
            return;
        }
        let span = message.span.clone();
        let _entered = span.enter();
        match result {
            Ok(settled) => {
                if !settled.lost.is_empty() {
                    self.tally.meters.lost(message.plan.name(), settled.lost.len());
                    tracing::warn!(task = message.plan.name(), lost = settled.lost.len(), "claims were lost: fenced");
                }
                for (entry, words) in &settled.refused {
                    tracing::warn!(task = message.plan.name(), entry, error = words, "its row could not be marked");
                }
                let mut samples = Vec::with_capacity(message.settlements.len());
                for settlement in message.settlements.iter() {
                    if let Some(open) = self.open.remove(&(settlement.id, settlement.claim))
                        && !settled.lost.contains(&settlement.id)
                    {
                        samples.extend(open.sample);
                    }
                }
                self.tally.add(message.plan.name(), samples);
                self.recorded(message.plan.name(), message.settlements.len());
                self.drained();
            }
            Err(error) if message.settlements.len() > 1 && (!error.is_transient() || tries >= PATIENCE) => {
                // One of them is at fault, or its row is locked for long: each for itself, so that the others are
                // recorded.
                tracing::warn!(task = message.plan.name(), %error, "results were refused together; each is tried alone");
                for settlement in message.settlements.iter() {
                    let alone = Settle { settlements: Arc::new(vec![settlement.clone()]), ..message.clone() };
                    self.send(alone, 0, ctx);
                }
            }
            Err(error) => {
                let wait = (MOMENT * 2_u32.saturating_pow(tries.min(12))).min(LONGEST);
                tracing::warn!(task = message.plan.name(), %error, "results could not be recorded; tried again");
                ctx.run_later(wait, move |act, ctx| {
                    if message.node_id == act.node_id {
                        act.send(message, tries + 1, ctx);
                    }
                });
            }
        }
    }
}
