//! From a task's configuration to what works its entries.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use actix::prelude::*;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;

use super::{ExecutorActor, Working};
use crate::actor::database::DatabaseActor;
use crate::actor::message::RunStatement;
use crate::config::HandlerKind;
use crate::error::{Error, Result};
use crate::handler::{Call, Handler, command::CommandHandler, note::NoteHandler, webhook};
use crate::model::Outcome;
use crate::store::plan::TaskPlan;
use crate::store::statement_handler::Ran;

impl ExecutorActor {
    /// Takes over the tasks; what runs goes on with the handler that it was started with.
    pub(super) fn configure(&mut self, plans: Vec<Arc<TaskPlan>>) {
        let mut tasks = HashMap::new();
        for plan in plans.into_iter().filter(|plan| plan.is_claimed_by_nodes()) {
            match self.handler(&plan) {
                Ok(handler) => {
                    tasks.insert(plan.name().to_owned(), Rc::new(Working { plan, handler }));
                }
                Err(error) => tracing::error!(task = plan.name(), %error, "the task cannot be worked"),
            }
        }
        self.tasks = tasks;
    }

    fn handler(&mut self, plan: &Arc<TaskPlan>) -> Result<Rc<dyn Handler>> {
        Ok(match &plan.config.handler {
            HandlerKind::Http(hook) => Rc::new(webhook::WebHookHandler::new(self.client()?, hook, plan.config.batch)?),
            HandlerKind::Command(command) => {
                // A sixth of the lease: its last third is what there is between giving up and being taken over.
                Rc::new(CommandHandler::new(command, &self.hidden)?.with_grace_of_a_stop(self.lease / 6))
            }
            HandlerKind::Sql(_) => Rc::new(StatementHandler { plan: plan.clone(), database: self.statements.clone() }),
            HandlerKind::Noop => Rc::new(NoopHandler),
            HandlerKind::Note(times) => Rc::new(NoteHandler(times.clone())),
            HandlerKind::Pull => return Err(Error::internal("outside workers work it, not a node")),
        })
    }

    /// One client for this arbiter: its connections must not be driven from another.
    fn client(&mut self) -> Result<reqwest::Client> {
        if let Some(client) = &self.client {
            return Ok(client.clone());
        }
        let client = webhook::client()?;
        self.client = Some(client.clone());
        Ok(client)
    }
}

/// Completes at once: what `bench` measures with.
struct NoopHandler;

impl Handler for NoopHandler {
    fn call(&self, call: Call) -> LocalBoxFuture<'_, Vec<Outcome>> {
        std::future::ready(vec![Outcome::completed(); call.entries.len()]).boxed_local()
    }

    fn is_immediate(&self) -> bool {
        true
    }
}

/// Runs a user's statement on a thread of the statements' pool, which finishes the entry in the same transaction.
struct StatementHandler {
    plan: Arc<TaskPlan>,
    database: Addr<DatabaseActor>,
}

impl Handler for StatementHandler {
    fn call(&self, call: Call) -> LocalBoxFuture<'_, Vec<Outcome>> {
        async move {
            let mut outcomes = Vec::with_capacity(call.entries.len());
            for entry in call.entries {
                if call.stop.is_cancelled() {
                    outcomes.push(Outcome::HandedBack);
                    continue;
                }
                let message = RunStatement { plan: self.plan.clone(), entry, span: tracing::Span::current() };
                // A statement that goes on after the stop finds its claim gone when it comes to finish, and is undone.
                let answer = tokio::select! {
                    () = call.stop.cancelled() => {
                        outcomes.push(Outcome::HandedBack);
                        continue;
                    }
                    answer = self.database.send(message) => answer,
                };
                outcomes.push(match answer {
                    Ok(Ok(Ran::Completed)) => Outcome::Recorded { lost: false },
                    Ok(Ok(Ran::Lost)) => Outcome::Recorded { lost: true },
                    Ok(Ok(Ran::Undone(outcome))) => outcome,
                    Ok(Err(error)) => Outcome::retry(error.to_string()),
                    Err(error) => Outcome::retry(format!("a DB actor is gone: {error}")),
                });
            }
            outcomes
        }
        .boxed_local()
    }
}
