//! What a node does beside its actors: it looks again for tables that were not there, and listens to the database.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::{Node, open};
#[cfg(feature = "postgres")]
use crate::actor::message::Wake;
use crate::config::{self, DatabaseUrl};
use crate::store::plan::TaskPlan;

impl Node {
    /// Sources whose table was not there are looked for again, until they are or other tasks are configured.
    pub(super) fn resolve_later(&self, mut plans: Vec<Arc<TaskPlan>>, mut unresolved: Vec<config::Task>) {
        let node = self.clone();
        let generation = node.generation.fetch_add(1, Ordering::Relaxed) + 1;
        actix::spawn(async move {
            while !unresolved.is_empty() {
                tokio::time::sleep(Duration::from_secs(5)).await;
                if node.generation.load(Ordering::Relaxed) != generation {
                    return;
                }
                if let Ok((found, left)) = open::resolve(&node.store, unresolved.clone()).await
                    && !found.is_empty()
                    && node.generation.load(Ordering::Relaxed) == generation
                {
                    plans.extend(found);
                    unresolved = left;
                    node.configure(plans.clone(), false);
                }
            }
        });
    }

    /// Is woken by the database, where that can be.
    pub(super) fn listen(&self) {
        let database = &self.config.database;
        #[cfg(feature = "postgres")]
        if let DatabaseUrl::Postgres(url) = &database.url
            && database.wake == config::Wake::Notify
            && !database.pooler
        {
            let (scheduler, reports) = (self.scheduler.clone(), self.reports.clone());
            actix::spawn(crate::listener::listen(url.clone(), move || scheduler.do_send(Wake), reports));
        }
        #[cfg(not(feature = "postgres"))]
        let _ = (database, DatabaseUrl::memory);
    }
}
