//! `serial_by = "key"`: entries of one key one at a time, in the order in which they were accepted.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use house::{TestDatabase, numbers, on_every_backend, until};
use soloist::config::{Dedupe, Task};
use soloist::model::{By, Entry, NewEntry};
use soloist::store::claim::{self, Claimant};
use soloist::store::server::Strategy;
use soloist::store::settle::Verdict;
use soloist::store::{Connection, entries};

use super::ground::{declare, done, end, fill_keys, left, node, open, take, task};

fn in_order() -> Task {
    task(|task| {
        task.serial = true;
        task.dedupe = Dedupe::None;
    })
}

fn keyed(key: &str) -> NewEntry {
    NewEntry { key: Some(key.to_owned()), ..NewEntry::new("t", "{}") }
}

/// What runs of each key, and which come next: the least of those that are not over.
#[derive(Default)]
struct Ledger {
    waiting: BTreeMap<String, Vec<i64>>,
    running: BTreeMap<String, i64>,
}

impl Ledger {
    fn started(&mut self, entry: &Entry) {
        let Some(key) = &entry.key else { return };
        let before = self.running.insert(key.clone(), entry.id);
        assert_eq!(before, None, "{} of {key} starts while another runs", entry.id);
        assert_eq!(self.waiting[key].first(), Some(&entry.id), "{key}: not in order");
    }

    fn ended(&mut self, entry: &Entry, over: bool) {
        let Some(key) = &entry.key else { return };
        assert_eq!(self.running.remove(key), Some(entry.id));
        if over {
            self.waiting.get_mut(key).unwrap().remove(0);
        }
    }
}

fn fails(entry: &Entry) -> bool {
    entry.attempt < 3 && (entry.id + i64::from(entry.attempt)) % 4 == 0
}

/// Under failures and retries, whoever claims, beside entries without a key and over several priorities.
fn entries_of_one_key_keep_their_order(database: &TestDatabase) {
    let store = open(database);
    let (keys, each) = numbers((6, 12), (20, 100));
    let mut connection = store.work().unwrap();
    node(&mut connection, "first", &in_order(), Strategy::SkipLocked);
    let mut new = Vec::new();
    for n in 0..keys * each {
        new.push(NewEntry { priority: [0, 0, 5, -5][n % 4], ..keyed(&format!("k{}", n % keys)) });
        if n % 3 == 0 {
            new.push(NewEntry::new("t", "null"));
        }
    }
    // A key that differs by a blank, or by its case, is another.
    new.extend([keyed("k0 "), keyed("K0"), keyed(""), keyed("")]);
    let ids = entries::insert(&mut connection, &new).unwrap();
    let mut ledger = Ledger::default();
    for (entry, id) in new.iter().zip(&ids) {
        if let Some(key) = &entry.key {
            ledger.waiting.entry(key.clone()).or_default().push(*id);
        }
    }
    let ledger = Mutex::new(ledger);
    std::thread::scope(|scope| {
        for (name, strategy) in [
            ("a", Strategy::SkipLocked),
            ("b", Strategy::AtomicUpdate),
            ("c", Strategy::SkipLocked),
            ("d", Strategy::SkipLocked),
        ] {
            let (store, ledger) = (&store, &ledger);
            scope.spawn(move || {
                let mut connection = store.work().unwrap();
                let claimant = node(&mut connection, name, &in_order(), strategy);
                work(&mut connection, &claimant, ledger);
            });
        }
    });
    let ledger = ledger.into_inner().unwrap();
    assert!(ledger.waiting.values().all(Vec::is_empty) && ledger.running.is_empty());
    assert_eq!(left(database), 0);
    let retried = database.number("SELECT count(*) FROM soloist_entries WHERE attempt > 1");
    assert!(retried > 10, "{retried} were retried");
}

