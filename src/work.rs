//! One run of work: a node that sweeps its sources, works until nothing is due, and stops.
//!
//! Owns when that is so and what is told of it. The node itself is the same that `serve` runs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::actor::message::{Observe, Wake};
use crate::config::{Config, NodeRole};
use crate::error::{Error, Result};
use crate::handler;
use crate::model::time::Micros;
use crate::node::{Migrate, Node, Opened};
use crate::serve::Signals;
use crate::store::runs::{self, TaskLeft};
use crate::store::{Connection, Store, sweeps};

/// How often it is looked whether all is done.
const LOOK: Duration = Duration::from_millis(30);

/// The longest an idle node of a short run sleeps.
const POLL: Duration = Duration::from_millis(200);

/// A sweep that cannot go on for this long is given up.
const PATIENCE: Duration = Duration::from_secs(3);

/// What a run came to.
pub struct Report {
    /// By task.
    pub tasks: BTreeMap<String, TaskLeft>,
    /// What kept rows from being collected, by task.
    pub sweeps: BTreeMap<String, String>,
    /// True if a signal ended it before all was done.
    pub stopped: bool,
}

impl Report {
    /// True if nothing failed: no entry, no sweep, no host that refuses.
    pub fn is_good(&self) -> bool {
        self.sweeps.is_empty() && self.tasks.values().all(|task| task.failed == 0 && task.held.is_none())
    }
}

/// Works what is due of the configuration's tasks, then stops.
pub fn run(mut config: Config) -> Result<Report> {
    handler::webhook::install_tls_provider();
    handler::command::adopt_orphans();
    config.node.roles = vec![NodeRole::Worker];
    // Nor does it speak for schedules, which it would leave a moment later.
    config.schedules.clear();
    config.node.poll = config.node.poll.min(POLL);
    // By this name the run finds what it did itself; a node of the usual name may live beside it.
    let id = std::process::id();
    let name = config.node.name.strip_suffix(&format!("-{id}")).unwrap_or(&config.node.name);
    config.node.name = format!("{}-work-{id}", name.chars().take(80).collect::<String>());
    actix::System::new().block_on(work(Arc::new(config)))
}

async fn work(config: Arc<Config>) -> Result<Report> {
    let mut signals = Signals::new()?;
    let node = Node::start(config.clone(), |_| {});
    let tasks: Vec<String> = config.tasks.keys().cloned().collect();
    let mut report = Report { tasks: BTreeMap::new(), sweeps: BTreeMap::new(), stopped: false };
    let opened = tokio::select! {
        opened = node.open(Migrate::Up) => opened?,
        () = signals.stop() => {
            // The lease may be there already, and handlers may run.
            node.drain(config.node.drain).await;
            report.stopped = true;
            return Ok(report);
        }
    };
    for task in &opened.unresolved {
        report.sweeps.insert(task.name.clone(), "its source cannot be used; soloist check says why".to_owned());
    }
    let began = on_database(&node.store, runs::begin).await?;
    let done = tokio::select! {
        done = until_done(&node, &opened, &mut report.sweeps) => done,
        () = signals.stop() => {
            report.stopped = true;
            Ok(())
        }
    };
    tokio::select! {
        () = node.drain(config.node.drain) => {}
        () = signals.stop() => {
            return Err(Error::transient("a second signal: stopped at once; what ran is taken over when the lease ends"));
        }
    }
    done?;
    let name = config.node.name.clone();
    report.tasks = on_database(&node.store, move |connection| runs::left(connection, &name, began, &tasks)).await?;
    Ok(report)
}

/// Sweeps each source once, and returns when nothing is due.
async fn until_done(node: &Node, opened: &Opened, failed: &mut BTreeMap<String, String>) -> Result<()> {
    let sourced: Vec<_> = opened.plans.iter().filter(|plan| plan.source.is_some()).collect();
    let mut open = Vec::new();
    for plan in sourced {
        let task = plan.name().to_owned();
        let ahead = plan.config.source.as_ref().map_or(u64::MAX, |source| source.ahead as u64);
        let id = {
            let task = task.clone();
            on_database(&node.store, move |connection| sweeps::request(connection, &task)).await?
        };
        open.push(Open { id, task, ahead, since: None });
    }
    loop {
        tokio::time::sleep(LOOK).await;
        if !open.is_empty() {
            let idle = is_idle(node).await?;
            let mut left = Vec::new();
            for sweep in open {
                left.extend(sweep.look(node, idle, failed).await?);
            }
            open = left;
            if open.is_empty() {
                // What the last step collected is claimed before anything is said of being done.
                node.scheduler.send(Wake).await.map_err(gone)?;
            }
            continue;
        }
        if is_idle(node).await? {
            return Ok(());
        }
    }
}

/// A sweep that has not passed all rows.
struct Open {
    id: i64,
    task: String,
    ahead: u64,
    /// Since when it fails.
    since: Option<Instant>,
}

impl Open {
    /// Itself again if it is worth waiting for.
    async fn look(mut self, node: &Node, idle: bool, failed: &mut BTreeMap<String, String>) -> Result<Option<Self>> {
        let (id, task) = (self.id, self.task.clone());
        let state = on_database(&node.store, move |connection| runs::sweep(connection, id, &task)).await?;
        if state.passed {
            if let Some(error) = state.error {
                failed.insert(self.task, error);
            }
            return Ok(None);
        }
        if idle && state.alive >= self.ahead {
            // Entries that wait for a retry leave no room: the rest of the rows is for a later run.
            return Ok(None);
        }
        self.since = state.error.as_ref().map(|_| self.since.unwrap_or_else(Instant::now));
        if let (Some(error), Some(since)) = (state.error, self.since)
            && since.elapsed() > PATIENCE
        {
            failed.insert(self.task, error);
            return Ok(None);
        }
        Ok(Some(self))
    }
}

/// True if the last claims found nothing due and nothing is worked.
async fn is_idle(node: &Node) -> Result<bool> {
    let activity = node.scheduler.send(Observe).await.map_err(gone)?;
    Ok(activity.outstanding == 0 && activity.claiming == 0 && activity.empty >= 2)
}

async fn on_database<T: Send + 'static>(
    store: &Store,
    read: impl FnOnce(&mut Connection) -> Result<T> + Send + 'static,
) -> Result<T> {
    let store = store.clone();
    let tried = actix_web::web::block(move || read(&mut *store.read()?)).await;
    tried.unwrap_or_else(|_| Err(Error::transient("a look at the database was cut short")))
}

fn gone(error: actix::MailboxError) -> Error {
    Error::internal(format!("the SchedulerActor is gone: {error}"))
}

/// How long until then, for a person.
pub fn span_text(micros: Micros) -> String {
    let seconds = (micros.max(0) + 999_999) / 1_000_000;
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7199 => format!("{} min", seconds / 60),
        _ => format!("{} h", seconds / 3600),
    }
}
