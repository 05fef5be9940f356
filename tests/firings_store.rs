//! What one firing pass does to the tables, on every backend: each due time once, and none held up by another.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "firings_store/changes.rs"]
mod changes;

use std::time::Duration;

use house::{TestDatabase, on_every_backend, until_some};
use soloist::config::schedule::{Definition, Overlap, Schedule, Trigger};
use soloist::config::{Database, DatabaseUrl};
use soloist::model::By;
use soloist::store::firings::{self, Pass};
use soloist::store::{Store, entries, migrate};

on_every_backend!(
    many_nodes_fire_each_due_time_once,
    a_due_time_that_is_recorded_does_not_fire_again,
    one_that_the_database_refuses_holds_up_no_other,
    what_became_of_the_work_outlives_its_entry,
    a_run_of_unfired_due_times_is_one_record,
    one_that_this_version_cannot_read_is_left_to_others,
    what_waits_for_long_is_looked_at_less_often,
);

fn store(database: &TestDatabase) -> Store {
    let settings =
        Database { url: DatabaseUrl::parse(&database.url()).unwrap(), connections: 4, ..Database::default() };
    let store = Store::new(&settings, Duration::from_secs(15), 1);
    migrate::up(&mut store.work().unwrap()).unwrap();
    store
}

fn leader() -> Pass {
    Pass { node: "test".into(), lease: Duration::from_secs(15), overdue: Duration::ZERO, leave: Vec::new() }
}

/// Schedules that are due since half a second and then every hour.
fn put(database: &TestDatabase, store: &Store, names: &[&str], task: &str, overlap: Overlap) {
    let now = soloist::store::nodes::clock(&mut store.work().unwrap()).unwrap();
    let due = now - 500_000;
    let row = |name: &&str| {
        let mut schedule = Schedule::new(*name, task, Trigger::Every(Duration::from_hours(1)));
        schedule.overlap = overlap;
        let definition = Definition::from(&schedule).to_json();
        format!("('{name}', 't', '{definition}', 'cli', {due}, {due}, {due}, {now})")
    };
    let columns = "name, task, definition, origin, anchor, look_at, next_fire_at, changed_at";
    let rows = names.iter().map(row).collect::<Vec<_>>().join(", ");
    database.sql(&format!("INSERT INTO soloist_schedules ({columns}) VALUES {rows}"));
}

fn make_due_again(database: &TestDatabase) {
    database.sql("UPDATE soloist_schedules SET next_fire_at = next_fire_at - 3600000000, look_at = next_fire_at");
    // MySQL sets the columns one after the other, the others all at once.
    database.sql("UPDATE soloist_schedules SET look_at = next_fire_at");
}

fn many_nodes_fire_each_due_time_once(database: &TestDatabase) {
    let store = store(database);
    let names: Vec<_> = (0..700).map(|number| format!("s{number}")).collect();
    put(database, &store, &names.iter().map(String::as_str).collect::<Vec<_>>(), "t", Overlap::Skip);
    let nodes: Vec<_> = (0..4)
        .map(|_| {
            let store = store.clone();
            std::thread::spawn(move || {
                let mut fired = 0;
                loop {
                    // SQLite's writers take turns, the others may meet in a deadlock: both pass.
                    match firings::pass(&mut store.work().unwrap(), &leader()) {
                        Ok(passed) if passed.next_in > Some(Duration::from_mins(1)) => return fired + passed.fired,
                        Ok(passed) => fired += passed.fired,
                        Err(error) => assert!(error.is_transient(), "{error}"),
                    }
                }
            })
        })
        .collect();
    let fired: usize = nodes.into_iter().map(|node| node.join().unwrap()).sum();
    assert_eq!(fired, 700);
    assert_eq!(database.number("SELECT count(*) FROM soloist_firings WHERE outcome = 'fired'"), 700);
    assert_eq!(database.number("SELECT count(*) FROM soloist_entries"), 700);
    let apart = "SELECT count(*) FROM soloist_firings f JOIN soloist_entries e ON e.id = f.entry_id \
                 AND e.schedule = f.schedule AND e.scheduled_for = f.scheduled_for";
    assert_eq!(database.number(apart), 700, "each firing names the entry that it made");
}

fn a_due_time_that_is_recorded_does_not_fire_again(database: &TestDatabase) {
    let store = store(database);
    put(database, &store, &["s"], "t", Overlap::Allow);
    assert_eq!(firings::pass(&mut store.work().unwrap(), &leader()).unwrap().fired, 1);
    make_due_again(database);
    assert_eq!(firings::pass(&mut store.work().unwrap(), &leader()).unwrap().fired, 0);
    assert_eq!(database.number("SELECT count(*) FROM soloist_entries"), 1);
}

