#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
//! Nodes that are killed: nothing is lost, nothing is doubled, and what kills its node comes to an end.

#[path = "processes/setting.rs"]
mod setting;

use std::time::{Duration, Instant};

use house::{Hook, Node, Signal, TestDatabase, numbers, on_every_backend, until};
use setting::{Gate, SOON, config, enqueue, migrate, states, stop, until_completed};

fn every_effect_happens_once_whichever_nodes_are_killed(database: &TestDatabase) {
    kill_nodes(database, true);
}

fn every_effect_happens_once_where_entries_are_claimed_before(database: &TestDatabase) {
    kill_nodes(database, false);
}

fn kill_nodes(database: &TestDatabase, transaction: bool) {
    let (entries, kills) = numbers((2000, 6), (20_000, 25));
    migrate(database);
    // No key of any kind: what is done twice is seen twice.
    database.sql("CREATE TABLE effects (n BIGINT NOT NULL)");
    let tasks = format!(
        "[tasks.note]\nsql = \"INSERT INTO effects (n) VALUES (:n)\"\ntransaction = {transaction}\n\
         concurrency = 4\nmax_attempts = 1000"
    );
    let start = |n: usize| Node::start(&config(database, "", &format!("name = \"n{n}\"\nlease = \"1s\""), &tasks));
    let nodes: Vec<_> = (0..4).map(start).collect();
    let mut nodes: Vec<_> = nodes.into_iter().map(Node::wait_ready).collect();
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut chance = fastrand::Rng::with_seed(seed);
    for kill in 0..kills {
        let before = database.number("SELECT count(*) FROM effects");
        enqueue(database, "note", kill * entries / kills..(kill + 1) * entries / kills);
        until(SOON, "work goes on", || database.number("SELECT count(*) FROM effects") > before);
        let victim = chance.usize(..nodes.len());
        nodes[victim].signal(Signal::KILL);
        nodes[victim] = start(victim).wait_ready();
    }
    until_completed(database, "note", entries);
    let count = |what: &str| usize::try_from(database.number(&format!("SELECT count({what}) FROM effects"))).unwrap();
    assert_eq!((count("*"), count("DISTINCT n")), (entries, entries), "seed {seed}");
    if transaction {
        let counted = database.number("SELECT count(*) FROM soloist_entries WHERE attempt <> 1");
        assert_eq!(counted, 0, "a crash rolls back and costs no attempt");
    }
    stop(&mut nodes);
}

/// Row 42: a claim belongs to an incarnation, not to a name.
fn a_node_of_the_same_name_does_not_keep_a_dead_ones_claims(database: &TestDatabase) {
    for row_is_deleted in [false, true] {
        same_name(database, row_is_deleted);
    }
}

fn same_name(database: &TestDatabase, row_is_deleted: bool) {
    let (lease, limit) = numbers(("1s", 2500), ("3s", 4500));
    let gate = Gate::default();
    let of_hook = gate.clone();
    let hook = Hook::start(move |call| {
        if call.json()["attempt"] == 1 {
            of_hook.pass();
        }
        200
    });
    let task = format!("long_{row_is_deleted}");
    let tasks = format!("[tasks.{task}]\nhttp = {{ url = \"{}\" }}\n", hook.url("/"));
    let config = config(database, "", &format!("name = \"w\"\nlease = \"{lease}\""), &tasks);
    let first = Node::start(&config).wait_ready();
    enqueue(database, &task, 0..1);
    until(SOON, "the entry is worked", || hook.count() == 1);
    first.signal(Signal::KILL);
    let killed = Instant::now();
    let second = Node::start(&config);
    if row_is_deleted {
        let owner = format!("(SELECT node_id FROM soloist_entries WHERE task = '{task}')");
        database.sql(&format!("DELETE FROM soloist_nodes WHERE id = {owner}"));
    }
    until(SOON, "the entry is worked again", || hook.count() == 2);
    let took = killed.elapsed();
    assert_eq!(hook.received()[1].json()["attempt"], 2);
    assert!(took < Duration::from_millis(limit), "attempt 2 came after {took:?}");
    until_completed(database, &task, 1);
    gate.open();
    stop(&mut [second]);
    drop(first);
}

/// Row 47: the claim counts as the attempt.
fn an_entry_that_kills_its_node_ends_failed(database: &TestDatabase) {
    let tasks = "[tasks.poison]\ncommand = [\"/bin/sh\", \"-c\", \"kill -9 $PPID\"]\nmax_attempts = 3\n\
                 [tasks.other]\ncommand = [\"true\"]\nconcurrency = 4\n";
    let config = config(database, "", "name = \"w\"\nlease = \"1s\"", tasks);
    migrate(database);
    enqueue(database, "poison", 0..1);
    enqueue(database, "other", 0..100);
    let mut node = Node::start(&config);
    let mut deaths = 0;
    until(SOON, "the entry that kills its node has ended", || {
        if !node.is_running() {
            deaths += 1;
            node = Node::start(&config);
        }
        states(database, "poison") == "1 failed"
    });
    until_completed(database, "other", 100);
    assert_eq!(deaths, 3);
    assert!(node.is_running());
    let row = database.query("SELECT attempt, error FROM soloist_entries WHERE task = 'poison'").remove(0);
    assert_eq!(row[0].as_deref(), Some("3"));
    let error = row[1].as_deref().unwrap();
    assert!(error.contains("node w ") && error.contains("was lost"), "{error}");
    stop(&mut [node]);
}

on_every_backend!(
    every_effect_happens_once_whichever_nodes_are_killed,
    every_effect_happens_once_where_entries_are_claimed_before,
    a_node_of_the_same_name_does_not_keep_a_dead_ones_claims,
    an_entry_that_kills_its_node_ends_failed,
);
