//! `max_running`: at once over all nodes.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::time::Duration;

use house::{TestDatabase, numbers, on_every_backend};
use soloist::store::claim;
use soloist::store::rescue;
use soloist::store::server::Strategy;

use super::ground::{declare, done, end, fill, left, node, open, take, task};

const MOST: i64 = 3;

/// Row 56: two that count at once would both find room.
fn no_more_run_at_once_than_allowed(database: &TestDatabase) {
    let store = open(database);
    let limited = task(|task| task.max_running = 3);
    for strategy in [Strategy::SkipLocked, Strategy::AtomicUpdate] {
        fill(database, numbers(150, 3000));
        let (running, most, empty) = (AtomicI64::new(0), AtomicI64::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            for name in ["a", "b", "c", "d", "e", "f"] {
                let (store, limited, running, most, empty) = (&store, &limited, &running, &most, &empty);
                scope.spawn(move || {
                    let mut connection = store.work().unwrap();
                    let claimant = node(&mut connection, name, limited, strategy);
                    while !empty.load(Ordering::SeqCst) {
                        let entries = take(&mut connection, &claimant, 8).entries;
                        let taken = i64::try_from(entries.len()).unwrap();
                        let now = running.fetch_add(taken, Ordering::SeqCst) + taken;
                        most.fetch_max(now, Ordering::SeqCst);
                        if taken == 0 {
                            let due = claim::due(&mut connection, &["t"]).unwrap();
                            empty.fetch_or(due.is_empty(), Ordering::SeqCst);
                            continue;
                        }
                        std::thread::sleep(Duration::from_micros(fastrand::u64(0..3000)));
                        running.fetch_sub(taken, Ordering::SeqCst);
                        end(&mut connection, &claimant, &entries, done);
                    }
                });
            }
        });
        assert_eq!(most.into_inner(), MOST, "{strategy:?}");
        assert_eq!(left(database), 0);
    }
}

/// What a dead node had counts until it is taken over, and no longer.
fn slots_of_a_dead_node_are_free_when_it_is_taken_over(database: &TestDatabase) {
    let store = open(database);
    let mut connection = store.work().unwrap();
    let limited = task(|task| task.max_running = 3);
    let first = node(&mut connection, "first", &limited, Strategy::SkipLocked);
    let second = node(&mut connection, "second", &limited, Strategy::SkipLocked);
    fill(database, 10);
    assert_eq!(take(&mut connection, &first, 8).entries.len(), 3);
    assert!(take(&mut connection, &second, 8).entries.is_empty());
    database.sql(&format!("UPDATE soloist_nodes SET lease_until = 1 WHERE id = {}", first.node_id));
    assert!(take(&mut connection, &second, 8).entries.is_empty(), "nobody has taken them over yet");
    assert_eq!(rescue::of_ended_nodes(&mut connection).unwrap().entries, 3);
    let entries = take(&mut connection, &second, 8).entries;
    assert_eq!(entries.len(), 3);
    end(&mut connection, &second, &entries[..1], done);
    assert_eq!(take(&mut connection, &second, 8).entries.len(), 1);
}

/// A limit that is taken away, or has become smaller than what runs.
fn a_limit_may_change_while_entries_run(database: &TestDatabase) {
    let store = open(database);
    let mut connection = store.work().unwrap();
    let with = |most| task(|task| task.max_running = most);
    let claimant = node(&mut connection, "n", &with(4), Strategy::SkipLocked);
    fill(database, 20);
    let entries = take(&mut connection, &claimant, 8).entries;
    assert_eq!(entries.len(), 4);
    declare(&mut connection, claimant.node_id, &with(2), None);
    assert!(take(&mut connection, &claimant, 8).entries.is_empty());
    end(&mut connection, &claimant, &entries[..3], done);
    assert_eq!(take(&mut connection, &claimant, 8).entries.len(), 1);
    declare(&mut connection, claimant.node_id, &with(0), None);
    assert_eq!(take(&mut connection, &claimant, 8).entries.len(), 8);
}

/// One look asks for tasks with and without a limit; each gets what it may.
fn others_are_claimed_beside_a_limited_task(database: &TestDatabase) {
    let store = open(database);
    let mut connection = store.work().unwrap();
    let claimant = node(&mut connection, "n", &task(|task| task.max_running = 1), Strategy::SkipLocked);
    database.sql("INSERT INTO soloist_entries (task) VALUES ('t'), ('t'), ('a'), ('a'), ('z'), ('z')");
    let requests =
        ["a", "t", "z"].map(|name| claim::ClaimRequest { task: name.to_owned(), ..super::ground::request(2) });
    let taken = AtomicUsize::new(0);
    for due in claim::look(&mut connection, &claimant, &requests).unwrap() {
        let request = requests.iter().find(|request| request.task == due.task).unwrap();
        let claimed = claim::claim_due(&mut connection, &claimant, request, due).unwrap();
        assert_eq!(claimed.entries.len(), if request.task == "t" { 1 } else { 2 }, "{}", request.task);
        taken.fetch_add(1, Ordering::SeqCst);
    }
    assert_eq!(taken.into_inner(), 3);
}

on_every_backend!(
    no_more_run_at_once_than_allowed,
    slots_of_a_dead_node_are_free_when_it_is_taken_over,
    a_limit_may_change_while_entries_run,
    others_are_claimed_beside_a_limited_task,
);
