//! `rate`: starts over all nodes, spread evenly.

use std::sync::Mutex;
use std::time::Duration;

use house::{TestDatabase, numbers, on_every_backend};
use soloist::model::Rate;
use soloist::store::claim::{self, STEP, Starts};
use soloist::store::server::Strategy;

use super::ground::{declare, done, end, fill, left, node, open, take, task};

fn of(starts: i64) -> Rate {
    Rate { starts, span: 1_000_000 }
}

/// How long until the task is worth another look.
fn wait(connection: &mut soloist::store::Connection, next_in: Option<i64>) -> Duration {
    let next = next_in.or_else(|| claim::due(connection, &["t"]).unwrap().pop().and_then(|due| due.starts_in));
    Duration::from_micros(next.unwrap_or(1000).max(STEP).unsigned_abs())
}

/// 100 entries at 10 a second take 9 to 11 s, on however many nodes; in a quick run fewer, faster.
fn starts_are_spread_evenly(database: &TestDatabase) {
    let store = open(database);
    let (rate, entries) = numbers((of(40), 60), (of(10), 100));
    let limited = task(|task| task.rate = Some(rate));
    let mut connection = store.work().unwrap();
    node(&mut connection, "first", &limited, Strategy::SkipLocked);
    fill(database, entries);
    let started = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for name in ["a", "b", "c"] {
            let (store, limited, started) = (&store, &limited, &started);
            scope.spawn(move || {
                let mut connection = store.work().unwrap();
                let claimant = node(&mut connection, name, limited, Strategy::SkipLocked);
                while started.lock().unwrap().len() < entries {
                    let claimed = take(&mut connection, &claimant, 50);
                    started.lock().unwrap().extend(claimed.entries.iter().map(|entry| entry.started_at));
                    end(&mut connection, &claimant, &claimed.entries, done);
                    std::thread::sleep(wait(&mut connection, claimed.next_in));
                }
            });
        }
    });
    let mut started = started.into_inner().unwrap();
    assert_eq!((started.len(), left(database)), (entries, 0));
    started.sort_unstable();
    let span = started[entries - 1] - started[0];
    let ideal = rate.span_of(entries);
    println!("{entries} starts at {rate} took {} ms of {} ms", span / 1000, ideal / 1000);
    assert!(span * 10 >= ideal * 9, "{span} µs are too short");
    assert!(span * 10 <= ideal * if house::full() { 11 } else { 20 }, "{span} µs are too long");
    // What a tenth of a second allows, and one more: never more at once.
    let at_once = rate.room(None, 0);
    for (place, from) in started.iter().enumerate() {
        let within = started[place..].iter().take_while(|at| **at - from <= 2000).count();
        assert!(within <= at_once, "{within} started at once");
    }
}

/// Each attempt is a start.
fn retries_count(database: &TestDatabase) {
    let store = open(database);
    let mut connection = store.work().unwrap();
    let claimant = node(&mut connection, "n", &task(|task| task.rate = Some(of(10))), Strategy::SkipLocked);
    fill(database, 1);
    let mut started = Vec::new();
    for _ in 0..6 {
        let entries = house::until_some(Duration::from_secs(20), "the next attempt", || {
            Some(take(&mut connection, &claimant, 5).entries).filter(|entries| !entries.is_empty())
        });
        started.push(entries[0].started_at);
        end(&mut connection, &claimant, &entries, |_| soloist::store::settle::Verdict::Retry {
            after: Duration::ZERO,
            error: "no".to_owned(),
            output: None,
            outcome: "failed",
        });
    }
    let span = started[5] - started[0];
    assert!(span >= 390_000, "six attempts in {span} µs");
}

/// While the rate allows nothing nothing is due, and it is said when something will be.
fn a_look_says_when_the_next_may_start(database: &TestDatabase) {
    let store = open(database);
    let mut connection = store.work().unwrap();
    let limited = task(|task| task.rate = Some(Rate { starts: 1, span: 3_600_000_000 }));
    let claimant = node(&mut connection, "n", &limited, Strategy::SkipLocked);
    fill(database, 3);
    let claimed = take(&mut connection, &claimant, 3);
    assert_eq!(claimed.entries.len(), 1);
    assert!(claimed.next_in.is_some_and(|wait| wait > 3_500_000_000), "{:?}", claimed.next_in);
    let due = claim::due(&mut connection, &["t"]).unwrap().pop().unwrap();
    assert!(due.priorities.is_empty() && due.starts_in.is_some_and(|wait| wait > 3_500_000_000));
    assert!(due.next_in.is_some_and(|wait| wait > 3_500_000_000));
    // Another rate starts anew; so does a clock that was set back by a day.
    declare(&mut connection, claimant.node_id, &task(|task| task.rate = Some(of(10))), None);
    assert_eq!(take(&mut connection, &claimant, 1).entries.len(), 1);
    database.sql("UPDATE soloist_tasks SET next_start_at = next_start_at + 86400000000");
    house::until(Duration::from_secs(20), "the next starts", || {
        !take(&mut connection, &claimant, 1).entries.is_empty()
    });
}

/// A long transaction takes its starts before, and gives back what it did not need.
fn starts_are_taken_and_given_back(database: &TestDatabase) {
    let store = open(database);
    let mut connection = store.work().unwrap();
    node(&mut connection, "n", &task(|task| task.rate = Some(of(10))), Strategy::SkipLocked);
    let starts = Starts::take(&mut connection, "t", 100).unwrap();
    assert_eq!(starts.most, 2);
    assert!(starts.next_in.is_some_and(|wait| wait > 0 && wait <= 100_000), "{:?}", starts.next_in);
    starts.give_back(&mut connection, "t", 2).unwrap();
    let again = Starts::take(&mut connection, "t", 1).unwrap();
    assert_eq!((again.most, again.next_in), (1, None));
    again.give_back(&mut connection, "t", 0).unwrap();
}

on_every_backend!(
    starts_are_spread_evenly,
    retries_count,
    a_look_says_when_the_next_may_start,
    starts_are_taken_and_given_back,
);
