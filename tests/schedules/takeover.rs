//! The leader is killed, stopped, paused, or all are: the next firing is little late, and nothing is lost or doubled.

use std::time::{Duration, Instant};

use house::{Backend, Hook, Node, Signal, TestDatabase, numbers, on_every_backend, until, until_some};

use crate::cluster::{config, leader, schedule, scheduled, start, status, task, until_led};
use crate::ledger::{
    Item, SOON, assert_called_once, assert_fired, assert_paired, assert_unbroken, items, listed, until_fired,
};
use crate::setting::{clock, migrate, now, pause, stop};

on_every_backend!(
    a_killed_leader_delays_little_and_loses_nothing,
    another_leads_when_the_leader_is_killed,
    a_stopped_leader_hands_over,
    a_paused_leader_steps_down,
    a_leader_that_is_paused_in_a_pass_holds_up_nothing,
    all_are_killed_at_once,
    the_lease_of_a_node_that_is_gone_ends,
);

const SECOND: Duration = Duration::from_secs(1);
const HALF: Duration = Duration::from_millis(500);

fn schedules(hook: &Hook) -> String {
    scheduled(hook, "one", "every = \"1s\"\nmisfire = \"all\"") + &scheduled(hook, "half", "every = \"500ms\"")
}

/// Waits until the schedule `one` has fired for an instant after this many seconds from now.
fn pass(database: &TestDatabase, seconds: i64) {
    let end = clock(database) + seconds * 1_000_000;
    let newest = "SELECT COALESCE(MAX(scheduled_for), 0) FROM soloist_firings WHERE schedule = 'one'";
    until(SOON + 2 * SECOND * u32::try_from(seconds).unwrap(), "firings go on", || database.number(newest) >= end);
}

fn latest(items: &[Item]) -> Duration {
    items.iter().filter(|item| item.fired()).map(Item::late).max().unwrap()
}

#[track_caller]
fn assert_little_late(database: &TestDatabase, hook: &Hook, one: Duration, half: Duration) {
    let ones = items(database, "one");
    let halves = items(database, "half");
    println!("the latest of one {:?}, of half {:?}", latest(&ones), latest(&halves));
    assert_fired(&ones, SECOND, one);
    assert_unbroken(&halves, HALF);
    assert!(latest(&halves) <= half, "{}", listed(&halves));
    for schedule in ["one", "half"] {
        assert_called_once(database, hook, schedule);
    }
    assert_paired(database);
}

/// Under the default lease, which ends long after the next due times.
fn a_killed_leader_delays_little_and_loses_nothing(database: &TestDatabase) {
    let hook = Hook::start(|_| 200);
    let mut nodes = start(database, numbers(3, 5), "", &schedules(&hook));
    let first = until_led(&nodes[0]);
    until_fired(database, "one", 2);
    // What it works when it is killed is in the way of later due times until its lease has ended: 15 s.
    let going = "SELECT count(*) FROM soloist_entries WHERE state <> 'completed'";
    until(SOON, "what fired has been worked", || database.number(going) == 0);
    nodes[first.position()].signal(Signal::KILL);
    nodes.remove(first.position());
    pass(database, numbers(6, 40));
    stop(&mut nodes);
    assert_little_late(database, &hook, 2 * SECOND, 2 * SECOND + HALF);
}

/// Row 14, its first half.
fn another_leads_when_the_leader_is_killed(database: &TestDatabase) {
    let hook = Hook::start(|_| 200);
    let mut nodes = start(database, 3, "lease = \"3s\"", &schedules(&hook));
    for n in 0..numbers(1, 2) {
        let first = until_led(&nodes[0]);
        pass(database, 2);
        let position = nodes.iter().position(|node| named(node) == first.name).unwrap();
        nodes[position].signal(Signal::KILL);
        let killed = Instant::now();
        nodes.remove(position);
        let second = until_some(SOON, "another leads", || leader(&nodes[0]).filter(|leader| *leader != first));
        let took = killed.elapsed();
        assert!(took < Duration::from_millis(4500), "{n}: {second:?} led after {took:?}");
        pass(database, 2);
    }
    stop(&mut nodes);
    assert_little_late(database, &hook, 2 * SECOND, 2 * SECOND + HALF);
}

fn named(node: &Node) -> String {
    let text = std::fs::read_to_string(node.config()).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("name = ")).unwrap();
    line.trim_matches('"').to_owned()
}

fn a_stopped_leader_hands_over(database: &TestDatabase) {
    let hook = Hook::start(|_| 200);
    let mut nodes = start(database, 3, "", &schedules(&hook));
    for _ in 0..2 {
        let first = until_led(&nodes[0]);
        pass(database, 1);
        let position = nodes.iter().position(|node| named(node) == first.name).unwrap();
        let mut old = nodes.remove(position);
        old.signal(Signal::TERM);
        let told = Instant::now();
        assert_eq!(old.exit_code(), Some(0));
        let second = until_some(SOON, "another leads", || leader(&nodes[0]).filter(|leader| *leader != first));
        let took = told.elapsed();
        assert!(took < SECOND, "{second:?} led after {took:?}");
        pass(database, 2);
    }
    stop(&mut nodes);
    assert_little_late(database, &hook, HALF, HALF);
    let halves = items(database, "half");
    assert!(halves.iter().all(Item::fired), "{}", listed(&halves));
}

