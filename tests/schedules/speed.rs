//! How late firings are, and how many a second there may be.

use std::time::Duration;

use house::{Hook, Node, TestDatabase, numbers, on_every_backend, until};

use crate::cluster::{config, instant, schedule, scheduled};
use crate::ledger::{Item, SOON, assert_fired, assert_unbroken, items, listed, median, micros, until_fired};
use crate::setting::{clock, migrate, stop};

on_every_backend!(a_firing_is_hardly_late, many_schedules_are_hardly_late, hundreds_fire_in_a_second);

const HARDLY: Duration = Duration::from_millis(20);

fn a_firing_is_hardly_late(database: &TestDatabase) {
    let hook = Hook::start(|_| 200);
    let every = Duration::from_millis(250);
    let node = Node::start(&config(database, "", &scheduled(&hook, "quarter", "every = \"250ms\""))).wait_ready();
    until_fired(database, "quarter", numbers(20, 200));
    stop(&mut [node]);
    let items = items(database, "quarter");
    assert_fired(&items, every, Duration::from_secs(1));
    let late = median(items.iter().map(Item::late).collect());
    println!("median {late:?} late");
    assert!(late < HARDLY, "the median is {late:?}: {}", listed(&items));
}

/// The schedules of one node, as many as there are, each due at an instant of its own.
fn many_schedules_are_hardly_late(database: &TestDatabase) {
    let count = numbers(1000, 10_000);
    let round = 10_000_000;
    migrate(database);
    let first = clock(database) + numbers(5_000_000, 30_000_000);
    let start = |n: i64| instant(first + n * round / count);
    let lines = |n| format!("every = \"10s\"\noverlap = \"allow\"\nstart = \"{}\"", start(n));
    let all: String = (0..count).map(|n| schedule(&format!("s{n}"), "free", &lines(n))).collect();
    let node = Node::start(&config(database, "", &format!("[tasks.free]\npull = true\n{all}"))).wait_ready();
    until(SOON, "all are in force", || database.number("SELECT count(*) FROM soloist_schedules") == count);
    let left = first - clock(database);
    println!("in force {} ms before the first is due", left / 1000);
    let rounds = numbers(1, 6);
    let end = first + rounds * round;
    until(SOON + micros(end - clock(database)), "all have fired", || clock(database) > end + 1_000_000);
    stop(&mut [node]);
    let late = database.query(&format!(
        "SELECT decided_at - scheduled_for FROM soloist_firings WHERE outcome = 'fired' AND scheduled_for < {end}"
    ));
    let late: Vec<_> = late.into_iter().flatten().flatten().map(|late| micros(late.parse().unwrap())).collect();
    assert_eq!(i64::try_from(late.len()).unwrap(), rounds * count, "each fired in each round");
    let most = late.iter().max().unwrap();
    println!("{} firings, the latest {most:?}", late.len());
    let middle = median(late);
    println!("median {middle:?} late");
    assert!(left > 0 && middle < HARDLY, "the median is {middle:?}");
}

fn hundreds_fire_in_a_second(database: &TestDatabase) {
    let count = 50;
    let lines = "every = \"100ms\"\noverlap = \"allow\"";
    let all: String = (0..count).map(|n| schedule(&format!("s{n}"), "free", lines)).collect();
    let node = Node::start(&config(database, "", &format!("[tasks.free]\npull = true\n{all}"))).wait_ready();
    until_fired(database, "s0", numbers(40, 400));
    stop(&mut [node]);
    let mut late = Vec::new();
    for n in 0..count {
        let items = items(database, &format!("s{n}"));
        assert_unbroken(&items, Duration::from_millis(100));
        assert!(items.iter().all(Item::fired) && items.len() >= numbers(39, 399), "{}", listed(&items));
        late.extend(items.iter().map(Item::late));
    }
    let (count, most) = (late.len(), late.iter().max().unwrap().to_owned());
    let late = median(late);
    println!("{count} firings, median {late:?} late, the latest {most:?}");
    assert!(late < 5 * HARDLY, "the median is {late:?}");
}
