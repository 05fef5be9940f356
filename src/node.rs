//! One node: the actors, put together, from start to stop.
//!
//! Owns the order of things: which actor is started before which, what waits for the database, what ends first. No
//! rule of claims or handlers is here.

mod declarations;
mod hidden;
mod later;
mod open;
mod threads;

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use actix::prelude::*;
use actix::registry::SystemRegistry;
use tokio::sync::watch;
use tokio::time::{timeout, timeout_at};

use crate::actor::database::{DatabaseActor, Pool};
use crate::actor::executor::ReportTo;
use crate::actor::message::{Begin, Configure, Declare, Drain, Leave, StepDown, StopClaiming, StopFiring, Wake};
use crate::actor::reports::Reports;
use crate::actor::tally::Tally;
use crate::actor::{
    DutyActor, ExecutorActor, FiringActor, HeartbeatActor, LeadershipActor, LeaseActor, SchedulerActor, duty, firing,
    scheduler,
};
use crate::config::{Config, NodeRole};
use crate::error::Result;
use crate::store::Store;
use crate::store::nodes::Declaration;
use crate::store::plan::TaskPlan;
use crate::telemetry::meters::Meters;

use declarations::declarations;
pub(crate) use hidden::hidden;
pub use open::{Migrate, Opened};
use threads::statements;

/// How long the last writes of a stop are waited for: what is handed back, and then the lease.
const LAST_WRITES: Duration = Duration::from_secs(3);

/// A running node. Dropping it does not stop it: the actors belong to the system.
#[derive(Clone)]
pub struct Node {
    /// What it was told.
    pub config: Arc<Config>,
    /// Its database.
    pub store: Store,
    /// What it counts of itself.
    pub meters: Meters,
    /// Decides when to claim; also in the `SystemRegistry`.
    pub scheduler: Addr<SchedulerActor>,
    /// Runs handlers.
    pub executor: Addr<ExecutorActor>,
    /// Keeps the lease.
    pub heartbeat: Addr<HeartbeatActor>,
    /// Does what is done now and then.
    pub duty: Addr<DutyActor>,
    /// Fires schedules, on a node with that role.
    pub firing: Option<Firing>,
    /// What became last of each of its background duties.
    pub reports: Reports,
    /// What the node declares besides tasks.
    schedules: Arc<RwLock<Vec<Declaration>>>,
    /// How often tasks have been configured.
    generation: Arc<AtomicU64>,
    /// Its tasks as they are now: sources that are found later come with them.
    pub plans: Arc<RwLock<Vec<Arc<TaskPlan>>>>,
    /// Changes whenever the scheduler is told that something may be due.
    pub woken: watch::Receiver<()>,
}

/// What fires schedules on a node.
#[derive(Clone)]
pub struct Firing {
    /// Looks for due schedules.
    pub actor: Addr<FiringActor>,
    /// Keeps the lease of the scheduler, or waits for it.
    pub leadership: Addr<LeadershipActor>,
}

impl Node {
    /// Starts the actors; none claims before [`Node::open`]. To be called inside a running actix system.
    pub fn start(config: Arc<Config>, on_pulse: impl Fn(bool) + Send + 'static) -> Self {
        let statements = statements(&config);
        let store = Store::new(&config.database, config.node.lease, statements);
        let (tally, reports) = (Tally::default(), Reports::default());
        let meters = tally.meters.clone();
        let pool = |threads, pool| {
            let store = store.clone();
            SyncArbiter::start(threads, move || DatabaseActor::new(store.clone(), pool))
        };
        let database = pool(config.database.connections, Pool::Work);
        let (duties, sweeps, firings) = (pool(1, Pool::Work), pool(1, Pool::Sweep), pool(1, Pool::Firing));
        let statements = pool(statements, Pool::Handler);
        let lease_actor = {
            let (store, node) = (store.clone(), config.node.clone());
            SyncArbiter::start(1, move || LeaseActor {
                store: store.clone(),
                name: node.name.clone(),
                roles: node.roles.clone(),
                lease: node.lease,
            })
        };
        // Threads of their own: a busy handler must not hold up the scheduler, nor either of them a heartbeat.
        let (scheduling, executing, beating) = (Arbiter::new(), Arbiter::new(), Arbiter::new());
        let executor = {
            let (database, statements, tally) = (database.clone(), statements.clone(), tally.clone());
            let of_node = (config.node.name.clone(), hidden(&config));
            let lease = config.node.lease;
            ExecutorActor::start_in_arbiter(&executing.handle(), move |_| {
                ExecutorActor::new(database, statements, tally, of_node, lease)
            })
        };
        let woken;
        let scheduler = {
            let wiring = scheduler::Wiring {
                database,
                statements,
                executor: executor.clone(),
                tally: tally.clone(),
                poll: config.node.poll,
                lease: config.node.lease,
                woken: watch::Sender::new(()),
            };
            woken = wiring.woken.subscribe();
            Supervisor::start_in_arbiter(&scheduling.handle(), move |_| SchedulerActor::new(wiring))
        };
        SystemRegistry::set(scheduler.clone());
        executor.do_send(ReportTo(scheduler.clone()));
        let firing = config.node.has(NodeRole::Scheduler).then(|| {
            let wiring = firing::Wiring {
                database: firings,
                scheduler: scheduler.clone(),
                reports: reports.clone(),
                node: config.node.name.clone(),
                lease: config.node.lease,
                poll: config.node.poll,
                meters: tally.meters.clone(),
            };
            let actor = FiringActor::start_in_arbiter(&scheduling.handle(), move |_| FiringActor::new(wiring));
            let (leases, told, lease) = (lease_actor.clone(), actor.clone().recipient(), config.node.lease);
            let reports = reports.clone();
            let leadership = LeadershipActor::start_in_arbiter(&beating.handle(), move |_| {
                LeadershipActor::new(leases, lease, told, reports)
            });
            Firing { actor, leadership }
        });
        let duty = {
            let wiring = duty::Wiring {
                database: duties,
                sweeps,
                scheduler: scheduler.clone(),
                works: config.node.has(NodeRole::Worker),
                executor: executor.clone(),
                firing: firing.as_ref().map(|firing| firing.actor.clone().recipient()),
                tally,
                reports: reports.clone(),
                keep_firings: config.database.keep_firings,
                lease: config.node.lease,
                poll: config.node.poll,
            };
            DutyActor::start_in_arbiter(&scheduling.handle(), move |_| DutyActor::new(wiring))
        };
        let heartbeat = {
            // Those that fire hear of a lease before the duties, which tell them when it is declared.
            let (mut incarnated, mut lost) = (Vec::new(), Vec::new());
            if let Some(firing) = &firing {
                incarnated.extend([firing.actor.clone().recipient(), firing.leadership.clone().recipient()]);
                lost.extend([firing.actor.clone().recipient(), firing.leadership.clone().recipient()]);
            }
            incarnated.extend([executor.clone().recipient(), duty.clone().recipient(), scheduler.clone().recipient()]);
            lost.extend([scheduler.clone().recipient(), executor.clone().recipient(), duty.clone().recipient()]);
            let (lease, reports) = (config.node.lease, reports.clone());
            HeartbeatActor::start_in_arbiter(&beating.handle(), move |_| {
                HeartbeatActor::new(lease_actor, lease, Box::new(on_pulse), reports, incarnated, lost)
            })
        };
        let schedules = Arc::new(RwLock::new(declarations(&config)));
        let (generation, plans) = (Arc::default(), Arc::default());
        Self {
            config,
            store,
            meters,
            scheduler,
            executor,
            heartbeat,
            duty,
            firing,
            reports,
            schedules,
            generation,
            plans,
            woken,
        }
    }

