//! What nodes declare: read again without doubling a timer, dropped and taken up again, different on two nodes.

use std::time::{Duration, Instant};

use house::{Hook, Node, Signal, TestDatabase, numbers, on_every_backend, until};
use soloist::config::schedule::{Schedule, Trigger};
use soloist::model::By;
use soloist::store::schedules;

use crate::cluster::{config, open, schedule, scheduled, task, wait};
use crate::ledger::{
    Item, SOON, assert_called_once, assert_fired, assert_paired, assert_unbroken, calls, items, listed, next_fire_at,
    until_fired,
};
use crate::setting::{Gate, clock, stop};

on_every_backend!(
    changes_replace_a_timer_and_never_add_one,
    a_schedule_that_is_dropped_stops_and_comes_back_in_phase,
    the_node_that_declared_last_speaks,
);

const SECOND: Duration = Duration::from_secs(1);

fn reload(node: &Node) {
    let read = || node.log().matches("was read again").count();
    let before = read();
    node.signal(Signal::HUP);
    until(SOON, "the configuration is read again", || read() > before);
}

/// Row 5.
fn changes_replace_a_timer_and_never_add_one(database: &TestDatabase) {
    let gate = Gate::default();
    let hook = {
        let gate = gate.clone();
        Hook::start(move |call| {
            if call.path == "/blocked" {
                gate.pass();
            }
            200
        })
    };
    let rest = scheduled(&hook, "declared", "every = \"1s\"") + &task(&hook, "made");
    let node = Node::start(&config(database, "", &rest)).wait_ready();
    until_fired(database, "declared", 1);
    let mut connection = open(database);
    let made = Schedule::new("made", "made", Trigger::Every(SECOND));
    schedules::create(&mut connection, made, &By::api("admin", "admin")).unwrap();
    until_fired(database, "made", 1);
    for _ in 0..5 {
        reload(&node);
        let changed = schedules::change(&mut connection, "made", &By::cli("cli"), Ok::<_, soloist::Error>).unwrap();
        assert!(changed.next_fire_at.is_some());
        wait(Duration::from_millis(numbers(700, 1900)));
    }
    // Changed for good, and back: its grid is the same as before.
    for every in [2, 1] {
        let change =
            |schedule| Ok::<_, soloist::Error>(Schedule { trigger: Trigger::Every(every * SECOND), ..schedule });
        schedules::change(&mut connection, "made", &By::cli("cli"), change).unwrap();
    }
    // Then the hook blocks, by another path: what was skipped meanwhile never comes.
    let blocked = scheduled(&hook, "declared", "every = \"1s\"").replace("/declared", "/blocked");
    node.rewrite_config(&config(database, "", &(blocked + &task(&hook, "made"))));
    reload(&node);
    until(SOON, "the hook is blocked", || !calls(&hook, "blocked").is_empty());
    let fired = items(database, "made").iter().filter(|item| item.fired()).count();
    until_fired(database, "made", fired + numbers(3, 5));
    assert_eq!(calls(&hook, "blocked").len(), 1);
    gate.open();
    let opened = clock(database);
    let fired = items(database, "made").iter().filter(|item| item.fired()).count();
    until_fired(database, "made", fired + 2);
    stop(&mut [node]);

    let made = items(database, "made");
    assert_fired(&made, SECOND, SECOND);
    assert_called_once(database, &hook, "made");
    let declared = items(database, "declared");
    assert_unbroken(&declared, SECOND);
    let after: Vec<_> = declared.iter().filter(|item| item.fired() && item.decided > opened).collect();
    assert!(!after.is_empty() && after.iter().all(|item| item.due > opened - 1_000_000), "{}", listed(&declared));
    assert!(after.windows(2).all(|pair| pair[1].due - pair[0].due == 1_000_000), "no burst: {}", listed(&declared));
    let skipped: Vec<_> = declared.iter().filter(|item| !item.fired()).collect();
    assert!(skipped.iter().all(|item| item.outcome == "skipped" && item.until < opened), "{}", listed(&declared));
    assert_paired(database);
}

