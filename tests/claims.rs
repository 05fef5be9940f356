#![allow(clippy::unwrap_used, clippy::panic)]
//! One conformance suite for claims, fences and rescue: every backend and both strategies pass it.

use std::collections::HashSet;
use std::sync::Mutex;
use std::time::Duration;

use house::{TestDatabase, on_every_backend};
use soloist::config::{ClaimChoice, Database, DatabaseUrl, NodeRole, Secret, Synchronous, Wake};
use soloist::store::claim::{self, ClaimRequest, Claimant};
use soloist::store::server::Strategy;
use soloist::store::settle::{self, Context, Settlement, Verdict};
use soloist::store::{Connection, Store, migrate, nodes, rescue};

const LEASE: Duration = Duration::from_secs(30);

fn store(database: &TestDatabase) -> Store {
    let url = database.url();
    let url = if let Some(path) = url.strip_prefix("sqlite:") {
        DatabaseUrl::Sqlite { path: path.to_owned(), memory: false }
    } else if url.starts_with("postgres") {
        DatabaseUrl::Postgres(Secret::new(url))
    } else {
        DatabaseUrl::Mysql(Secret::new(url))
    };
    let database = Database {
        url,
        connections: 8,
        claim: ClaimChoice::Auto,
        wake: Wake::Poll,
        pooler: false,
        synchronous: Synchronous::Normal,
        keep_firings: LEASE,
    };
    let store = Store::new(&database, LEASE, 4);
    migrate::up(&mut store.work().unwrap()).unwrap();
    store
}

fn claimant(connection: &mut Connection, name: &str, strategy: Strategy) -> Claimant {
    let node_id = nodes::register(connection, name, &[NodeRole::Worker], LEASE).unwrap();
    Claimant { node_id, strategy, installation: "test".into() }
}

fn request(limit: usize) -> ClaimRequest {
    ClaimRequest { task: "t".to_owned(), limit, max_attempts: 3, free_key: false, at_most_once: false, source: None }
}

/// Claims whatever is due of task `t`.
fn take(connection: &mut Connection, claimant: &Claimant, limit: usize) -> claim::Claimed {
    let request = request(limit);
    let due = claim::look(connection, claimant, std::slice::from_ref(&request)).unwrap().pop();
    due.map(|due| claim::claim_due(connection, claimant, &request, due).unwrap()).unwrap_or_default()
}

fn fill(database: &TestDatabase, entries: usize) {
    let values: Vec<_> = (0..entries).map(|n| format!("('t', '{{\"n\": {n}}}')")).collect();
    for chunk in values.chunks(1000) {
        database.sql(&format!("INSERT INTO soloist_entries (task, payload) VALUES {}", chunk.join(", ")));
    }
}

fn states(database: &TestDatabase) -> Vec<(String, String)> {
    let rows = database.query("SELECT state, count(*) FROM soloist_entries GROUP BY state ORDER BY state");
    rows.into_iter().map(|row| (row[0].clone().unwrap(), row[1].clone().unwrap())).collect()
}

fn each_entry_is_claimed_once(database: &TestDatabase) {
    let store = store(database);
    for strategy in [Strategy::SkipLocked, Strategy::AtomicUpdate] {
        database.sql("DELETE FROM soloist_entries");
        fill(database, 2000);
        let seen = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for name in ["a", "b", "c", "d"] {
                let (store, seen) = (&store, &seen);
                scope.spawn(move || {
                    let mut connection = store.work().unwrap();
                    let claimant = claimant(&mut connection, name, strategy);
                    let request = request(50);
                    while let Some(due) =
                        claim::look(&mut connection, &claimant, std::slice::from_ref(&request)).unwrap().pop()
                    {
                        let claimed = match claim::claim_due(&mut connection, &claimant, &request, due) {
                            Ok(claimed) => claimed,
                            // A deadlock between two atomic updates: the server undid one of them.
                            Err(error) if error.is_transient() => continue,
                            Err(error) => panic!("{error}"),
                        };
                        assert!(claimed.entries.len() <= 50);
                        let done: Vec<_> = claimed
                            .entries
                            .iter()
                            .map(|e| Settlement::new(e.id, e.claim, e.attempt, Verdict::Completed { output: None }))
                            .collect();
                        seen.lock().unwrap().extend(claimed.entries.iter().map(|entry| entry.id));
                        let settled = loop {
                            match settle::settle(&mut connection, &Context::ending(claimant.node_id), &done) {
                                // With an atomic update that had taken a row for pending and waits for another.
                                Err(error) if error.is_transient() => {}
                                settled => break settled.unwrap(),
                            }
                        };
                        assert!(settled.lost.is_empty());
                    }
                });
            }
        });
        let seen = seen.into_inner().unwrap();
        assert_eq!(seen.len(), 2000, "{strategy:?}");
        assert_eq!(seen.iter().collect::<HashSet<_>>().len(), 2000, "{strategy:?}");
        assert_eq!(states(database), [("completed".to_owned(), "2000".to_owned())]);
    }
}

