//! What wakes a node, and what it does when the database goes away and comes back.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "nodes/ask.rs"]
mod ask;

use std::time::{Duration, Instant};

use ask::{LIMIT, config, config_with, insert, migrate, state, until_state};
use house::{Backend, Hook, Node, PrivateServer, TestDatabase, numbers, request, until};
use soloist::config::{Database, DatabaseUrl};
use soloist::store::{Store, nodes};

/// From the commit to the start, on the database's clock.
fn start_ms(database: &TestDatabase, id: i64) -> i64 {
    until_state(database, id, "completed");
    database.number(&format!("SELECT (started_at - created_at) / 1000 FROM soloist_entries WHERE id = {id}"))
}

fn task(hook: &Hook) -> String {
    format!("[tasks.t]\nhttp = {{ url = \"{}\" }}", hook.url("/"))
}

const LISTENERS: &str = "SELECT count(*) FROM pg_stat_activity \
     WHERE application_name = 'soloist listener' AND datname = current_database() AND query LIKE 'LISTEN%'";
const TERMINATE: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
     WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name LIKE 'soloist%'";

#[test]
fn a_node_whose_sessions_are_all_ended_starts_work_soon() {
    let Some(database) = TestDatabase::new(Backend::Postgres) else { return };
    let hook = Hook::start(|_| 200);
    let node = Node::start(&config_with(&database, "", &task(&hook))).wait_ready();
    until(LIMIT, "the node listens", || database.number(LISTENERS) == 1);
    for round in 0..numbers(4, 20) {
        database.sql(TERMINATE);
        std::thread::sleep(Duration::from_secs(2));
        let id = insert(&database, "t", "{}");
        let waited = start_ms(&database, id);
        assert!(waited <= 1500, "round {round}: {waited} ms\n{}", node.log());
    }
    until(LIMIT, "the node listens again", || database.number(LISTENERS) == 1);
}

/// One request would hear of each connection that the server has closed, were they not tried.
#[test]
fn after_one_lost_connection_the_others_are_tried() {
    let Some(database) = TestDatabase::new(Backend::Postgres) else { return };
    let store = store(&database.url());
    let all: Vec<_> = (0..4).map(|_| store.read().unwrap()).collect();
    drop(all);
    let mut work = store.work().unwrap();
    database.sql(TERMINATE);
    assert!(nodes::clock(&mut work).unwrap_err().is_transient());
    drop(work);
    let mut all: Vec<_> = (0..4).map(|_| store.read().unwrap()).collect();
    assert!(all.iter_mut().all(|connection| nodes::clock(connection).is_ok()));
}

#[test]
fn a_url_of_another_kind_of_server_is_told_so() {
    let (Some(postgres), Some(mariadb)) = (TestDatabase::new(Backend::Postgres), TestDatabase::new(Backend::MariaDb))
    else {
        return;
    };
    for (url, from, to) in [(postgres.url(), "postgres://", "mysql://"), (mariadb.url(), "mysql://", "postgres://")] {
        let error = store(&url.replace(from, to)).read().err().expect("it speaks another language").to_string();
        assert!(error.contains("cannot connect to") && error.contains(&format!("begins with {from}")), "{error}");
    }
}

fn store(url: &str) -> Store {
    let settings = Database { url: DatabaseUrl::parse(url).unwrap(), connections: 4, ..Database::default() };
    Store::new(&settings, Duration::from_secs(15), 1)
}

/// With a poll this long, only the notification can be what woke it.
#[test]
fn a_commit_wakes_a_listening_node() {
    let Some(database) = TestDatabase::new(Backend::Postgres) else { return };
    let hook = Hook::start(|_| 200);
    let node = Node::start(&config_with(&database, "poll = \"1h\"", &task(&hook))).wait_ready();
    until(LIMIT, "the node listens", || database.number(LISTENERS) == 1);
    for _ in 0..5 {
        let id = insert(&database, "t", "{}");
        let waited = start_ms(&database, id);
        assert!(waited < 500, "{waited} ms\n{}", node.log());
    }
    database.sql(TERMINATE);
    until(LIMIT, "the node listens again", || database.number(LISTENERS) == 1);
    let id = insert(&database, "t", "{}");
    let waited = start_ms(&database, id);
    assert!(waited < 5_000, "{waited} ms\n{}", node.log());
}

