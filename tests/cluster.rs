#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
//! Several nodes on one database: each row delivered once, a paused node, work that outlasts many leases.

#[path = "processes/setting.rs"]
mod setting;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use house::{Backend, Hook, Node, Signal, TestDatabase, numbers, on_every_backend, until, until_some};
use setting::{Gate, SOON, config, enqueue, migrate, pause, stop, until_completed};

fn columns(database: &TestDatabase, table: &str) -> Vec<String> {
    let sql = match database.backend() {
        Backend::Sqlite => format!("SELECT name FROM pragma_table_info('{table}')"),
        _ => format!(
            "SELECT column_name FROM information_schema.columns WHERE table_name = '{table}' ORDER BY ordinal_position"
        ),
    };
    database.query(&sql).into_iter().flatten().flatten().collect()
}

fn each_row_is_delivered_once_and_written_back(database: &TestDatabase) {
    let strategies: &[&str] =
        if database.backend() == Backend::Sqlite { &["auto"] } else { &["skip_locked", "atomic_update"] };
    for claim in strategies {
        each_row(database, claim);
    }
}

fn each_row(database: &TestDatabase, claim: &str) {
    let rows = numbers(400, 2000);
    let table = format!("images_{claim}");
    database.sql(&format!(
        "CREATE TABLE {table} (id INTEGER PRIMARY KEY, path VARCHAR(40) NOT NULL, \
         processed BOOLEAN NOT NULL DEFAULT FALSE)"
    ));
    let values: Vec<_> = (1..=rows).map(|id| format!("({id}, '{id}.png')")).collect();
    database.sql(&format!("INSERT INTO {table} (id, path) VALUES {}", values.join(", ")));
    let before = columns(database, &table);
    let hook = Hook::start(|_| 200);
    let tasks = format!(
        "[tasks.{table}]\nhttp = {{ url = \"{}\" }}\nconcurrency = 16\n\
         [tasks.{table}.source]\ntable = \"{table}\"\nkey = \"id\"\npending = \"processed = FALSE\"\n\
         done = \"processed = TRUE\"\nevery = \"200ms\"",
        hook.url("/")
    );
    // All start at once, on a database that they find empty the first time.
    let nodes: Vec<_> = (0..4)
        .map(|n| config(database, &format!("claim = \"{claim}\""), &format!("name = \"n{n}\""), &tasks))
        .map(|config| Node::start(&config))
        .collect();
    let mut nodes: Vec<_> = nodes.into_iter().map(Node::wait_ready).collect();
    let pending = format!("SELECT count(*) FROM {table} WHERE processed = FALSE");
    until(2 * SOON, "no row is pending", || database.number(&pending) == 0);
    // A sweep may collect a row that another node marks in the same moment: such an entry ends without a call.
    let unfinished = format!("SELECT count(*) FROM soloist_entries WHERE task = '{table}' AND state <> 'completed'");
    until(SOON, "each entry has completed", || database.number(&unfinished) == 0);
    // A sweep that begins after the last row was marked finds nothing more.
    let sweeps = format!("SELECT coalesce(max(id), 0) FROM soloist_sweeps WHERE task = '{table}'");
    let last = database.number(&sweeps);
    until(SOON, "another sweep begins", || database.number(&sweeps) > last + 1);
    stop(&mut nodes);

    assert_eq!(database.number(&unfinished), 0);
    let calls: Vec<_> = hook.received().iter().map(|call| call.json()).collect();
    assert_eq!(calls.len(), rows, "each row is delivered once");
    let keys: BTreeSet<i64> = calls.iter().map(|call| call["key"].as_str().unwrap().parse().unwrap()).collect();
    assert_eq!(keys, (1..=i64::try_from(rows).unwrap()).collect());
    let ids: BTreeSet<_> = calls.iter().map(|call| call["idempotency_key"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), rows, "idempotency keys are unique");
    for call in &calls {
        assert_eq!(call["attempt"], 1, "{call}");
        assert_eq!(call["payload"]["path"].as_str().unwrap(), format!("{}.png", call["key"].as_str().unwrap()));
    }
    assert_eq!(columns(database, &table), before, "no column was added");
    assert_eq!(database.number(&format!("SELECT count(*) FROM {table}")), i64::try_from(rows).unwrap());
}