fn better_priorities_come_first_and_what_is_not_due_stays(database: &TestDatabase) {
    let store = store(database);
    let mut connection = store.work().unwrap();
    let claimant = claimant(&mut connection, "a", Strategy::SkipLocked);
    database.sql(
        "INSERT INTO soloist_entries (task, priority, payload) VALUES ('t', 5, '\"late\"'), ('t', -9, '\"first\"'), ('t', 0, '\"second\"')",
    );
    database.sql("INSERT INTO soloist_entries (task, priority, run_at, payload) VALUES ('t', -9, 9000000000000000, '\"not yet\"')");
    let claimed = take(&mut connection, &claimant, 10);
    let payloads: Vec<_> = claimed.entries.iter().map(|entry| entry.payload.get().to_owned()).collect();
    assert_eq!(payloads, ["\"first\"", "\"second\"", "\"late\""]);
    let due = claim::due(&mut connection, &["t", "other"]).unwrap();
    assert_eq!(due.len(), 1);
    assert!(due[0].priorities.is_empty() && due[0].next_in.unwrap() > 1_000_000);
}

/// A look may claim at once: never of a task that is paused or whose host refuses, and of the others in their order.
fn a_look_claims_no_more_than_it_may(database: &TestDatabase) {
    let store = store(database);
    let mut connection = store.work().unwrap();
    let claimant = claimant(&mut connection, "n", Strategy::SkipLocked);
    database.sql("INSERT INTO soloist_tasks (name, paused_by, paused_since) VALUES ('a', 'ivo', 1)");
    database.sql("INSERT INTO soloist_tasks (name, held_reason, held_since, next_probe_at) VALUES ('b', '401', 1, 1)");
    database.sql("INSERT INTO soloist_entries (task) VALUES ('a'), ('b'), ('d')");
    database.sql(
        "INSERT INTO soloist_entries (task, priority, run_at, payload) VALUES ('c', 5, 1, '1'), ('c', -2, 3, '2'), \
         ('c', -2, 2, '3'), ('c', 0, 1, '4'), ('c', 9, 1, '5'), ('c', -9, 9000000000000000, '6')",
    );
    let request = |task: &str, free_key| ClaimRequest { task: task.to_owned(), free_key, ..request(4) };
    for d_is_plain in [false, true] {
        let requests = [request("a", false), request("b", false), request("c", true), request("d", !d_is_plain)];
        let due = claim::look(&mut connection, &claimant, &requests).unwrap();
        let mut tasks: Vec<_> = due.iter().map(|due| due.task.as_str()).collect();
        tasks.sort_unstable();
        assert_eq!(tasks, ["a", "b", "c", "d"]);
        for due in due {
            match due.task.as_str() {
                "a" => assert!(due.paused),
                "b" => assert!(due.held.is_some_and(|probe_in| probe_in < 0)),
                "c" => assert_eq!(due.priorities, [-2, 0, 5, 9]),
                _ => {
                    let claimed = claim::claim_due(&mut connection, &claimant, &requests[3], due).unwrap();
                    assert_eq!(claimed.entries.len(), 1);
                    database.sql("INSERT INTO soloist_entries (task) VALUES ('d')");
                }
            }
        }
        assert_eq!(database.number("SELECT count(*) FROM soloist_entries WHERE task <> 'd' AND claim > 0"), 0);
    }
    let requests = [request("a", false), request("c", false)];
    let due = claim::look(&mut connection, &claimant, &requests).unwrap();
    let due = due.into_iter().find(|due| due.task == "c").unwrap();
    let claimed = claim::claim_due(&mut connection, &claimant, &requests[1], due).unwrap();
    let payloads: Vec<_> = claimed.entries.iter().map(|entry| entry.payload.get()).collect();
    assert_eq!(payloads, ["3", "2", "4", "1"]);
}

