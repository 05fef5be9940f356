//! What a node knows of one task once its configuration has met the database.

use std::sync::Arc;

use super::claim::ClaimRequest;
use super::server::Strategy;
use super::settle::Context;
use super::source::TableSource;
use super::tasks::declared::DeclaredTask;
use crate::config::{self, Dedupe, HandlerKind};
use crate::model::{Delivery, Keep};

/// One task as this node works it.
#[derive(Clone)]
pub struct TaskPlan {
    /// What the configuration says.
    pub config: Arc<config::Task>,
    /// Its source, found in the database.
    pub source: Option<Arc<TableSource>>,
    /// True if the work is done inside the transaction that claims.
    pub transaction: bool,
}

impl TaskPlan {
    /// Joins a task's configuration with its source as the database has it.
    pub fn new(config: Arc<config::Task>, source: Option<Arc<TableSource>>, strategy: Strategy) -> Self {
        let is_sql = matches!(config.handler, HandlerKind::Sql(_));
        let by_default = is_sql
            && strategy == Strategy::SkipLocked
            && config.delivery == Delivery::AtLeastOnce
            && config.max_running == 0
            && !config.serial;
        let transaction = config.transaction.unwrap_or(by_default);
        Self { config, source, transaction }
    }

    /// The task's name.
    pub fn name(&self) -> &str {
        &self.config.name
    }

    /// True if nodes claim its entries; those of a pull task are claimed by outside workers.
    pub fn is_claimed_by_nodes(&self) -> bool {
        !matches!(self.config.handler, HandlerKind::Pull)
    }

    /// A claim of at most `limit` entries.
    pub fn request(&self, limit: usize) -> ClaimRequest {
        ClaimRequest {
            task: self.config.name.clone(),
            limit,
            max_attempts: self.config.max_attempts,
            free_key: self.config.dedupe == Dedupe::UntilStart,
            at_most_once: self.at_most_once(),
            source: self.source.clone(),
        }
    }

    /// True if a handler is started once at most.
    pub fn at_most_once(&self) -> bool {
        self.config.delivery == Delivery::AtMostOnce
    }

    /// True if entries that end completed are deleted at once.
    pub fn drops_completed(&self) -> bool {
        matches!(self.config.keep.completed, Keep::For(span) if span.is_zero())
    }

    /// True if entries that end failed are deleted at once.
    pub fn drops_failed(&self) -> bool {
        matches!(self.config.keep.failed, Keep::For(span) if span.is_zero())
    }

    /// For settling its entries that this node worked.
    pub fn context(&self, node_id: i64) -> Context<'_> {
        Context {
            node_id,
            source: self.source.as_deref(),
            drop_completed: self.drops_completed(),
            drop_failed: self.drops_failed(),
        }
    }

    /// What all nodes may read of it, as JSON.
    pub fn declaration(&self) -> String {
        // Texts and numbers alone: they cannot fail to be written.
        serde_json::to_string(&DeclaredTask::from(&*self.config)).unwrap_or_default()
    }
}
