#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
//! Limits over real nodes: never more at once, none idle, whoever dies; changed while nodes run; the order of a key.

#[path = "processes/setting.rs"]
mod setting;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use house::{Hook, Node, Signal, TestDatabase, numbers, on_every_backend, soloist, until, until_some};
use setting::{SOON, config, enqueue, migrate, stop, until_completed};

/// When a call began and ended.
type Call = (Instant, Option<Instant>);

/// All calls of a hook.
#[derive(Clone, Default)]
struct Calls(Arc<Mutex<Vec<Call>>>);

impl Calls {
    fn during<T>(&self, work: impl FnOnce() -> T) -> T {
        let place = {
            let mut calls = self.0.lock().unwrap();
            calls.push((Instant::now(), None));
            calls.len() - 1
        };
        let result = work();
        self.0.lock().unwrap()[place].1 = Some(Instant::now());
        result
    }

    fn running(&self) -> usize {
        self.0.lock().unwrap().iter().filter(|(_, ended)| ended.is_none()).count()
    }

    /// The most at once, and the share of the time in which `slots` were busy: up to the last start, since after it
    /// there is no more work.
    fn judged(&self, slots: usize) -> (usize, f64) {
        let calls = self.0.lock().unwrap();
        let mut changes: BTreeMap<(Instant, u8), i64> = BTreeMap::new();
        for (began, ended) in calls.iter() {
            *changes.entry((*began, 1)).or_default() += 1;
            *changes.entry((ended.unwrap(), 0)).or_default() -= 1;
        }
        let (now, most) = changes.values().fold((0, 0), |(now, most), change| (now + change, most.max(now + change)));
        assert_eq!(now, 0);
        let first = calls.iter().map(|(began, _)| *began).min().unwrap();
        let last = calls.iter().map(|(began, _)| *began).max().unwrap();
        let busy: f64 = calls.iter().map(|(began, ended)| (ended.unwrap().min(last) - *began).as_secs_f64()).sum();
        (usize::try_from(most).unwrap(), busy / ((last - first).as_secs_f64() * slots as f64))
    }
}

/// Row 56, over processes: a cap of 3 for four nodes of 8 slots each, one of which is killed.
fn a_cap_is_used_and_never_exceeded(database: &TestDatabase) {
    let entries = numbers(60, 300);
    let calls = Calls::default();
    let of_hook = calls.clone();
    let hook = Hook::start(move |_| {
        of_hook.during(|| std::thread::sleep(Duration::from_millis(200)));
        200
    });
    let tasks = format!("[tasks.capped]\nhttp = {{ url = \"{}\" }}\nconcurrency = 8\nmax_running = 3\n", hook.url("/"));
    migrate(database);
    enqueue(database, "capped", 0..entries);
    let nodes: Vec<_> = (0..4)
        .map(|n| Node::start(&config(database, "", &format!("name = \"n{n}\"\nlease = \"2s\""), &tasks)))
        .collect();
    let mut nodes: Vec<_> = nodes.into_iter().map(Node::wait_ready).collect();
    until_completed(database, "capped", entries);
    let (most, busy) = calls.judged(3);
    println!("{most} at once at most, busy {:.0} % of the time", busy * 100.0);
    assert_eq!(most, 3);
    assert!(busy >= 0.8, "3 slots were busy {busy} of the time");

    // A node that has slots dies: they are free again within its lease, and no sooner than it.
    enqueue(database, "capped", entries..entries + 15);
    let holder = "SELECT n.name FROM soloist_entries e JOIN soloist_nodes n ON n.id = e.node_id \
                  WHERE e.state = 'running' ORDER BY n.name LIMIT 1";
    let name = until_some(SOON, "a node has a slot", || database.query(holder).pop().and_then(|row| row[0].clone()));
    let place: usize = name[1..].parse().unwrap();
    nodes[place].signal(Signal::KILL);
    let killed = Instant::now();
    let dead = nodes.remove(place);
    let held = format!(
        "SELECT count(*) FROM soloist_entries WHERE state = 'running' AND node_id IN \
         (SELECT id FROM soloist_nodes WHERE name = '{name}')"
    );
    until(SOON, "what it had is taken over", || database.number(&held) == 0);
    until(SOON, "all slots are used again", || calls.running() == 3 || killed.elapsed() > Duration::from_secs(4));
    let took = killed.elapsed();
    assert!(took < Duration::from_secs(4), "with a lease of 2 s: {took:?}");
    until_completed(database, "capped", entries + 15);
    assert_eq!(calls.judged(3).0, 3, "never more than 3 at once");
    stop(&mut nodes);
    drop(dead);
}