fn a_paused_node_comes_back_as_another_incarnation(database: &TestDatabase) {
    const ENTRIES: usize = 4;
    let gate = Gate::default();
    let of_hook = gate.clone();
    let hook = Hook::start(move |call| {
        if call.path == "/shared" && call.json()["attempt"] == 1 {
            of_hook.pass();
        }
        200
    });
    let shared = format!("[tasks.shared]\nhttp = {{ url = \"{}\" }}\n", hook.url("/shared"));
    let own = format!("{shared}[tasks.own]\nhttp = {{ url = \"{}\" }}\n", hook.url("/own"));
    let mut first = Node::start(&config(database, "", "name = \"first\"\nlease = \"1s\"", &own)).wait_ready();
    enqueue(database, "shared", 0..ENTRIES);
    until(SOON, "the first node works all", || hook.count() == ENTRIES);
    let incarnations = "SELECT id FROM soloist_nodes WHERE name = 'first' ORDER BY id";
    let before = database.query(incarnations);
    let mut second = Node::start(&config(database, "", "name = \"second\"\nlease = \"1s\"", &shared)).wait_ready();
    pause(database, &first);
    until_completed(database, "shared", ENTRIES);
    let attempts: Vec<_> = hook.received().iter().map(|call| call.json()["attempt"].as_i64().unwrap()).collect();
    assert_eq!(attempts, [1, 1, 1, 1, 2, 2, 2, 2]);
    // What the paused node hears first when it wakes is that its calls went well.
    gate.open();
    let all =
        "SELECT id, state, attempt, claim, node_id, finished_at, error FROM soloist_entries WHERE task = 'shared'";
    let ended = database.query(all);
    enqueue(database, "own", 0..1);

    first.signal(Signal::CONT);
    let awake = Instant::now();
    until(SOON, "the woken node works again", || hook.received().iter().any(|call| call.path == "/own"));
    let took = awake.elapsed();
    assert!(took < Duration::from_secs(2), "it worked again after {took:?}");
    until_completed(database, "own", 1);
    let after = database.query(incarnations);
    assert_eq!(after.len(), 2, "{after:?}");
    assert_eq!(after[0], before[0], "it is a new incarnation, beside the old one");
    let own = database.value("SELECT node_id FROM soloist_entries WHERE task = 'own'");
    assert_eq!(own, after[1][0], "it claims under its new id");
    assert!(first.is_running());
    stop(std::slice::from_mut(&mut first));
    stop(std::slice::from_mut(&mut second));
    assert_eq!(database.query(all), ended, "nothing that had ended was changed");
    assert_eq!(hook.count(), 2 * ENTRIES + 1);
}

/// Row 45: rescue goes by whether the owner lives, never by how long it works.
fn a_node_that_lives_keeps_its_claim_however_long_it_works(database: &TestDatabase) {
    let (lease, long) = numbers(("1s", Duration::from_secs(4)), ("3s", Duration::from_secs(20)));
    let hook = Hook::start(move |_| {
        std::thread::sleep(long);
        200
    });
    let tasks = format!("[tasks.long]\nhttp = {{ url = \"{}\" }}\ntimeout = \"60s\"\n", hook.url("/"));
    migrate(database);
    enqueue(database, "long", 0..1);
    let nodes: Vec<_> = (0..3)
        .map(|n| Node::start(&config(database, "", &format!("name = \"n{n}\"\nlease = \"{lease}\""), &tasks)))
        .collect();
    let mut nodes: Vec<_> = nodes.into_iter().map(Node::wait_ready).collect();
    until_completed(database, "long", 1);
    assert_eq!(hook.count(), 1);
    assert_eq!(hook.received()[0].json()["attempt"], 1);
    let worker = until_some(SOON, "who worked it", || database.value("SELECT node_id FROM soloist_entries"));
    let lost = database.number("SELECT count(*) FROM soloist_nodes WHERE lost_at IS NOT NULL");
    assert_eq!(lost, 0, "no node lost its lease; {worker} worked");
    stop(&mut nodes);
}

/// Entries that share a transaction touch the same rows in any order: deadlocks come, and take nothing with them.
fn effects_happen_once_where_transactions_meet_in_deadlocks(database: &TestDatabase) {
    let entries = numbers(200, 6000);
    migrate(database);
    database.sql("CREATE TABLE counters (id INTEGER PRIMARY KEY, n INTEGER NOT NULL)");
    database.sql("INSERT INTO counters (id, n) VALUES (0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (5, 0), (6, 0)");
    for _ in 0..10 {
        enqueue(database, "count", 0..entries / 10);
    }
    let tasks = "[tasks.count]\nsql = \"UPDATE counters SET n = n + 1 WHERE id = (:n * 5) % 7\"\n\
                 transaction = true\nconcurrency = 4\nmax_attempts = 1";
    let nodes: Vec<_> =
        (0..2).map(|n| Node::start(&config(database, "", &format!("name = \"n{n}\""), tasks))).collect();
    let mut nodes: Vec<_> = nodes.into_iter().map(Node::wait_ready).collect();
    until_completed(database, "count", entries);
    let counted = database.number("SELECT sum(n) FROM counters");
    assert_eq!(counted, i64::try_from(entries).unwrap());
    assert_eq!(database.number("SELECT count(*) FROM soloist_entries WHERE attempt <> 1"), 0);
    let met = nodes.iter().filter(|node| node.log().to_lowercase().contains("deadlock")).count();
    println!("{met} nodes met a deadlock");
    stop(&mut nodes);
}

on_every_backend!(
    effects_happen_once_where_transactions_meet_in_deadlocks,
    each_row_is_delivered_once_and_written_back,
    a_paused_node_comes_back_as_another_incarnation,
    a_node_that_lives_keeps_its_claim_however_long_it_works,
);