fn work(connection: &mut Connection, claimant: &Claimant, ledger: &Mutex<Ledger>) {
    loop {
        let claimed = {
            // Held while claiming: what is claimed is in the ledger before anybody can claim after it.
            let mut ledger = ledger.lock().unwrap();
            let claimed = take(connection, claimant, 5).entries;
            claimed.iter().for_each(|entry| ledger.started(entry));
            claimed
        };
        if claimed.is_empty() {
            if claim::due(connection, &["t"]).unwrap().is_empty() {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        for entry in &claimed {
            ledger.lock().unwrap().ended(entry, !fails(entry));
        }
        end(connection, claimant, &claimed, |entry| match fails(entry) {
            true => Verdict::Retry {
                after: Duration::from_millis(fastrand::u64(0..8)),
                error: "no".to_owned(),
                output: None,
                outcome: "failed",
            },
            false => done(entry),
        });
    }
}

/// What is claimed by two at once: the ledger above is held while one claims.
fn two_never_have_one_key(database: &TestDatabase) {
    let store = open(database);
    let keys: Vec<_> = (0..3).map(|n| format!("k{n}")).collect();
    fill_keys(database, (0..numbers(90, 900)).map(|n| keys[n % 3].as_str()));
    let running: Mutex<BTreeMap<String, i64>> = Mutex::default();
    std::thread::scope(|scope| {
        for name in ["a", "b", "c", "d"] {
            let (store, running) = (&store, &running);
            scope.spawn(move || {
                let mut connection = store.work().unwrap();
                let claimant = node(&mut connection, name, &in_order(), Strategy::SkipLocked);
                while !claim::due(&mut connection, &["t"]).unwrap().is_empty() {
                    let entries = take(&mut connection, &claimant, 8).entries;
                    for entry in &entries {
                        let before = running.lock().unwrap().insert(entry.key.clone().unwrap(), entry.id);
                        assert_eq!(before, None, "{entry:?}");
                    }
                    std::thread::sleep(Duration::from_micros(fastrand::u64(0..2000)));
                    entries.iter().for_each(|entry| {
                        running.lock().unwrap().remove(entry.key.as_ref().unwrap());
                    });
                    end(&mut connection, &claimant, &entries, done);
                }
            });
        }
    });
    assert_eq!(left(database), 0);
}

/// One that waits for a retry keeps those behind it waiting; one that is final does not, until it is taken back.
fn later_ones_wait_for_a_retry(database: &TestDatabase) {
    let store = open(database);
    let mut connection = store.work().unwrap();
    let claimant = node(&mut connection, "n", &in_order(), Strategy::SkipLocked);
    let ids = entries::insert(&mut connection, &[keyed("k"), keyed("k"), keyed("k"), keyed("other")]).unwrap();
    let take = |connection: &mut Connection| {
        let mut taken = take(connection, &claimant, 9).entries;
        taken.sort_by_key(|entry| entry.id);
        taken
    };
    let first = take(&mut connection);
    assert_eq!(first.iter().map(|entry| entry.id).collect::<Vec<_>>(), [ids[0], ids[3]]);
    end(&mut connection, &claimant, &first[1..], done);
    let later =
        Verdict::Retry { after: Duration::from_secs(3600), error: "no".to_owned(), output: None, outcome: "failed" };
    end(&mut connection, &claimant, &first[..1], |_| later.clone());
    assert!(take(&mut connection).is_empty(), "it came first and is to be tried again");
    entries::run_now(&mut connection, ids[0], &By::cli("cli")).unwrap();
    let again = take(&mut connection);
    assert_eq!(again[0].id, ids[0]);
    end(&mut connection, &claimant, &again, |_| Verdict::Failed { error: "no".to_owned(), output: None });
    let second = take(&mut connection);
    assert_eq!(second.iter().map(|entry| entry.id).collect::<Vec<_>>(), [ids[1]]);
    // Taken back while the second runs: it goes before the third, not beside the second.
    entries::retry(&mut connection, ids[0], &By::cli("cli")).unwrap();
    assert!(take(&mut connection).is_empty());
    end(&mut connection, &claimant, &second, done);
    assert_eq!(take(&mut connection)[0].id, ids[0]);
    assert!(take(&mut connection).is_empty());
}

/// A key that is held, as plain SQL leaves it, is a key as well.
fn held_keys_keep_the_order_too(database: &TestDatabase) {
    let store = open(database);
    let mut connection = store.work().unwrap();
    let claimant = node(&mut connection, "n", &in_order(), Strategy::SkipLocked);
    database.sql("INSERT INTO soloist_entries (task, dedupe_key) VALUES ('t', 'k')");
    fill_keys(database, ["k"]);
    let first = take(&mut connection, &claimant, 9).entries;
    assert_eq!(first.len(), 1);
    assert!(take(&mut connection, &claimant, 9).entries.is_empty());
    end(&mut connection, &claimant, &first, done);
    assert_eq!(take(&mut connection, &claimant, 9).entries.len(), 1);
}

/// 10,000 entries of one key: those of other keys are found behind them, and no look reads them all.
fn a_long_queue_of_one_key(database: &TestDatabase) {
    let store = open(database);
    let mut connection = store.work().unwrap();
    let claimant = node(&mut connection, "n", &in_order(), Strategy::SkipLocked);
    fill_keys(database, ["long"; 10_000]);
    fill_keys(database, ["b", "b", "a ", "a"]);
    let timed = |what: &str, connection: &mut Connection| {
        let start = Instant::now();
        let entries = take(connection, &claimant, 8).entries;
        println!("{what}: {} claimed in {:?}", entries.len(), start.elapsed());
        assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
        entries
    };
    let first = timed("the first of each key", &mut connection);
    let mut keys: Vec<_> = first.iter().filter_map(|entry| entry.key.clone()).collect();
    keys.sort();
    assert_eq!(keys, ["a", "a ", "b", "long"]);
    assert!(timed("none", &mut connection).is_empty());
    end(&mut connection, &claimant, &first, done);
    let mut last = first.iter().find(|entry| entry.key.as_deref() == Some("long")).unwrap().id;
    for _ in 0..5 {
        let next = timed("the next", &mut connection);
        let of_key = next.iter().find(|entry| entry.key.as_deref() == Some("long")).unwrap();
        assert!(of_key.id == last + 1, "{} after {last}", of_key.id);
        last = of_key.id;
        end(&mut connection, &claimant, &next, done);
    }
}

/// More keys than one look passes, all of which wait: the one that does not is found by the looks that follow.
fn many_keys_that_wait_hide_no_other(database: &TestDatabase) {
    let store = open(database);
    let mut connection = store.work().unwrap();
    let claimant = node(&mut connection, "n", &in_order(), Strategy::SkipLocked);
    let keys: Vec<_> = (0..1200).map(|n| format!("k{n:04}")).collect();
    fill_keys(database, keys.iter().map(String::as_str));
    database.sql("UPDATE soloist_entries SET run_at = 9000000000000000");
    fill_keys(database, keys.iter().map(String::as_str).chain(["z"]));
    let mut looks = 0;
    until(Duration::from_secs(30), "the free one is found", || {
        looks += 1;
        let entries = take(&mut connection, &claimant, 8).entries;
        entries.iter().any(|entry| entry.key.as_deref() == Some("z"))
    });
    assert!(looks <= 3, "{looks} looks");
}

/// Where keys are held, all is as it was: the task has lost `serial_by`, say.
fn keys_are_held_again_when_the_task_says_so(database: &TestDatabase) {
    let store = open(database);
    let mut connection = store.work().unwrap();
    let claimant = node(&mut connection, "n", &in_order(), Strategy::SkipLocked);
    let ids = entries::insert(&mut connection, &[keyed("k"), keyed("k")]).unwrap();
    declare(&mut connection, claimant.node_id, &task(|_| {}), None);
    assert_eq!(take(&mut connection, &claimant, 9).entries.len(), 2, "without an order both start");
    let held = entries::insert(&mut connection, &[keyed("k")]).unwrap();
    let conflict = entries::insert(&mut connection, &[keyed("k")]).unwrap_err();
    assert_eq!(conflict.entry_id(), Some(held[0]));
    entries::cancel(&mut connection, ids[0], &By::cli("cli")).unwrap();
    assert_eq!(entries::retry(&mut connection, ids[0], &By::cli("cli")).unwrap_err().entry_id(), Some(held[0]));
}

on_every_backend!(
    entries_of_one_key_keep_their_order,
    two_never_have_one_key,
    later_ones_wait_for_a_retry,
    held_keys_keep_the_order_too,
    a_long_queue_of_one_key,
    many_keys_that_wait_hide_no_other,
    keys_are_held_again_when_the_task_says_so,
);