fn a_schedule_that_is_dropped_stops_and_comes_back_in_phase(database: &TestDatabase) {
    let hook = Hook::start(|_| 200);
    let stays = scheduled(&hook, "stays", "every = \"500ms\"");
    let both = stays.clone() + &scheduled(&hook, "goes", "every = \"1s\"");
    let node = Node::start(&config(database, "", &both)).wait_ready();
    until_fired(database, "goes", 2);
    let declared = "SELECT declared FROM soloist_schedules WHERE name = 'goes'";
    assert_eq!(database.number(declared), 1);
    let mut connection = open(database);
    schedules::pause(&mut connection, "stays", &By::cli("cli"), None).unwrap();

    node.rewrite_config(&config(database, "", &stays));
    reload(&node);
    until(SOON, "it has stopped", || database.number(declared) == 0);
    let stopped = clock(database);
    let next = next_fire_at(database, "goes");
    assert_eq!(schedules::get(&mut connection, "goes").unwrap().next_fire_at, None);
    schedules::resume(&mut connection, "stays", &By::cli("cli")).unwrap();
    let fired = items(database, "stays").iter().filter(|item| item.fired()).count();
    until_fired(database, "stays", fired + 5);
    assert_eq!(next_fire_at(database, "goes"), next, "its phase is kept");
    let last = items(database, "goes").pop().unwrap();
    assert!(last.decided < stopped, "it fired {} ms after it had stopped", (last.decided - stopped) / 1000);

    node.rewrite_config(&config(database, "", &both));
    reload(&node);
    let back = clock(database);
    let newer = format!("SELECT count(*) FROM soloist_firings WHERE schedule = 'goes' AND scheduled_for > {back}");
    until(SOON, "it fires again", || database.number(&newer) >= 2);
    stop(&mut [node]);
    let all = items(database, "goes");
    // Each due time has a record, those of the time when it was gone too.
    assert_unbroken(&all, SECOND);
    let ordinary = all.iter().filter(|item| item.due > back);
    assert!(ordinary.clone().all(Item::fired), "{}", listed(&all));
    assert_called_once(database, &hook, "goes");
}

/// Where nodes differ, the one that started or re-read last speaks; when it dies the other's definition is in force.
fn the_node_that_declared_last_speaks(database: &TestDatabase) {
    let hook = Hook::start(|_| 200);
    let of = |name: &str| {
        let rest =
            task(&hook, "s") + &schedule("s", "s", &format!("every = \"500ms\"\npayload = {{ by = \"{name}\" }}"));
        config(database, &format!("name = \"{name}\"\nlease = \"2s\""), &rest)
    };
    let spoken = || hook.received().last().map(|call| call.json()["payload"]["by"].as_str().unwrap().to_owned());
    let speaks = |name: &str, within: Duration| {
        let since = Instant::now();
        until(SOON, &format!("{name} speaks"), || spoken().as_deref() == Some(name));
        let took = since.elapsed();
        assert!(took < within, "{name} spoke after {took:?}");
        // And goes on to.
        let count = hook.count();
        until(SOON, "two more calls", || hook.count() >= count + 2);
        assert_eq!(spoken().as_deref(), Some(name));
    };
    let old = Node::start(&of("old")).wait_ready();
    speaks("old", SOON);
    let new = Node::start(&of("new")).wait_ready();
    speaks("new", 3 * SECOND);
    new.signal(Signal::KILL);
    // Its lease, a look, the next due time, and a moment.
    speaks("old", 5 * SECOND);
    drop(new);
    let new = Node::start(&of("new")).wait_ready();
    speaks("new", 3 * SECOND);
    reload(&old);
    speaks("old", 3 * SECOND);
    // A change of nothing but words moves no due time.
    stop(&mut [old, new]);
    let all = items(database, "s");
    assert_unbroken(&all, Duration::from_millis(500));
    assert_called_once(database, &hook, "s");
    assert_paired(database);
}