fn a_stale_claim_changes_nothing(database: &TestDatabase) {
    let store = store(database);
    let mut connection = store.work().unwrap();
    let first = claimant(&mut connection, "first", Strategy::SkipLocked);
    fill(database, 3);
    let stale = take(&mut connection, &first, 10).entries;
    assert_eq!(stale.len(), 3);
    database.sql(&format!("UPDATE soloist_nodes SET lease_until = 1 WHERE id = {}", first.node_id));
    let rescued = rescue::of_ended_nodes(&mut connection).unwrap();
    assert_eq!(rescued.entries, 3);
    assert_eq!(rescued.nodes, [(first.node_id, "first".to_owned())]);

    let second = claimant(&mut connection, "second", Strategy::SkipLocked);
    let fresh = take(&mut connection, &second, 10).entries;
    assert!(fresh.iter().all(|entry| entry.attempt == 2 && entry.claim == 2));
    for verdict in [
        Verdict::Completed { output: None },
        Verdict::Completed { output: Some("late".to_owned()) },
        Verdict::Failed { error: "late".to_owned(), output: None },
        Verdict::Retry { after: LEASE, error: "late".to_owned(), output: None, outcome: "failed" },
        Verdict::HandedBack,
    ] {
        let late: Vec<_> = stale.iter().map(|e| Settlement::new(e.id, e.claim, e.attempt, verdict.clone())).collect();
        let settled = settle::settle(&mut connection, &Context::ending(first.node_id), &late).unwrap();
        assert_eq!(settled.lost.len(), 3, "{verdict:?}");
        assert_eq!(states(database), [("running".to_owned(), "3".to_owned())]);
    }
    assert!(!nodes::renew(&mut connection, first.node_id, LEASE).unwrap(), "an ended lease was renewed");
    assert!(take(&mut connection, &first, 10).entries.is_empty());
    assert!(nodes::renew(&mut connection, second.node_id, LEASE).unwrap());
    let running: HashSet<_> = settle::running(&mut connection, second.node_id).unwrap().into_iter().collect();
    assert_eq!(running, fresh.iter().map(|entry| (entry.id, 2)).collect());
}

