//! Where nodes differ, the one that started or re-read last speaks, as long as it lives.

use std::time::Duration;

use house::{TestDatabase, on_every_backend};
use soloist::config::Dedupe;
use soloist::model::Rate;
use soloist::store::entries::{self, Waits};
use soloist::store::server::Strategy;
use soloist::store::{nodes, rescue, tasks};

use super::ground::{declare, fill_keys, node, open, take, task};

fn the_last_to_declare_speaks_while_it_lives(database: &TestDatabase) {
    let store = open(database);
    let mut connection = store.work().unwrap();
    let most = |most| task(|task| task.max_running = most);
    let in_force = |connection: &mut _| tasks::get(connection, "t").unwrap().unwrap().limits.max_running;
    let first = node(&mut connection, "first", &most(3), Strategy::SkipLocked);
    assert_eq!(in_force(&mut connection), 3);
    let second = node(&mut connection, "second", &most(5), Strategy::SkipLocked);
    assert_eq!(in_force(&mut connection), 5);
    // It comes back after its lease had ended, under a new id, with what it read long ago.
    let again = nodes::register(&mut connection, "first", &[], Duration::from_secs(60)).unwrap();
    declare(&mut connection, again, &most(3), Some(1));
    assert_eq!(in_force(&mut connection), 5);
    declare(&mut connection, first.node_id, &most(4), None);
    assert_eq!(in_force(&mut connection), 4, "it has read its file again");
    nodes::stop(&mut connection, first.node_id).unwrap();
    assert_eq!(in_force(&mut connection), 5);
    database.sql(&format!("UPDATE soloist_nodes SET lease_until = 1 WHERE id = {}", second.node_id));
    rescue::of_ended_nodes(&mut connection).unwrap();
    assert_eq!(in_force(&mut connection), 3);
    nodes::stop(&mut connection, again).unwrap();
    database.sql("INSERT INTO soloist_entries (task) VALUES ('t')");
    assert_eq!(in_force(&mut connection), 3, "nobody says anything else");
}

/// Two that declare at the same moment: what is in force is what the newer declaration says.
fn at_once(database: &TestDatabase) {
    let store = open(database);
    for round in 0..10 {
        std::thread::scope(|scope| {
            for n in 1..=4 {
                let store = &store;
                scope.spawn(move || {
                    let mut connection = store.work().unwrap();
                    node(&mut connection, &format!("n{n}"), &task(|task| task.max_running = n), Strategy::SkipLocked);
                });
            }
        });
        let mut connection = store.work().unwrap();
        let newest = "SELECT n.name FROM soloist_declarations d JOIN soloist_nodes n ON n.id = d.node_id \
                      WHERE d.kind = 'task' ORDER BY d.declared_at DESC, d.node_id DESC LIMIT 1";
        let in_force = tasks::get(&mut connection, "t").unwrap().unwrap().limits.max_running;
        assert_eq!(database.value(newest).unwrap(), format!("n{in_force}"), "round {round}");
    }
}

fn limits_are_shown_as_they_are_written(database: &TestDatabase) {
    let store = open(database);
    let mut connection = store.work().unwrap();
    let limited = task(|task| {
        task.max_running = 4;
        task.rate = Some(Rate { starts: 30, span: 60_000_000 });
        task.serial = true;
    });
    node(&mut connection, "n", &limited, Strategy::SkipLocked);
    let shown = serde_json::to_value(tasks::get(&mut connection, "t").unwrap()).unwrap();
    assert_eq!(
        (&shown["max_running"], &shown["rate"], &shown["serial_by"]),
        (&4.into(), &"30/m".into(), &"key".into())
    );
    node(&mut connection, "m", &task(|_| {}), Strategy::SkipLocked);
    let shown = serde_json::to_value(tasks::get(&mut connection, "t").unwrap()).unwrap();
    assert_eq!((&shown["max_running"], shown["rate"].is_null(), shown["serial_by"].is_null()), (&0.into(), true, true));
}

/// Of a due entry it is said which limit is in its way.
fn what_waits_says_for_which_limit(database: &TestDatabase) {
    let store = open(database);
    let mut connection = store.work().unwrap();
    let both = task(|task| {
        task.max_running = 2;
        task.serial = true;
        task.dedupe = Dedupe::None;
    });
    let claimant = node(&mut connection, "n", &both, Strategy::SkipLocked);
    fill_keys(database, ["a", "a", "b", "b", "c"]);
    let page = entries::list(&mut connection, &entries::Filter::default(), 9, None).unwrap();
    let mut ids: Vec<i64> = page.items.iter().map(|entry| entry.id).collect();
    ids.sort_unstable();
    let mut other = store.work().unwrap();
    let mut waits = |id| {
        let entry = entries::get(&mut other, id).unwrap().unwrap();
        let task = tasks::get(&mut other, "t").unwrap().unwrap();
        let now = nodes::clock(&mut other).unwrap();
        entries::waits(&mut other, &entry, &task, now).unwrap()
    };
    assert_eq!((waits(ids[0]), waits(ids[1])), (None, Some(Waits::ForEntry(ids[0]))));
    assert_eq!(take(&mut connection, &claimant, 9).entries.len(), 2);
    assert_eq!(waits(ids[3]), Some(Waits::ForEntry(ids[2])));
    assert_eq!(waits(ids[4]), Some(Waits::ForRuns { most: 2, running: vec![ids[0], ids[2]] }));
    let rate = Rate { starts: 1, span: 60_000_000 };
    declare(&mut connection, claimant.node_id, &task(|task| task.rate = Some(rate)), None);
    assert_eq!(take(&mut connection, &claimant, 1).entries[0].id, ids[1]);
    let Some(Waits::ForRate { wait, .. }) = waits(ids[4]) else { panic!("{:?}", waits(ids[4])) };
    assert!((100_000_000..=120_000_000).contains(&wait), "one has just started, and one is before it: {wait}");
}

on_every_backend!(
    the_last_to_declare_speaks_while_it_lives,
    at_once,
    limits_are_shown_as_they_are_written,
    what_waits_says_for_which_limit,
);
