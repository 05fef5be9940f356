//! What is late fires, what was missed goes by its policy, what has fired never fires again, and an interval's phase
//! outlives every restart.

use std::time::{Duration, Instant};

use house::{Hook, Node, Signal, TestDatabase, numbers, on_every_backend, until, until_some};

use crate::cluster::{config, instant, schedule, scheduled, start, task, wait};
use crate::ledger::{
    Item, SOON, assert_called_once, assert_paired, assert_unbroken, calls, items, listed, next_fire_at, until_fired,
};
use crate::setting::{clock, pause, stop};

on_every_backend!(
    phase_and_moments_outlive_restarts,
    two_nodes_fire_a_moment_once,
    what_is_late_fires_and_leaves_no_hole,
    what_was_missed_goes_by_its_policy,
);

/// Rows 6, 11a and 11b, over the same restarts.
fn phase_and_moments_outlive_restarts(database: &TestDatabase) {
    let hook = Hook::start(|_| 200);
    crate::setting::migrate(database);
    let past = instant(clock(database) - 10_000_000);
    let rest = scheduled(&hook, "six", "every = \"6s\"")
        + &scheduled(&hook, "past", &format!("at = \"{past}\""))
        + &scheduled(&hook, "old", "at = \"2020-01-01T00:00:00Z\"\nmisfire_grace = \"1d\"");
    let config = config(database, "name = \"only\"\nlease = \"3s\"", &rest);
    let began = Instant::now();
    let mut node = Node::start(&config).wait_ready();
    let first = until_some(SOON, "the interval is in force", || next_fire_at(database, "six"));
    let start_up = began.elapsed();
    for restart in 0..3 {
        wait(Duration::from_secs(1));
        if restart == 1 {
            node.signal(Signal::KILL); // as little of a reason to begin anew as a stop
            node.wait_exit(SOON);
        } else {
            stop(std::slice::from_mut(&mut node));
        }
        node = Node::start(&config).wait_ready();
        let next = next_fire_at(database, "six").unwrap();
        assert!([first, first + 6_000_000].contains(&next), "{next} after {restart} restarts, {first} before");
    }
    until(SOON, "the interval fires", || !calls(&hook, "six").is_empty());
    let took = began.elapsed();
    assert!(took < Duration::from_secs(7) + start_up, "the first call came after {took:?}, start-up {start_up:?}");
    stop(&mut [node]);
    assert_eq!(calls(&hook, "six")[0], first);

    let moments = items(database, "past");
    assert!(moments.len() == 1 && moments[0].fired(), "{}", listed(&moments));
    assert_eq!(calls(&hook, "past").len(), 1);
    let moments = items(database, "old");
    assert!(moments.len() == 1 && moments[0].outcome == "missed", "{}", listed(&moments));
    assert_eq!(instant(moments[0].due), "2020-01-01T00:00:00Z");
    assert!(moments[0].reason.contains("misfire_grace"), "{}", moments[0].reason);
    assert_eq!(calls(&hook, "old").len(), 0);
    assert_paired(database);
}

/// Row 11c.
fn two_nodes_fire_a_moment_once(database: &TestDatabase) {
    let hook = Hook::start(|_| 200);
    crate::setting::migrate(database);
    let at = clock(database) + 3_000_000;
    let rest = scheduled(&hook, "moment", &format!("at = \"{}\"", instant(at)))
        // Goes on after it, to be waited for.
        + &scheduled(&hook, "half", "every = \"500ms\"");
    let mut nodes = start(database, 2, "", &rest);
    until(SOON, "the moment fires", || !calls(&hook, "moment").is_empty());
    let more = items(database, "half").len() + 4;
    until_fired(database, "half", more);
    stop(&mut nodes);
    let moments = items(database, "moment");
    assert!(moments.len() == 1 && moments[0].due == at && moments[0].fired(), "{}", listed(&moments));
    assert_called_once(database, &hook, "moment");
    assert_eq!(next_fire_at(database, "moment"), None);
}