    /// Brings the database to this binary's schema and begins to work. Goes on trying while the database does not
    /// answer; an error is final. Returns once the tasks are declared, so that the API takes entries for them.
    pub async fn open(&self, migrate: Migrate) -> Result<Opened> {
        let opened = open::open(&self.store, &self.config, migrate).await?;
        self.configure(opened.plans.clone(), true);
        self.heartbeat.do_send(Begin { installation: opened.installation.clone(), strategy: self.store.strategy });
        self.listen();
        self.resolve_later(opened.plans.clone(), opened.unresolved.clone());
        // An actor that is gone declares nothing.
        let _ = self.duty.send(duty::Declared).await;
        Ok(opened)
    }

    /// Puts other tasks in the place of those before; what runs goes on. `anew`: the configuration was just read. New
    /// ones are claimed once they are declared.
    pub fn configure(&self, plans: Vec<Arc<TaskPlan>>, anew: bool) {
        let before = std::mem::replace(&mut *self.plans.write().unwrap_or_else(PoisonError::into_inner), plans.clone());
        self.executor.do_send(Configure { plans: plans.clone() });
        if self.config.node.has(NodeRole::Worker) {
            let mut known = plans.clone();
            known.retain(|plan| before.iter().any(|before| before.name() == plan.name()));
            self.scheduler.do_send(Configure { plans: known });
        }
        let schedules = self.schedules.read().unwrap_or_else(PoisonError::into_inner).clone();
        self.meters.declare(plans.iter().map(|plan| plan.name()), schedules.iter().map(|one| one.name.as_str()));
        self.duty.do_send(Declare { plans, schedules, anew });
    }

    /// Stops cleanly: claims nothing more, finishes what runs within `drain`, hands back the rest, gives up the lease.
    /// What cannot be written by then, since the database does not answer, is left to the end of the lease.
    pub async fn drain(&self, drain: Duration) {
        let until = Instant::now() + drain;
        let work = async {
            // An actor that is gone has nothing to finish.
            let _ = timeout_at(until.into(), self.scheduler.send(StopClaiming)).await;
            let _ = timeout_at((until + LAST_WRITES).into(), self.executor.send(Drain { until })).await;
        };
        // Side by side: a database that does not answer must not hold up the end of what runs.
        let leaving = timeout(drain + LAST_WRITES, self.heartbeat.send(Leave { stopped: false }));
        let step_down = async {
            // Another leads from now on; until it does this node goes on firing.
            if let Some(firing) = &self.firing {
                let _ = timeout(LAST_WRITES, firing.leadership.send(StepDown)).await;
            }
        };
        let _ = tokio::join!(work, leaving, step_down);
        let leave = async {
            if let Some(firing) = &self.firing {
                let _ = timeout(LAST_WRITES / 3, firing.actor.send(StopFiring)).await;
            }
            let _ = self.duty.send(duty::Finish).await;
            let _ = self.heartbeat.send(Leave { stopped: true }).await;
        };
        if timeout(LAST_WRITES, leave).await.is_err() {
            tracing::warn!("the database did not answer in time: the lease ends by itself");
        }
    }

    /// Something may be due.
    pub fn wake(&self) {
        self.scheduler.do_send(Wake);
    }

    /// Puts tasks and schedules of another configuration in the place of those before; what runs goes on.
    pub async fn reconfigure(&self, config: &Config) -> Result<Vec<Arc<TaskPlan>>> {
        let (plans, unresolved) = open::resolve(&self.store, config.tasks.values().cloned().collect()).await?;
        *self.schedules.write().unwrap_or_else(PoisonError::into_inner) = declarations(config);
        self.configure(plans.clone(), true);
        self.resolve_later(plans.clone(), unresolved);
        Ok(plans)
    }
}
