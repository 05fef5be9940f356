//! How many threads a node needs.

use crate::config::{self, Config, HandlerKind};

/// The most threads that run SQL handlers, whatever concurrency their tasks add up to.
const MOST_STATEMENTS: usize = 64;

/// How many SQL handlers may run at once.
pub(super) fn statements(config: &Config) -> usize {
    let of_sql = |task: &&config::Task| matches!(task.handler, HandlerKind::Sql(_));
    let slots: usize = config.tasks.values().filter(of_sql).map(|task| task.concurrency).sum();
    slots.clamp(1, MOST_STATEMENTS)
}
