//! What every handler of the API shares, and its way to the database.

use std::fmt;
use std::sync::Arc;

use actix_web::web;

use super::problem::Problem;
use super::readiness::Readiness;
use super::tokens::{Caller, Tokens};
use super::waiting::Waiting;
use super::watch::Watch;
use crate::config::{Role, ShowPayload};
use crate::store::source::TableSource;
use crate::store::{Connection, Store};

/// Called after each write that may have made work: tells this node to look, carries no data.
pub type Wake = Arc<dyn Fn() + Send + Sync>;

/// The source of a task that this node declares, if it has one.
pub type Sources = Arc<dyn Fn(&str) -> Option<Arc<TableSource>> + Send + Sync>;

/// What every handler of the API shares.
pub struct ApiState {
    /// The database.
    pub store: Store,
    /// Who may come in.
    pub tokens: Tokens,
    /// From which role on payloads are seen.
    pub show_payload: ShowPayload,
    /// True if `/scheduler…` answers as Flask-APScheduler does.
    pub flask_apscheduler: bool,
    /// What `/readyz` tells.
    pub readiness: Arc<Readiness>,
    /// Requests that wait for work.
    pub waiting: Waiting,
    /// Called after each write that may have made work.
    pub wake: Wake,
    /// Called after each write that may have changed what is due next.
    pub wake_firing: Wake,
    /// Where the rows of a `pull` task with a source are read and marked.
    pub sources: Sources,
    /// What there is to be watched.
    pub watch: Watch,
}

impl ApiState {
    /// Runs database work where it may block, on a connection of its own.
    pub(super) async fn database<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let store = self.store.clone();
        let done = web::block(move || {
            let mut connection = store.read()?;
            work(&mut connection)
        });
        done.await.map_err(|_| Problem::internal("the work on the database was cut short"))?
    }

    /// The same for a write that may have made work.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let done = self.database(work).await?;
        self.watch.snapshots.written();
        (self.wake)();
        Ok(done)
    }

    /// The same for a write that may have changed what is due next.
    pub(super) async fn reschedule<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let done = self.database(work).await?;
        self.watch.snapshots.written();
        (self.wake_firing)();
        Ok(done)
    }

    /// True if this caller may see payloads.
    pub(super) fn shows_payload(&self, caller: &Caller) -> bool {
        self.show_payload == ShowPayload::Read || caller.role >= Role::Admin
    }
}

impl fmt::Debug for ApiState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiState")
            .field("tokens", &self.tokens)
            .field("readiness", &self.readiness)
            .finish_non_exhaustive()
    }
}