/// Entries for outside workers start when one asks; one that waits is woken the same way.
#[test]
fn a_commit_wakes_a_claim_that_waits() {
    let Some(database) = TestDatabase::new(Backend::Postgres) else { return };
    let node = Node::start(&config_with(&database, "poll = \"1h\"", "[tasks.t]\npull = true\n")).wait_ready();
    until(LIMIT, "the node listens", || database.number(LISTENERS) == 1);
    std::thread::scope(|scope| {
        let claim = scope.spawn(|| node.api("POST", "/api/v1/tasks/t/claim", r#"{"wait": "20s"}"#).json());
        std::thread::sleep(Duration::from_millis(500));
        let id = insert(&database, "t", "{}");
        let claimed = claim.join().unwrap();
        assert_eq!(claimed["entries"][0]["id"], id, "{claimed}");
        let waited = "SELECT (started_at - created_at) / 1000 FROM soloist_entries";
        assert!(database.number(waited) < 1_000, "{} ms\n{}", database.number(waited), node.log());
    });
}

#[test]
fn a_lost_notification_costs_no_more_than_a_poll() {
    let Some(database) = TestDatabase::new(Backend::Postgres) else { return };
    let hook = Hook::start(|_| 200);
    let _node = Node::start(&config_with(&database, "poll = \"1s\"", &task(&hook))).wait_ready();
    database.sql("ALTER TABLE soloist_entries DISABLE TRIGGER soloist_wake");
    for _ in 0..4 {
        let id = insert(&database, "t", "{}");
        let waited = start_ms(&database, id);
        assert!(waited <= 1_200 + 300, "{waited} ms");
    }
}

#[test]
fn poll_takes_the_trigger_away() {
    let Some(database) = TestDatabase::new(Backend::Postgres) else { return };
    let hook = Hook::start(|_| 200);
    let triggers = "SELECT count(*) FROM pg_trigger WHERE tgname = 'soloist_wake'";
    let polling = config(&database, &task(&hook)).replacen("[database]", "[database]\nwake = \"poll\"", 1);
    for (config, expected) in [(config(&database, &task(&hook)), 1), (polling, 0), (config(&database, &task(&hook)), 1)]
    {
        let _node = Node::start(&config).wait_ready();
        assert_eq!(database.number(triggers), expected);
        let id = insert(&database, "t", "{}");
        until_state(&database, id, "completed");
    }
}

fn starts_before_its_database(backend: Backend) {
    let Some(mut server) = PrivateServer::start_new(backend) else { return };
    let database = TestDatabase::on(backend, server.url());
    server.stop();
    let hook = Hook::start(|_| 200);
    let node = Node::start(&config(&database, &task(&hook)));
    let status = |path: &str| request(node.port(), "GET", path, &[], "").map_or(0, |answer| answer.status);
    until(LIMIT, "the node is live", || status("/healthz") == 200);
    until(LIMIT, "it has tried three times", || node.log().matches("the database cannot be used yet").count() >= 3);
    assert_eq!((status("/healthz"), status("/readyz")), (200, 503));
    let log = node.log();
    let tries: Vec<_> = log.lines().filter(|line| line.contains("the database cannot be used yet")).collect();
    assert!(tries.iter().all(|line| line.to_lowercase().contains("connect")), "each with its reason: {log}");
    assert!(log.lines().count() <= tries.len() + 5, "one line a try: {log}");
    server.start();
    let start = Instant::now();
    let node = node.wait_ready();
    assert!(start.elapsed() <= Duration::from_secs(5), "{:?}\n{}", start.elapsed(), node.log());
    let id = insert(&database, "t", "{}");
    until_state(&database, id, "completed");
    assert!(!node.log().contains("hush-for-tests"), "{}", node.log());
}

#[test]
fn starts_before_postgres() {
    starts_before_its_database(Backend::Postgres);
}

#[test]
fn starts_before_mariadb() {
    starts_before_its_database(Backend::MariaDb);
}

/// The server is killed twice in the middle of work: every statement's effect is there once.
fn survives_a_restart_of_its_database(backend: Backend) {
    let Some(mut server) = PrivateServer::start_new(backend) else { return };
    let database = TestDatabase::on(backend, server.url());
    migrate(&database);
    database.sql("CREATE TABLE effects (entry BIGINT)");
    let count = numbers(1500, 20_000);
    let hook = Hook::start(|_| 200);
    let tasks = ["yes", "no"].map(|name| {
        format!(
            "[tasks.{name}]\nsql = \"INSERT INTO effects (entry) VALUES (:entry_id)\"\ntransaction = {}\n\
             backoff = {{ first = \"100ms\", max = \"100ms\" }}\nmax_attempts = 1000\n",
            name == "yes"
        )
    });
    let node = Node::start(&config(&database, &(tasks.concat() + &task(&hook)))).wait_ready();
    for name in ["yes", "no", "t"] {
        let rows = vec![format!("('{name}', '{{}}')"); count].join(", ");
        database.sql(&format!("INSERT INTO soloist_entries (task, payload) VALUES {rows}"));
    }
    let done = |database: &TestDatabase| {
        let rows = database.query("SELECT count(*) FROM soloist_entries WHERE state = 'completed'");
        rows[0][0].as_deref().unwrap().parse::<usize>().unwrap()
    };
    for part in [1, 2] {
        until(LIMIT, "work is under way", || done(&database) >= part * count / 2);
        server.kill();
        server.start();
    }
    until(Duration::from_secs(90), "all is completed", || done(&database) == 3 * count);
    let of_sql = i64::try_from(2 * count).unwrap();
    let effects = database.query("SELECT count(*), count(DISTINCT entry) FROM effects");
    assert_eq!(effects, [[Some(of_sql.to_string()), Some(of_sql.to_string())]], "{}", node.log());
    assert!(hook.count() >= count);
    let last = insert(&database, "t", "{}");
    until_state(&database, last, "completed");
    assert_eq!(state(&database, last), "completed");
}

#[test]
fn survives_a_restart_of_postgres() {
    survives_a_restart_of_its_database(Backend::Postgres);
}

#[test]
fn survives_a_restart_of_mariadb() {
    survives_a_restart_of_its_database(Backend::MariaDb);
}