/// The last to read its file speaks for all, at once; a rate holds for SQL handlers in one transaction as well.
fn limits_are_read_again(database: &TestDatabase) {
    let calls = Calls::default();
    let of_hook = calls.clone();
    let gate = setting::Gate::default();
    let of_gate = gate.clone();
    let hook = Hook::start(move |_| {
        of_hook.during(|| of_gate.pass());
        200
    });
    database.sql("CREATE TABLE done (id INTEGER PRIMARY KEY)");
    let tasks = |most: u32, rate: &str| {
        format!(
            "[tasks.capped]\nhttp = {{ url = \"{}\" }}\nconcurrency = 8\nmax_running = {most}\n\
             [tasks.paced]\nsql = \"INSERT INTO done (id) VALUES (:entry_id)\"\n{rate}",
            hook.url("/")
        )
    };
    let with = |name: &str, tasks: &str| config(database, "", &format!("name = \"{name}\""), tasks);
    let mut nodes = vec![
        Node::start(&with("a", &tasks(1, "rate = \"1/d\""))).wait_ready(),
        Node::start(&with("b", &tasks(2, "rate = \"1/d\""))).wait_ready(),
    ];
    enqueue(database, "capped", 0..6);
    enqueue(database, "paced", 0..40);
    until(SOON, "the second node speaks", || calls.running() == 2);
    let running = "SELECT count(*) FROM soloist_entries WHERE task = 'capped' AND state = 'running'";
    let shown = nodes[0].api("GET", "/api/v1/tasks/capped", "").json();
    assert_eq!((&shown["max_running"], &shown["rate"]), (&2.into(), &serde_json::Value::Null), "{shown}");
    until(SOON, "one is done", || database.number("SELECT count(*) FROM done") == 1);
    nodes[0].rewrite_config(&with("a", &tasks(5, "rate = \"20/s\"")));
    nodes[0].signal(Signal::HUP);
    let again = Instant::now();
    until(SOON, "the first has read its file again", || calls.running() == 5);
    assert_eq!(database.number(running), 5);
    assert!(database.number("SELECT count(*) FROM done") < 40);
    gate.open();
    until_completed(database, "capped", 6);
    until_completed(database, "paced", 40);
    let took = again.elapsed();
    // 39 are left; a tenth of a second's worth and one may start at once.
    assert!(took > Duration::from_millis(1600) && took < 2 * SOON, "39 at 20/s took {took:?}");
    println!("39 at 20/s took {took:?}");
    stop(&mut nodes);
}

/// Entries of one key, from each door, over two nodes: in order, one at a time, though some fail first.
fn a_key_is_worked_in_order(database: &TestDatabase) {
    let seen: Arc<Mutex<Vec<(String, i64)>>> = Arc::default();
    let (calls, of_hook) = (Calls::default(), seen.clone());
    let in_hook = calls.clone();
    let hook = Hook::start(move |call| {
        in_hook.during(|| {
            let entry = call.json();
            let key = entry["key"].as_str().unwrap_or_default().to_owned();
            std::thread::sleep(Duration::from_millis(5));
            let fails = entry["id"].as_i64().unwrap() % 3 == 0 && entry["attempt"] == 1;
            if !fails {
                of_hook.lock().unwrap().push((key, entry["id"].as_i64().unwrap()));
            }
            if fails { 500 } else { 200 }
        })
    });
    let tasks = format!(
        "[tasks.ordered]\nhttp = {{ url = \"{}\" }}\nserial_by = \"key\"\nbackoff = {{ first = \"50ms\" }}\n",
        hook.url("/")
    );
    let mut nodes: Vec<_> = ["a", "b"]
        .map(|name| Node::start(&config(database, "", &format!("name = \"{name}\""), &tasks)))
        .into_iter()
        .map(Node::wait_ready)
        .collect();
    for n in 0..8 {
        let body = format!(r#"{{"task": "ordered", "key": "k{}"}}"#, n % 2);
        let answer = nodes[n % 2].api("POST", "/api/v1/entries", &body);
        assert_eq!(answer.status, 201, "{answer:?}");
    }
    for _ in 0..4 {
        let mut command = soloist();
        command.args(["enqueue", "ordered", "--key", "k0"]).env("DATABASE_URL", database.url()).current_dir("/");
        assert!(command.output().unwrap().status.success());
    }
    database.sql("INSERT INTO soloist_entries (task, dedupe_key, key_held) VALUES ('ordered', 'k0', 0)");
    until_completed(database, "ordered", 13);
    let seen = seen.lock().unwrap();
    for key in ["k0", "k1"] {
        let ids: Vec<_> = seen.iter().filter(|(of, _)| of == key).map(|(_, id)| *id).collect();
        assert!(ids.is_sorted() && ids.len() == if key == "k0" { 9 } else { 4 }, "{key}: {ids:?}");
    }
    assert!(calls.judged(2).0 <= 2, "two keys");
    stop(&mut nodes);
}

on_every_backend!(a_cap_is_used_and_never_exceeded, limits_are_read_again, a_key_is_worked_in_order);