fn each_verdict_is_written_as_it_says(database: &TestDatabase) {
    let store = store(database);
    let mut connection = store.work().unwrap();
    let claimant = claimant(&mut connection, "a", Strategy::SkipLocked);
    for key in ["a", "b", "c", "d", "e"] {
        database.sql(&format!("INSERT INTO soloist_entries (task, dedupe_key) VALUES ('t', '{key}')"));
    }
    let entries = take(&mut connection, &claimant, 10).entries;
    let verdicts = [
        Verdict::Completed { output: Some("said 💥 so".to_owned()) },
        Verdict::Retry {
            after: Duration::from_secs(3600),
            error: "not yet".to_owned(),
            output: Some("log".to_owned()),
            outcome: "timed_out",
        },
        Verdict::Failed { error: "never".to_owned(), output: None },
        Verdict::HandedBack,
        Verdict::Completed { output: None },
    ];
    let settlements: Vec<_> = entries
        .iter()
        .zip(verdicts)
        .map(|(entry, verdict)| Settlement::new(entry.id, entry.claim, entry.attempt, verdict))
        .collect();
    let settled = settle::settle(&mut connection, &Context::ending(claimant.node_id), &settlements).unwrap();
    assert_eq!(settled, settle::Settled::default());
    let rows = database.query("SELECT state, attempt, key_held, error, output FROM soloist_entries ORDER BY id");
    let seen: Vec<_> = rows
        .iter()
        .map(|row| row.iter().map(|cell| cell.as_deref().unwrap_or("-")).collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(
        seen,
        [
            "completed 1 0 - said 💥 so",
            "pending 1 1 not yet log",
            "failed 1 0 never -",
            "pending 0 1 - -",
            "completed 1 0 - -"
        ]
    );
    let waits = database.query("SELECT run_at - created_at > 3599000000 FROM soloist_entries WHERE error = 'not yet'");
    assert!(matches!(waits[0][0].as_deref(), Some("t" | "1")), "{waits:?}");
    let attempts = database.query("SELECT outcome, error FROM soloist_attempts ORDER BY entry_id");
    let attempts: Vec<_> =
        attempts.iter().map(|row| (row[0].as_deref().unwrap(), row[1].as_deref().unwrap())).collect();
    assert_eq!(attempts, [("timed_out", "not yet"), ("failed", "never")]);

    // What was handed back is claimed again as attempt 1, under a higher claim number.
    let again = take(&mut connection, &claimant, 10).entries;
    assert_eq!(
        again.iter().map(|entry| (entry.id, entry.attempt, entry.claim)).collect::<Vec<_>>(),
        [(entries[3].id, 1, 2)]
    );
    let dropping = Context { drop_completed: true, ..Context::ending(claimant.node_id) };
    let done = [Settlement::new(again[0].id, 2, 1, Verdict::Completed { output: None })];
    assert_eq!(settle::settle(&mut connection, &dropping, &done).unwrap(), settle::Settled::default());
    assert!(database.query(&format!("SELECT 1 FROM soloist_entries WHERE id = {}", again[0].id)).is_empty());
}

fn an_entry_that_kills_its_node_ends_failed(database: &TestDatabase) {
    let store = store(database);
    let mut connection = store.work().unwrap();
    fill(database, 1);
    for attempt in 1..=3 {
        let node = claimant(&mut connection, "w", Strategy::SkipLocked);
        assert_eq!(take(&mut connection, &node, 1).entries[0].attempt, attempt);
        // The row of the dead node is gone: absence counts as death.
        database.sql(&format!("DELETE FROM soloist_nodes WHERE id = {}", node.node_id));
        assert_eq!(rescue::of_ended_nodes(&mut connection).unwrap().entries, 0);
        assert_eq!(rescue::of_missing_nodes(&mut connection).unwrap().entries, 1);
    }
    let node = claimant(&mut connection, "w", Strategy::SkipLocked);
    let claimed = take(&mut connection, &node, 1);
    assert!(claimed.entries.is_empty());
    assert_eq!(claimed.exhausted, 1);
    let row = database.query("SELECT state, attempt, error FROM soloist_entries");
    assert_eq!(row[0][0].as_deref(), Some("failed"));
    assert_eq!(row[0][1].as_deref(), Some("3"));
    assert!(row[0][2].as_deref().unwrap().contains("was lost"), "{row:?}");
    assert_eq!(database.query("SELECT 1 FROM soloist_attempts WHERE outcome = 'lost'").len(), 3);
}

fn the_lease_is_renewed_while_a_claim_is_open(database: &TestDatabase) {
    let store = store(database);
    let mut connection = store.work().unwrap();
    let node = claimant(&mut connection, "a", Strategy::SkipLocked);
    fill(database, 10);
    if connection.dialect() == soloist::store::dialect::Dialect::Sqlite {
        return; // One writer: a claim that is open is the only thing that writes.
    }
    connection.begin().unwrap();
    assert_eq!(take(&mut connection, &node, 5).entries.len(), 5);
    assert!(nodes::renew(&mut store.lease().unwrap(), node.node_id, LEASE).unwrap());
    let mut other = store.work().unwrap();
    assert_eq!(take(&mut other, &node, 10).entries.len(), 5, "the other half was not free");
    connection.commit().unwrap();
}

on_every_backend!(
    each_entry_is_claimed_once,
    better_priorities_come_first_and_what_is_not_due_stays,
    a_look_claims_no_more_than_it_may,
    a_stale_claim_changes_nothing,
    each_verdict_is_written_as_it_says,
    an_entry_that_kills_its_node_ends_failed,
    the_lease_is_renewed_while_a_claim_is_open,
);
