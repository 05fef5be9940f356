//! The shape of the actors, by message from outside the crate: a node inside a test's own actix system.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use actix::prelude::*;
use house::{Backend, TestDatabase};
use soloist::actor::database::Pool;
use soloist::actor::message::{Observe, Perform, StopClaiming, Wake};
use soloist::actor::{DatabaseActor, SchedulerActor};
use soloist::config::{Config, DatabaseUrl, HandlerKind, Task};
use soloist::node::{Migrate, Node};

struct Running {
    node: Node,
    database: TestDatabase,
}

impl Running {
    async fn start() -> Self {
        // Long enough for a busy machine: these tests are not of the lease.
        Self::start_with(Duration::from_secs(15)).await
    }

    async fn start_with(lease: Duration) -> Self {
        soloist::telemetry::init();
        let database = TestDatabase::new(Backend::Sqlite).unwrap();
        database.sql("CREATE TABLE effects (entry BIGINT)");
        let mut config = Config::default();
        config.database.url = DatabaseUrl::parse(&database.url()).unwrap();
        config.node.lease = lease;
        config.node.poll = Duration::from_millis(100);
        let statement = HandlerKind::Sql("INSERT INTO effects (entry) VALUES (:entry_id)".to_owned());
        for task in [Task::new("noop", HandlerKind::Noop), Task::new("sql", statement)] {
            config.tasks.insert(task.name.clone(), task);
        }
        let node = Node::start(Arc::new(config), |_| {});
        node.open(Migrate::Up).await.unwrap();
        Self { node, database }
    }

    fn insert(&self, task: &str, entries: usize) {
        let rows = vec![format!("('{task}', '{{}}')"); entries].join(", ");
        self.database.sql(&format!("INSERT INTO soloist_entries (task, payload) VALUES {rows}"));
    }

    fn count(&self, state: &str) -> i64 {
        self.database.number(&format!("SELECT count(*) FROM soloist_entries WHERE state = '{state}'"))
    }

    async fn until_completed(&self, count: i64) {
        let start = Instant::now();
        while self.count("completed") < count {
            assert!(start.elapsed() < Duration::from_secs(30), "{count} are completed");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(self.count("completed"), count);
    }
}

#[actix::test]
async fn the_registry_holds_the_running_scheduler() {
    let running = Running::start().await;
    let scheduler = SchedulerActor::from_registry();
    assert!(scheduler == running.node.scheduler);
    running.insert("noop", 1);
    running.insert("sql", 1);
    scheduler.do_send(Wake);
    running.until_completed(2).await;
    let activity = scheduler.send(Observe).await.unwrap();
    assert!(activity.claims > 0, "{activity:?}");
    assert_eq!(running.database.number("SELECT count(*) FROM effects"), 1);
}

#[actix::test]
async fn a_scheduler_that_was_told_to_stop_claims_nothing() {
    let running = Running::start().await;
    running.insert("noop", 1);
    running.until_completed(1).await;
    let scheduler = SchedulerActor::from_registry();
    scheduler.send(StopClaiming).await.unwrap();
    let before = scheduler.send(Observe).await.unwrap();
    assert_eq!(before.claiming, 0);
    running.insert("noop", 1);
    running.insert("sql", 1);
    for _ in 0..20 {
        // What a wake sends is counted as on its way before its own answer comes.
        scheduler.send(Wake).await.unwrap();
        assert_eq!(scheduler.send(Observe).await.unwrap().claiming, 0);
    }
    assert_eq!(scheduler.send(Observe).await.unwrap().claims, before.claims);
    assert_eq!((running.count("pending"), running.count("completed")), (2, 1));
}

#[actix::test]
async fn a_panic_ends_no_database_actor() {
    let running = Running::start().await;
    let store = running.node.store.clone();
    let database = SyncArbiter::start(2, move || DatabaseActor::new(store.clone(), Pool::Work));
    for round in 0..10 {
        let panic = Perform {
            what: "a trial",
            work: Box::new(move |connection| connection.transaction(|_| panic!("trial {round}"))),
        };
        let error = database.send(panic).await.expect("the actor lives").unwrap_err();
        assert!(error.to_string().contains(&format!("trial {round}")), "{error}");
        let fine = Perform { what: "a trial", work: Box::new(|connection| connection.transaction(|_| Ok(true))) };
        assert!(database.send(fine).await.unwrap().unwrap());
    }
    running.insert("noop", 1);
    running.until_completed(1).await;
}

#[actix::test]
async fn a_node_drains_by_message() {
    let running = Running::start().await;
    running.insert("noop", 5000);
    running.node.wake();
    running.node.drain(Duration::from_secs(5)).await;
    assert_eq!(running.count("running"), 0);
    assert_eq!(running.database.number("SELECT count(*) FROM soloist_nodes WHERE stopped_at IS NOT NULL"), 1);
}

#[cfg(feature = "testing")]
#[actix::test]
async fn a_restarted_scheduler_goes_on() {
    use soloist::actor::message::Restart;
    // Claims that the restart lost are found after two thirds of the lease.
    let running = Running::start_with(Duration::from_secs(3)).await;
    let scheduler = SchedulerActor::from_registry();
    for round in 0..3 {
        for task in ["noop", "sql"] {
            running.insert(task, 200);
            scheduler.do_send(Wake);
        }
        scheduler.do_send(Restart);
        // Claims whose answers were lost with the restart are found and handed back, by and by.
        running.until_completed(400 * (round + 1)).await;
    }
    assert!(scheduler.connected() && scheduler == SchedulerActor::from_registry());
    assert_eq!(running.database.number("SELECT count(*) FROM effects"), 600);
}
