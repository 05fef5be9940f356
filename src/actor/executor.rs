//! The ExecutorActor: runs handlers, ends them when it must, and turns what became of them into settlements.
//!
//! Lives on an arbiter of its own, whose thread starts and drives all handlers. It holds a claim from the moment it
//! hears of it until its result is recorded or the claim is known to be lost; it never writes to the database itself.

mod acknowledge;
mod handlers;
mod span;
mod work;

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix::prelude::*;
use futures_util::FutureExt;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, Span};

use self::acknowledge::Acknowledger;
use super::database::DatabaseActor;
use super::guard;
use super::message::{Finished, Recorded};
use super::scheduler::SchedulerActor;
use super::tally::Tally;
use crate::config::Timeout;
use crate::handler::{Call, Handler as TaskHandler, trace_of};
use crate::model::sums::Sample;
use crate::model::time::micros;
use crate::model::{Entry, Outcome};
use crate::store::plan::TaskPlan;
use crate::store::settle::judge::judge;

/// A claim that is being worked.
struct Open {
    task: Rc<Working>,
    /// Shared by the entries of one call.
    call: Rc<Started>,
    probe: bool,
    /// True once the handler has ended and the result waits to be recorded.
    ended: bool,
    /// For the sums, once it is recorded: what is lost is counted by whoever works it again.
    sample: Option<Sample>,
}

/// A call that was begun.
struct Started {
    stop: CancellationToken,
    /// What stands on each of its log lines.
    span: Span,
}

/// A task with its handler.
struct Working {
    plan: Arc<TaskPlan>,
    handler: Rc<dyn TaskHandler>,
}

/// Runs handlers.
pub struct ExecutorActor {
    database: Addr<DatabaseActor>,
    statements: Addr<DatabaseActor>,
    scheduler: Option<Addr<SchedulerActor>>,
    tally: Tally,
    /// The node's label.
    node: String,
    /// Environment variables that programs must not see.
    hidden: Vec<String>,
    lease: Duration,
    client: Option<reqwest::Client>,
    tasks: HashMap<String, Rc<Working>>,
    node_id: i64,
    /// By entry and claim: one may be claimed again before the record of its last attempt is confirmed.
    open: HashMap<(i64, i64), Open>,
    acknowledger: Acknowledger,
    draining: Option<oneshot::Sender<()>>,
    /// True once a drain's time is over: what still comes is handed back without being started.
    past: bool,
}

/// To the executor itself: a call has ended.
#[derive(Message)]
#[rtype(result = "()")]
struct Ended {
    node_id: i64,
    entries: Vec<Entry>,
    outcomes: Vec<Outcome>,
    ran: Duration,
    span: Span,
}

/// To the executor: whom to tell of free slots. Sent once, since scheduler and executor know each other.
#[derive(Message)]
#[rtype(result = "()")]
pub struct ReportTo(pub Addr<SchedulerActor>);

impl ExecutorActor {
    /// An executor that waits to be told its tasks.
    pub fn new(
        database: Addr<DatabaseActor>,
        statements: Addr<DatabaseActor>,
        tally: Tally,
        (node, hidden): (String, Vec<String>),
        lease: Duration,
    ) -> Self {
        Self {
            acknowledger: Acknowledger::default(),
            database,
            statements,
            scheduler: None,
            tally,
            node,
            hidden,
            lease,
            client: None,
            tasks: HashMap::new(),
            node_id: 0,
            open: HashMap::new(),
            draining: None,
            past: false,
        }
    }

    fn start(&mut self, working: &Rc<Working>, entries: Vec<Entry>, probe: bool, ctx: &mut Context<Self>) {
        let node_id = self.node_id;
        let (immediate, trace) = (working.handler.is_immediate(), trace_of(&entries));
        let span =
            if immediate { Span::none() } else { span::of_call(&self.node, working.plan.name(), &entries, trace) };
        let started = Rc::new(Started { stop: CancellationToken::new(), span: span.clone() });
        if self.past {
            started.stop.cancel();
        }
        self.tally.meters.started(working.plan.name(), entries.len());
        for entry in &entries {
            let open = Open { task: working.clone(), call: started.clone(), probe, ended: false, sample: None };
            self.open.insert((entry.id, entry.claim), open);
        }
        if immediate {
            let outcomes = vec![Outcome::completed(); entries.len()];
            self.ended(Ended { node_id, entries, outcomes, ran: Duration::ZERO, span }, ctx);
            return;
        }
        let timeout = match working.plan.config.timeout {
            Timeout::After(span) => Some(span),
            Timeout::None => None,
        };
        let call = Call { entries: entries.clone(), timeout, stop: started.stop.clone(), trace };
        let handler = working.handler.clone();
        let executor = ctx.address();
        let of_call = span.clone();
        let work = async move {
            let start = Instant::now();
            let outcomes = match AssertUnwindSafe(handler.call(call)).catch_unwind().await {
                Ok(outcomes) => outcomes,
                Err(panic) => {
                    vec![Outcome::Panicked { message: guard::text(panic.as_ref()) }; entries.len()]
                }
            };
            executor.do_send(Ended { node_id, entries, outcomes, ran: start.elapsed(), span });
        };
        actix::spawn(work.instrument(of_call));
    }

    fn ended(&mut self, call: Ended, ctx: &mut Context<Self>) {
        let Some(task) = call.entries.first().map(|entry| entry.task.clone()) else { return };
        if let Some(scheduler) = &self.scheduler {
            scheduler.do_send(Finished { task: task.clone(), entries: call.entries.len() });
        }
        let _entered = call.span.enter();
        let mut samples = Vec::with_capacity(call.entries.len());
        let mut outcomes = call.outcomes.into_iter();
        for entry in call.entries {
            let outcome = outcomes.next().unwrap_or_else(|| Outcome::retry("the handler said nothing of this entry"));
            let standing = call.node_id == self.node_id;
            let key = (entry.id, entry.claim);
            let Some(open) = self.open.get_mut(&key).filter(|_| standing) else {
                tracing::info!(task, entry = entry.id, attempt = entry.attempt, "its claim is lost: result dropped");
                continue;
            };
            open.ended = true;
            let probe = open.probe;
            let working = open.task.clone();
            if matches!(outcome, Outcome::Recorded { lost: true }) {
                self.tally.meters.lost(&task, 1);
            }
            let verdict = judge(&working.plan, &entry, outcome);
            span::tell(&entry, &verdict.settlement.verdict);
            let sample = Sample {
                started_at: entry.started_at,
                wait: entry.started_at.saturating_sub(entry.run_at),
                run: micros(call.ran),
                end: verdict.end,
            };
            if verdict.recorded {
                samples.push(sample);
                self.open.remove(&key);
                self.recorded(&task, 1);
            } else {
                open.sample = Some(sample);
                self.acknowledger.push(&working.plan, verdict, probe);
            }
        }
        self.tally.add(&task, samples);
        self.flush(false, ctx);
        self.drained();
    }

    fn recorded(&self, task: &str, entries: usize) {
        if let Some(scheduler) = &self.scheduler {
            scheduler.do_send(Recorded { task: task.to_owned(), node_id: self.node_id, entries });
        }
    }

    /// Ends all handlers that still run.
    fn stop_all(&self) {
        for open in self.open.values() {
            open.call.stop.cancel();
        }
    }

    /// Answers who waits for the drain, once nothing is open.
    fn drained(&mut self) {
        if self.open.is_empty()
            && let Some(reply) = self.draining.take()
        {
            // Nobody waits any more: nothing to do.
            let _ = reply.send(());
        }
    }
}

impl Actor for ExecutorActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(1024);
    }
}
