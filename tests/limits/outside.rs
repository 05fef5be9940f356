//! Outside workers are limited as nodes are, and count as they do.

use house::{TestDatabase, on_every_backend, until};
use soloist::config::Dedupe;
use soloist::model::Rate;
use soloist::store::outside;
use soloist::store::rescue;
use soloist::store::server::Strategy;

use super::ground::{declare, fill, fill_keys, node, open, request, take, task};

const MINUTE: i64 = 60_000_000;

fn all_limits_hold_for_outside_workers(database: &TestDatabase) {
    let store = open(database);
    let mut connection = store.work().unwrap();
    let claimant = node(&mut connection, "n", &task(|task| task.max_running = 3), Strategy::SkipLocked);
    fill(database, 10);
    assert_eq!(take(&mut connection, &claimant, 1).entries.len(), 1);
    assert_eq!(outside::claim(&mut connection, &request(5), MINUTE).unwrap().len(), 2);
    assert!(outside::claim(&mut connection, &request(5), MINUTE).unwrap().is_empty());
    assert!(take(&mut connection, &claimant, 8).entries.is_empty(), "what outside workers have counts");
    database.sql("UPDATE soloist_entries SET lease_until = 1 WHERE node_id = 0");
    assert_eq!(rescue::of_outside_workers(&mut connection).unwrap(), 2);
    assert_eq!(outside::claim(&mut connection, &request(5), MINUTE).unwrap().len(), 2);

    let slow = task(|task| task.rate = Some(Rate { starts: 20, span: 1_000_000 }));
    declare(&mut connection, claimant.node_id, &slow, None);
    assert_eq!(
        outside::claim(&mut connection, &request(5), MINUTE).unwrap().len(),
        3,
        "a tenth of a second's, and one"
    );
    until(std::time::Duration::from_secs(20), "the rate allows another", || {
        !outside::claim(&mut connection, &request(5), MINUTE).unwrap().is_empty()
    });

    database.sql("DELETE FROM soloist_entries");
    let in_order = task(|task| {
        task.serial = true;
        task.dedupe = Dedupe::None;
    });
    declare(&mut connection, claimant.node_id, &in_order, None);
    fill_keys(database, ["k", "k", "l", "k"]);
    let entries = outside::claim(&mut connection, &request(5), MINUTE).unwrap();
    let keys: Vec<_> = entries.iter().filter_map(|entry| entry.key.as_deref()).collect();
    assert_eq!(keys, ["k", "l"]);
    assert!(outside::claim(&mut connection, &request(5), MINUTE).unwrap().is_empty());
    assert!(take(&mut connection, &claimant, 8).entries.is_empty());
}

on_every_backend!(all_limits_hold_for_outside_workers);