fn one_that_the_database_refuses_holds_up_no_other(database: &TestDatabase) {
    let store = store(database);
    put(database, &store, &["a"], "t", Overlap::Skip);
    // No entry can be of a task with so long a name.
    put(database, &store, &["b"], &"x".repeat(101), Overlap::Skip);
    put(database, &store, &["c"], "t", Overlap::Skip);
    let passed = firings::pass(&mut store.work().unwrap(), &leader()).unwrap();
    assert_eq!(passed.fired, 2);
    let fired: Vec<_> = database.query("SELECT schedule FROM soloist_firings ORDER BY schedule");
    assert_eq!(fired.into_iter().flatten().flatten().collect::<Vec<_>>(), ["a", "c"]);
    assert!(passed.next_in.is_some_and(|next| next > Duration::from_secs(50)), "the other is tried in a minute");
}

fn what_became_of_the_work_outlives_its_entry(database: &TestDatabase) {
    let store = store(database);
    put(database, &store, &["s"], "t", Overlap::Skip);
    firings::pass(&mut store.work().unwrap(), &leader()).unwrap();
    database.sql("UPDATE soloist_entries SET state = 'failed', attempt = 3, finished_at = 77");
    let c = &mut store.work().unwrap();
    let shown = &firings::list(c, Some("s"), None, 10).unwrap()[0];
    assert_eq!((shown.result.as_deref(), shown.attempts, shown.ended_at), (Some("failed"), Some(3), Some(77)));
    let id = shown.entry_id.unwrap();
    entries::delete(c, id, &By::cli("cli")).unwrap();
    assert_eq!(database.number("SELECT count(*) FROM soloist_entries"), 0);
    let shown = &firings::list(c, None, None, 10).unwrap()[0];
    assert_eq!((shown.result.as_deref(), shown.attempts, shown.ended_at), (Some("failed"), Some(3), Some(77)));
}

fn a_run_of_unfired_due_times_is_one_record(database: &TestDatabase) {
    let store = store(database);
    put(database, &store, &["s"], "t", Overlap::Skip);
    database.sql("UPDATE soloist_schedules SET definition = REPLACE(definition, '1h', '100ms')");
    let c = &mut store.work().unwrap();
    let mut look = || {
        firings::pass(c, &leader()).unwrap();
        let list = firings::list(c, Some("s"), None, 10).unwrap();
        list.into_iter().filter(|item| item.outcome != "fired").collect::<Vec<_>>()
    };
    // The entry of the first is never worked, so that all that come after are left out.
    let first = until_some(Duration::from_secs(20), "due times are left out", || look().first().cloned());
    let longer = || Some(look()).filter(|left| left[0].count >= first.count.map(|count| count + 3));
    let left = until_some(Duration::from_secs(20), "later passes find further due times", longer);
    assert_eq!(left.len(), 1, "{left:?}");
    let (run, count) = (&left[0], left[0].count.unwrap());
    assert_eq!(run.until, Some(run.scheduled_for + (count - 1) * 100_000), "no hole, none twice");
    assert_eq!(database.number("SELECT count(*) FROM soloist_entries"), 1);
}

fn one_that_this_version_cannot_read_is_left_to_others(database: &TestDatabase) {
    let store = store(database);
    put(database, &store, &["newer", "old"], "t", Overlap::Skip);
    let newer = |newer| if newer { ("skip", "rather") } else { ("rather", "skip") };
    let rewrite = |(from, to): (&str, &str)| {
        let set = format!("definition = REPLACE(definition, '\"overlap\":\"{from}\"', '\"overlap\":\"{to}\"')");
        database.sql(&format!("UPDATE soloist_schedules SET {set} WHERE name = 'newer'"));
    };
    rewrite(newer(true));
    let c = &mut store.work().unwrap();
    let passed = firings::pass(c, &leader()).unwrap();
    assert_eq!((passed.fired, passed.unreadable.len()), (1, 1));
    assert_eq!((passed.unreadable[0].0.as_str(), passed.next_in), ("newer", Some(Duration::ZERO)));
    let leaves = Pass { leave: vec!["newer".into()], ..leader() };
    let passed = firings::pass(c, &leaves).unwrap();
    assert!(passed.unreadable.is_empty() && passed.next_in > Some(Duration::from_mins(50)), "{passed:?}");
    // A node that can read it need not wait.
    rewrite(newer(false));
    assert_eq!(firings::pass(c, &leader()).unwrap().fired, 1);
}

fn what_waits_for_long_is_looked_at_less_often(database: &TestDatabase) {
    let store = store(database);
    put(database, &store, &["s"], "t", Overlap::Queue);
    let c = &mut store.work().unwrap();
    firings::pass(c, &leader()).unwrap();
    let mut next_in = |waited: u64| {
        let set = format!("look_at = 1, queued_for = last_fired_at - {waited}000000");
        database.sql(&format!("UPDATE soloist_schedules SET {set}"));
        firings::pass(c, &leader()).unwrap().next_in.unwrap()
    };
    assert!(next_in(0) < Duration::from_millis(900));
    let ten = next_in(10);
    assert!(ten > Duration::from_millis(900) && ten < Duration::from_secs(2), "{ten:?}");
    assert!(next_in(3600) <= Duration::from_secs(2));
    database.sql("UPDATE soloist_entries SET state = 'completed', finished_at = 1");
    database.sql("UPDATE soloist_schedules SET look_at = 1");
    assert_eq!(firings::pass(c, &leader()).unwrap().fired, 1);
}
