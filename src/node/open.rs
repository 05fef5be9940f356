//! Opening the database: wait for it, migrate it, read what a node must know before it works.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::config::{self, Config, DatabaseUrl};
use crate::error::{Error, Result};
use crate::store::migrate::{self, Schema};
use crate::store::plan::TaskPlan;
use crate::store::server::Server;
use crate::store::source::TableSource;
use crate::store::{Store, entries, sweeps, wake};

/// The longest between two tries.
const LONGEST: Duration = Duration::from_secs(2);

/// What is done about an old schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Migrate {
    /// Brought up.
    Up,
    /// Refused: `--no-migrate`.
    Refuse,
}

/// What a node knows once the database is open.
#[derive(Clone)]
pub struct Opened {
    /// The server.
    pub server: Server,
    /// Makes idempotency keys unique over installations.
    pub installation: Arc<str>,
    /// Tasks that can be worked.
    pub plans: Vec<Arc<TaskPlan>>,
    /// Tasks whose source was not found.
    pub unresolved: Vec<config::Task>,
}

/// Opens the database; passing faults are waited out, one log line a try.
pub(super) async fn open(store: &Store, config: &Arc<Config>, migrate: Migrate) -> Result<Opened> {
    let start = Instant::now();
    let mut wait = Duration::from_millis(100);
    loop {
        let (store, config) = (store.clone(), config.clone());
        let tried = actix_web::web::block(move || once(&store, &config, migrate)).await;
        match tried.unwrap_or_else(|_| Err(Error::transient("opening the database was cut short"))) {
            Ok(opened) => return Ok(opened),
            Err(error) if error.is_transient() => {
                tracing::warn!(%error, waited_s = start.elapsed().as_secs(), "the database cannot be used yet; trying again");
                tokio::time::sleep(wait).await;
                wait = (wait * 2).min(LONGEST);
            }
            Err(error) => return Err(error),
        }
    }
}

fn once(store: &Store, config: &Config, migrate: Migrate) -> Result<Opened> {
    let server = store.server()?;
    let mut connection = store.work()?;
    match (migrate::schema(&mut connection)?, migrate) {
        (Schema::Old, Migrate::Up) => {
            let applied = migrate::up(&mut connection)?;
            tracing::info!(applied = applied.join(", "), "migrated the database");
        }
        (Schema::Old, Migrate::Refuse) => {
            return Err(Error::refused(
                "the database's schema is older than this binary: run “soloist migrate”, or start without --no-migrate",
            ));
        }
        (Schema::Current | Schema::New, _) => {}
    }
    let notify =
        config.database.wake == config::Wake::Notify && matches!(config.database.url, DatabaseUrl::Postgres(_));
    wake::set_trigger(&mut connection, notify)?;
    let installation = entries::installation(&mut connection)?.into();
    let (plans, unresolved) = plans(store, &mut connection, config.tasks.values().cloned())?;
    Ok(Opened { server, installation, plans, unresolved })
}

/// Tasks that can be worked, and those whose source is not found.
type Plans = (Vec<Arc<TaskPlan>>, Vec<config::Task>);

fn plans(
    store: &Store,
    connection: &mut crate::store::Connection,
    tasks: impl IntoIterator<Item = config::Task>,
) -> Result<Plans> {
    let (mut plans, mut unresolved) = (Vec::new(), Vec::new());
    for task in tasks {
        match plan(store, connection, &task) {
            Ok(plan) => plans.push(plan),
            Err(error) if error.is_transient() => return Err(error),
            Err(error) => {
                tracing::error!(task = task.name, %error, "the task is not worked until its source is found");
                // As the sweep of any source that cannot be read, for everybody to see.
                sweeps::request(connection, &task.name)?;
                sweeps::record_failure(connection, &task.name, &error)?;
                unresolved.push(task);
            }
        }
    }
    Ok((plans, unresolved))
}

fn plan(store: &Store, connection: &mut crate::store::Connection, task: &config::Task) -> Result<Arc<TaskPlan>> {
    let source = match &task.source {
        Some(source) => Some(Arc::new(TableSource::resolve(connection, &task.name, source)?)),
        None => None,
    };
    Ok(Arc::new(TaskPlan::new(Arc::new(task.clone()), source, store.strategy)))
}

/// Makes plans of these tasks, as far as their sources are found.
pub(super) async fn resolve(store: &Store, tasks: Vec<config::Task>) -> Result<Plans> {
    let store = store.clone();
    let tried = actix_web::web::block(move || plans(&store, &mut *store.work()?, tasks)).await;
    tried.unwrap_or_else(|_| Err(Error::transient("looking for sources was cut short")))
}