/// Row 15.
fn a_paused_leader_steps_down(database: &TestDatabase) {
    let hook = Hook::start(|_| 200);
    let (lease, paused) = numbers(("2s", 6), ("3s", 9));
    let rest = schedules(&hook);
    let of_node = |n: usize| format!("name = \"n{n}\"\nlease = \"{lease}\"");
    // Each works a task of its own, too.
    let own = |n: usize| rest.clone() + &task(&hook, &format!("own{n}"));
    let nodes: Vec<_> = (0..3).map(|n| Node::start(&config(database, &of_node(n), &own(n)))).collect();
    let mut nodes: Vec<_> = nodes.into_iter().map(Node::wait_ready).collect();
    let first = until_led(&nodes[0]);
    pass(database, 2);
    let old = first.position();
    pause(database, &nodes[old]);
    let other = (old + 1) % 3;
    pass(database, paused);
    let second = leader(&nodes[other]).expect("another leads");
    assert_ne!(second, first);
    database.sql(&format!("INSERT INTO soloist_entries (task, payload) VALUES ('own{old}', '{{}}')"));
    nodes[old].signal(Signal::CONT);
    let awake = Instant::now();
    let path = format!("/own{old}");
    until(SOON, "the woken node works again", || hook.received().iter().any(|call| call.path == path));
    let took = awake.elapsed();
    assert!(took < 2 * SECOND, "it worked again after {took:?}");
    pass(database, 3);
    for node in &mut nodes {
        assert!(node.is_running());
        assert_eq!(leader(node).as_ref(), Some(&second), "the leader stays the new one");
    }
    let listed = status(&nodes[other])["nodes"].clone();
    let woken: Vec<_> = listed.as_array().unwrap().iter().filter(|node| node["name"] == first.name.as_str()).collect();
    assert_eq!(woken.len(), 1, "{listed}");
    assert_ne!(woken[0]["id"], first.id, "it came back as another incarnation");
    stop(&mut nodes);
    assert_little_late(database, &hook, 2 * SECOND + HALF, 2 * SECOND + HALF);
}

/// The schedules of its open transaction are locked until the server ends its session.
fn a_leader_that_is_paused_in_a_pass_holds_up_nothing(database: &TestDatabase) {
    let open = match database.backend() {
        Backend::Sqlite => return, // There a process that is stopped inside a transaction stops all others.
        Backend::Postgres => {
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() \
             AND application_name = 'soloist firing' AND state = 'idle in transaction'"
        }
        Backend::MariaDb | Backend::MySql => {
            "SELECT trx_mysql_thread_id FROM information_schema.innodb_trx WHERE trx_rows_locked > 0"
        }
    };
    let of = |n: usize| schedule(&format!("s{n}"), "free", "every = \"100ms\"\noverlap = \"allow\"");
    let rest = (0..100).map(of).collect::<String>() + "[tasks.free]\npull = true\n";
    let mut nodes = start(database, 3, "", &rest);
    let position = until_led(&nodes[0]).position();
    until_fired(database, "s0", 5);
    until(SOON, "the leader is caught in a transaction", || {
        nodes[position].signal(Signal::STOP);
        let before = database.query(open);
        std::thread::sleep(Duration::from_millis(100));
        let caught = before.iter().any(|session| database.query(open).contains(session));
        if !caught {
            nodes[position].signal(Signal::CONT);
        }
        caught
    });
    let end = clock(database) + 4_000_000;
    let newest = "SELECT MIN(decided_until) FROM soloist_schedules";
    until(SOON, "all schedules go on", || database.number(newest) > end);
    nodes[position].signal(Signal::CONT);
    stop(&mut nodes);
    let late = database.number("SELECT MAX(decided_at - scheduled_for) FROM soloist_firings");
    println!("the latest {} ms", late / 1000);
    assert!(late < 2_500_000, "a firing was {late} µs late");
    assert_eq!(database.number("SELECT count(*) FROM soloist_firings WHERE outcome <> 'fired'"), 0);
    assert_paired(database);
}

/// Row 16.
fn all_are_killed_at_once(database: &TestDatabase) {
    let hook = Hook::start(|_| 200);
    let nodes = start(database, 3, "lease = \"3s\"", &schedules(&hook));
    until_led(&nodes[0]);
    until_fired(database, "one", 2);
    for node in &nodes {
        node.signal(Signal::KILL);
    }
    drop(nodes);
    starts_alone(database, &hook);
}

/// The other half of row 16.
fn the_lease_of_a_node_that_is_gone_ends(database: &TestDatabase) {
    let hook = Hook::start(|_| 200);
    migrate(database);
    database.sql(&format!(
        "INSERT INTO soloist_leases (name, node_id, holder, term, since, lease_until) VALUES \
         ('scheduler', 999999, 'gone', 7, {now}, {now} + 3000000)",
        now = now(database)
    ));
    starts_alone(database, &hook);
    let term = database.number("SELECT term FROM soloist_leases WHERE name = 'scheduler'");
    assert_eq!(term, 8, "the term goes on from where it was");
}

fn starts_alone(database: &TestDatabase, hook: &Hook) {
    let began = Instant::now();
    let of_node = "name = \"alone\"\nlease = \"3s\"";
    let node = Node::start(&config(database, of_node, &schedules(hook))).wait_ready();
    let ready = (Instant::now(), clock(database));
    let newer = format!("SELECT count(*) FROM soloist_firings WHERE decided_at > {}", ready.1);
    until(SOON, "it fires", || database.number(&newer) > 0);
    let took = ready.0.elapsed();
    assert!(took < 2 * SECOND + HALF, "it fired after {took:?}");
    until(SOON, "it leads", || leader(&node).is_some_and(|leader| leader.name == "alone"));
    let took = began.elapsed();
    assert!(took < Duration::from_millis(4500) + (ready.0 - began), "it led after {took:?}");
    pass(database, 1);
    stop(&mut [node]);
    for (schedule, every) in [("one", SECOND), ("half", HALF)] {
        assert_unbroken(&items(database, schedule), every);
        assert_called_once(database, hook, schedule);
    }
    assert_paired(database);
}