/// Row 8.
fn what_is_late_fires_and_leaves_no_hole(database: &TestDatabase) {
    let hook = Hook::start(|_| 200);
    crate::setting::migrate(database);
    let due = clock(database) + 3_000_000;
    let start = format!("start = \"{}\"\n", instant(due));
    let rest = scheduled(&hook, "ten", &format!("every = \"10s\"\n{start}"))
        + &scheduled(&hook, "one", "every = \"1s\"")
        + &task(&hook, "all")
        + &schedule("all", "all", "every = \"1s\"\noverlap = \"allow\"");
    let node = Node::start(&config(database, "", &rest)).wait_ready();
    until(SOON, "a second before it is due", || clock(database) > due - 1_000_000);
    pause(database, &node);
    assert!(clock(database) < due);
    until(SOON, "five seconds after it was due", || clock(database) > due + 5_000_000);
    node.signal(Signal::CONT);
    let woken = Instant::now();
    until(SOON, "it fires", || !calls(&hook, "ten").is_empty());
    let took = woken.elapsed();
    assert!(took < Duration::from_secs(2), "it was called {took:?} after it woke");
    let more = items(database, "all").len() + 2;
    until_fired(database, "all", more);
    stop(&mut [node]);
    let ten = items(database, "ten");
    assert!(ten.len() == 1 && ten[0].due == due && ten[0].fired(), "{}", listed(&ten));
    assert!(ten[0].late() > Duration::from_secs(5), "{}", listed(&ten));
    let one = items(database, "one");
    assert_unbroken(&one, Duration::from_secs(1));
    assert!(one.iter().all(|item| item.outcome != "missed"), "late is not missed: {}", listed(&one));
    let all = items(database, "all");
    assert_unbroken(&all, Duration::from_secs(1));
    assert!(all.iter().all(Item::fired), "what may overlap fires, however late: {}", listed(&all));
    for schedule in ["ten", "one", "all"] {
        assert_called_once(database, &hook, schedule);
    }
}

const EVERY: Duration = Duration::from_millis(100);

/// Row 9.
fn what_was_missed_goes_by_its_policy(database: &TestDatabase) {
    let down = Duration::from_secs(numbers(4, 30));
    let policies = ["once", "skip", "all"];
    let hook = Hook::start(|_| 200);
    let of = |policy: &&str| scheduled(&hook, policy, &format!("every = \"100ms\"\nmisfire = \"{policy}\""));
    let rest = policies.iter().map(of).collect::<String>() + "[tasks.free]\npull = true\n"
        // Nobody works it: nothing is in the way of its ordinary firings, either.
        + &schedule("free", "free", "every = \"100ms\"\nmisfire = \"all\"\noverlap = \"allow\"");
    let config = config(database, "name = \"only\"\nlease = \"2s\"", &rest);
    let mut node = Node::start(&config).wait_ready();
    for policy in policies {
        until_fired(database, policy, 5);
    }
    node.signal(Signal::KILL);
    node.wait_exit(SOON);
    wait(down);
    let mut node = Node::start(&config).wait_ready();
    let ready = clock(database);
    let since = database.number("SELECT MAX(started_at) FROM soloist_nodes");
    for policy in policies {
        let ordinary = format!(
            "SELECT count(*) FROM soloist_firings WHERE schedule = '{policy}' AND outcome = 'fired' \
             AND scheduled_for >= {since}"
        );
        until(SOON, "ordinary firings go on", || database.number(&ordinary) >= 5);
    }
    stop(std::slice::from_mut(&mut node));
    for policy in policies.into_iter().chain(["free"]) {
        let items = items(database, policy);
        assert_unbroken(&items, EVERY);
        let before = items.iter().rposition(|item| item.decided < since).unwrap();
        let missed: Vec<_> = items[before + 1..].iter().filter(|item| item.due < since).collect();
        let count: i64 = missed.iter().map(|item| item.count).sum();
        assert!(count >= i64::try_from(down.as_millis() / 100).unwrap(), "{policy}: {count} were missed");
        let made_up: Vec<_> = missed.iter().filter(|item| item.fired()).collect();
        match policy {
            "once" => {
                assert_eq!(made_up.len(), 1, "{}", listed(&items));
                assert_eq!(made_up[0].due, missed.last().unwrap().due, "the newest");
            }
            "skip" => assert!(made_up.is_empty(), "{}", listed(&items)),
            _ => assert_eq!(i64::try_from(made_up.len()).unwrap(), count, "{}", listed(&items)),
        }
        assert!(missed.iter().all(|item| item.fired() || item.outcome == "missed"), "{}", listed(&items));
        let resumed = items.iter().find(|item| item.fired() && item.due >= since).unwrap();
        println!("{policy}: {count} missed, ordinary {} ms after ready", (resumed.decided - ready) / 1000);
        assert!(resumed.decided <= ready + 1_000_000, "{policy} went on late: {}", listed(&items));
        if policy != "free" {
            assert_called_once(database, &hook, policy);
        }
    }
    assert_paired(database);
}
