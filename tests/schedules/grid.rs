//! Every due time once, on a grid without a gap: over five nodes, over their replacement, over clocks that differ.

use std::time::{Duration, Instant};

use house::{Backend, Hook, Node, Signal, TestDatabase, faketime, numbers, on_every_backend};

use crate::cluster::{config, leader, scheduled, start, until_led, wait};
use crate::ledger::{
    assert_called_once, assert_fired, assert_paired, assert_unbroken, items, listed, median, until_fired,
};
use crate::setting::stop;

on_every_backend!(
    five_nodes_fire_each_due_time_once,
    nodes_are_replaced_one_by_one,
    nodes_whose_clocks_differ_fire_each_due_time_once,
);

const SECOND: Duration = Duration::from_secs(1);
const HALF: Duration = Duration::from_millis(500);

/// Row 1, and what the issue asks for.
fn five_nodes_fire_each_due_time_once(database: &TestDatabase) {
    let hook = Hook::start(|_| 200);
    let rest = scheduled(&hook, "one", "every = \"1s\"") + &scheduled(&hook, "cron", "cron = \"* * * * * *\"");
    let mut nodes = start(database, 5, "", &rest);
    until_fired(database, "one", numbers(12, 60));
    stop(&mut nodes);
    for schedule in ["one", "cron"] {
        let items = items(database, schedule);
        assert_fired(&items, SECOND, SECOND);
        assert_called_once(database, &hook, schedule);
        println!(
            "{schedule}: {} fired, median {:?} late",
            items.len(),
            median(items.iter().map(|i| i.late()).collect())
        );
    }
    assert!(items(database, "cron")[0].due % 1_000_000 == 0);
    assert_paired(database);
}

/// Row 2: any number may start; one leads, the rest wait; a stop hands over.
fn nodes_are_replaced_one_by_one(database: &TestDatabase) {
    let hook = Hook::start(|_| 200);
    let rest = scheduled(&hook, "half", "every = \"500ms\"\nmisfire = \"all\"")
        + &scheduled(&hook, "one", "every = \"1s\"\nmisfire = \"all\"");
    let mut nodes = start(database, numbers(3, 5), "", &rest);
    until_fired(database, "half", 2);
    let places = (0..nodes.len()).cycle().take(nodes.len() * numbers(1, 10));
    for (n, place) in places.enumerate() {
        let new = Node::start(&config(database, &format!("name = \"new{n}\""), &rest)).wait_ready();
        let led_by = leader(&new).expect("another leads");
        assert_ne!(led_by.name, format!("new{n}"), "it is ready while another leads");
        let mut old = std::mem::replace(&mut nodes[place], new);
        old.signal(Signal::TERM);
        assert_eq!(old.exit_code(), Some(0), "{}", old.log());
        let fired = items(database, "half").len();
        until_fired(database, "half", fired + 2);
    }
    until_led(&nodes[0]);
    stop(&mut nodes);
    for (schedule, every) in [("half", HALF), ("one", SECOND)] {
        let items = items(database, schedule);
        println!("{schedule}: the latest of {} {:?}", items.len(), items.iter().map(|i| i.late()).max());
        assert_fired(&items, every, HALF);
        assert_called_once(database, &hook, schedule);
    }
    assert_paired(database);
}

/// Row 19: all comparisons use the database's clock.
fn nodes_whose_clocks_differ_fire_each_due_time_once(database: &TestDatabase) {
    if database.backend() == Backend::Sqlite {
        return; // One host, one clock: skewed nodes cannot share a file.
    }
    let Some(clocks) = ["+0s", "+180s", "-3600s"].map(faketime).into_iter().collect::<Option<Vec<_>>>() else { return };
    let hook = Hook::start(|_| {
        wait(Duration::from_millis(100));
        200
    });
    // Of clocks alone: on a busy machine a call may outlast a period, and a due time would be skipped for it.
    let rest = scheduled(&hook, "one", "every = \"1s\"\noverlap = \"allow\"")
        + &scheduled(&hook, "cron", "cron = \"*/2 * * * * *\"\noverlap = \"allow\"");
    let nodes = clocks.iter().enumerate().map(|(n, clock)| {
        let of_node = format!("name = \"n{n}\"\nlease = \"3s\"");
        Node::start_with(&config(database, &of_node, &rest), |command| {
            command.envs(clock.iter().map(|(name, value)| (*name, value.as_str())));
        })
    });
    let nodes: Vec<_> = nodes.collect();
    let mut nodes: Vec<_> = nodes.into_iter().map(Node::wait_ready).collect();
    let first = until_led(&nodes[0]);
    let began = Instant::now();
    until_fired(database, "one", numbers(8, 60));
    for node in &nodes {
        assert_eq!(leader(node).as_ref(), Some(&first), "the leader is the same for {:?}", began.elapsed());
    }
    stop(&mut nodes);
    let one = items(database, "one");
    // `late` fails where something fires before its time.
    assert_fired(&one, SECOND, SECOND);
    let cron = items(database, "cron");
    assert_unbroken(&cron, 2 * SECOND);
    assert!(cron.iter().all(|item| item.fired() && item.due % 2_000_000 == 0), "{}", listed(&cron));
    for schedule in ["one", "cron"] {
        assert_called_once(database, &hook, schedule);
    }
    assert_eq!(database.number("SELECT count(*) FROM soloist_attempts WHERE outcome = 'lost'"), 0);
    assert_eq!(database.number("SELECT count(*) FROM soloist_nodes"), 3, "no node lost its lease");
}
