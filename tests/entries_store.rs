//! What people do with entries, on every backend: accept, look, list, retry, cancel, delete.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::Duration;

use house::{Backend, TestDatabase, on_every_backend};
use soloist::config::{ClaimChoice, Database, DatabaseUrl, Secret, Synchronous, Wake};
use soloist::model::{By, NewEntry, RunAt, State};
use soloist::store::entries::{self, Action, Filter};
use soloist::store::{Lent, Store, migrate};

on_every_backend!(
    ids_come_in_order,
    what_was_accepted_is_shown,
    a_taken_key_is_a_conflict,
    keys_are_compared_byte_by_byte,
    lists_go_on_where_they_ended,
    retry_gives_attempts_and_takes_the_key_again,
    cancel_ends_a_claim,
    delete_takes_attempts_too,
    bulk_counts_what_it_leaves_out,
);

fn open(database: &TestDatabase) -> Lent {
    let url = match database.backend() {
        Backend::Sqlite => DatabaseUrl::Sqlite { path: database.path().unwrap().display().to_string(), memory: false },
        Backend::Postgres => DatabaseUrl::Postgres(Secret::new(database.url())),
        Backend::MariaDb | Backend::MySql => DatabaseUrl::Mysql(Secret::new(database.url())),
    };
    let settings = Database {
        url,
        connections: 2,
        claim: ClaimChoice::Auto,
        wake: Wake::Notify,
        pooler: false,
        synchronous: Synchronous::Full,
        keep_firings: Duration::from_hours(24),
    };
    let mut connection = Store::new(&settings, Duration::from_secs(15), 1).read().unwrap();
    migrate::up(&mut connection).unwrap();
    connection
}

fn keyed(task: &str, key: &str) -> NewEntry {
    NewEntry { key: Some(key.into()), ..NewEntry::new(task, "{}") }
}

fn states(database: &TestDatabase) -> Vec<String> {
    let rows = database.query("SELECT state FROM soloist_entries ORDER BY id");
    rows.into_iter().flatten().flatten().collect()
}

fn ids_come_in_order(database: &TestDatabase) {
    let c = &mut open(database);
    let new: Vec<_> = (0..1203).map(|n| NewEntry::new("mail", n.to_string())).collect();
    let ids = entries::insert(c, &new).unwrap();
    assert_eq!(ids.len(), 1203);
    assert!(ids.is_sorted() && ids[0] > 0);
    for position in [0, 499, 500, 501, 1202] {
        let payload = database.value(&format!("SELECT payload FROM soloist_entries WHERE id = {}", ids[position]));
        assert_eq!(payload, Some(position.to_string()));
    }
    assert_eq!(entries::insert(c, &[]).unwrap(), Vec::<i64>::new());
}

fn what_was_accepted_is_shown(database: &TestDatabase) {
    let c = &mut open(database);
    let payload = r#"{"n": 123456789012345678901234567890.10, "text": "ä \u0000 \\ ' ? $1 😀", "a": [1e400]}"#;
    let new = NewEntry {
        key: Some("k' ? ä\\".into()),
        run_at: RunAt::At(4_102_444_800_000_001),
        priority: -9,
        ..NewEntry::new("mail", payload)
    };
    let id = entries::insert(c, &[new]).unwrap()[0];
    let shown = serde_json::to_string(&entries::get(c, id).unwrap().unwrap()).unwrap();
    assert!(shown.contains(&format!("\"payload\":{payload},")), "{shown}");
    let shown: serde_json::Value = serde_json::from_str(&shown.replace("1e400", "1")).unwrap();
    assert_eq!(shown["key"], "k' ? ä\\");
    assert_eq!(shown["run_at"], "2100-01-01T00:00:00.000001Z");
    assert_eq!((&shown["state"], &shown["priority"]), (&"pending".into(), &(-9).into()));
    assert_eq!((&shown["attempt"], &shown["max_attempts"]), (&0.into(), &10.into()));
    assert_eq!(shown["attempts"], serde_json::json!([]));
    let installation = database.value("SELECT id FROM soloist_installation").unwrap();
    assert_eq!(shown["idempotency_key"], format!("{installation}-{id}"));
    for field in ["started_at", "finished_at", "node", "schedule", "scheduled_for", "error"] {
        assert!(shown[field].is_null() && shown.as_object().unwrap().contains_key(field), "{field}");
    }

    let soon = NewEntry { run_at: RunAt::In(60_000_000), ..NewEntry::new("mail", "1") };
    let soon = entries::insert(c, &[soon]).unwrap()[0];
    let soon = entries::get(c, soon).unwrap().unwrap();
    assert_eq!(soon.run_at - soon.created_at, 60_000_000);
    assert!(entries::get(c, 999_999).unwrap().is_none());
}

fn a_taken_key_is_a_conflict(database: &TestDatabase) {
    let c = &mut open(database);
    let holder = entries::insert(c, &[keyed("mail", "7")]).unwrap()[0];
    entries::insert(c, &[keyed("other", "7")]).expect("keys are those of a task");
    let error = entries::insert(c, &[NewEntry::new("mail", "1"), keyed("mail", "7")]).unwrap_err();
    assert!(error.is_conflict(), "{error}");
    assert_eq!(error.entry_id(), Some(holder));
    assert!(error.to_string().contains("entry 2: key: \"7\" is held by entry"), "{error}");
    assert_eq!(database.number("SELECT count(*) FROM soloist_entries"), 2, "all or nothing");
    let twins = entries::insert(c, &[keyed("mail", "8"), keyed("mail", "8")]).unwrap_err();
    assert!(twins.is_usage() && twins.to_string().contains("entry 1 and again in entry 2"), "{twins}");

    entries::cancel(c, holder, &By::cli("cli")).unwrap();
    entries::insert(c, &[keyed("mail", "7")]).expect("a final entry holds no key");
}

fn keys_are_compared_byte_by_byte(database: &TestDatabase) {
    let c = &mut open(database);
    let keys = ["a", "A", "a ", "ä", "", " "];
    let ids = entries::insert(c, &keys.map(|key| keyed("mail", key))).expect("six keys");
    for (key, id) in keys.into_iter().zip(ids) {
        let error = entries::insert(c, &[keyed("mail", key)]).unwrap_err();
        assert_eq!(error.entry_id(), Some(id), "{key:?}");
        let filter = Filter { key: Some(key.into()), ..Filter::default() };
        let found: Vec<_> = entries::list(c, &filter, 10, None).unwrap().items.iter().map(|e| e.id).collect();
        assert_eq!(found, [id], "{key:?}");
    }
}

fn lists_go_on_where_they_ended(database: &TestDatabase) {
    let c = &mut open(database);
    let tasks = ["mail", "mail", "other", "mail", "mail", "mail"];
    let ids = entries::insert(c, &tasks.map(|task| NewEntry::new(task, "1"))).unwrap();
    let filter = Filter { task: Some("mail".into()), ..Filter::default() };
    let mut seen = Vec::new();
    let mut cursor = None;
    loop {
        let page = entries::list(c, &filter, 2, cursor.as_deref()).unwrap();
        seen.extend(page.items.iter().map(|entry| entry.id));
        assert!(page.items.iter().all(|entry| entry.attempts.is_none()));
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(seen, [ids[5], ids[4], ids[3], ids[1], ids[0]]);
    let failed = Filter { state: Some(State::Failed), ..filter };
    assert!(entries::list(c, &failed, 500, None).unwrap().items.is_empty());
    assert!(entries::list(c, &failed, 500, Some("x'")).unwrap_err().is_usage());
}

fn retry_gives_attempts_and_takes_the_key_again(database: &TestDatabase) {
    let c = &mut open(database);
    let id = entries::insert(c, &[keyed("mail", "7")]).unwrap()[0];
    let early = entries::retry(c, id, &By::cli("cli")).unwrap_err();
    assert!(early.is_conflict() && early.to_string().contains("is pending"), "{early}");
    database.sql(&format!(
        "UPDATE soloist_entries SET state = 'failed', attempt = 4, key_held = 0, node_id = 3, finished_at = 5, \
         run_at = 1, error = 'no' WHERE id = {id}"
    ));
    let other = entries::insert(c, &[keyed("mail", "7")]).unwrap()[0];
    let taken = entries::retry(c, id, &By::cli("cli")).unwrap_err();
    assert!(taken.is_conflict());
    assert_eq!(taken.entry_id(), Some(other));
    entries::delete(c, other, &By::cli("cli")).unwrap();

    database.sql(
        "INSERT INTO soloist_nodes (id, name, roles, version, started_at, seen_at, lease_until) \
         VALUES (3, 'web-1', 'worker', '1', 0, 0, 9000000000000000); \
         INSERT INTO soloist_declarations (node_id, kind, name, body, declared_at) \
         VALUES (3, 'task', 'mail', '{\"handler\":\"http\",\"max_attempts\":3}', 1)",
    );
    assert_eq!(entries::get(c, id).unwrap().unwrap().node.as_deref(), Some("web-1"));
    entries::retry(c, id, &By::cli("cli")).unwrap();
    let entry = entries::get(c, id).unwrap().unwrap();
    assert_eq!((entry.state, entry.attempt, entry.max_attempts), (State::Pending, 4, 7));
    assert_eq!((entry.node, entry.finished_at, entry.error.as_deref()), (None, None, Some("no")));
    assert!(entry.run_at >= entry.created_at);
    assert_eq!(entries::insert(c, &[keyed("mail", "7")]).unwrap_err().entry_id(), Some(id), "it holds its key again");
    assert!(entries::retry(c, 999, &By::cli("cli")).unwrap_err().is_not_found());
}

fn cancel_ends_a_claim(database: &TestDatabase) {
    let c = &mut open(database);
    let new = [NewEntry::new("mail", "1"), keyed("mail", "row"), NewEntry::new("mail", "3")];
    let ids = entries::insert(c, &new).unwrap();
    let (running, source) = (ids[0], ids[1]);
    database.sql(&format!(
        "UPDATE soloist_entries SET state = 'running', node_id = 0, claim = 5, attempt = 2, started_at = 7, \
         lease_until = 9 WHERE id = {running}; UPDATE soloist_entries SET source = 1 WHERE id = {source}"
    ));
    for id in &ids {
        entries::cancel(c, *id, &By::cli("cli")).unwrap();
    }
    assert_eq!(states(database), ["cancelled"; 3]);
    let entry = entries::get(c, running).unwrap().unwrap();
    assert!(entry.finished_at.is_some());
    let attempts = entry.attempts.unwrap();
    assert_eq!(attempts.len(), 1);
    assert_eq!((attempts[0].outcome.as_str(), attempts[0].attempt), ("cancelled", 2));
    assert_eq!(attempts[0].node.as_deref(), Some("outside worker"));
    assert_eq!(database.number(&format!("SELECT claim FROM soloist_entries WHERE id = {running}")), 5);
    assert_eq!(entries::insert(c, &[keyed("mail", "row")]).unwrap_err().entry_id(), Some(source), "a row stays out");
    assert!(entries::cancel(c, running, &By::cli("cli")).unwrap_err().is_conflict());
}

fn delete_takes_attempts_too(database: &TestDatabase) {
    let c = &mut open(database);
    let id = entries::insert(c, &[NewEntry::new("mail", "1")]).unwrap()[0];
    database.sql(&format!(
        "INSERT INTO soloist_attempts (entry_id, claim, attempt, finished_at, outcome) VALUES ({id}, 1, 1, 1, 'retry'); \
         UPDATE soloist_entries SET state = 'running', node_id = 0 WHERE id = {id}"
    ));
    let runs = entries::delete(c, id, &By::cli("cli")).unwrap_err();
    assert!(runs.is_conflict() && runs.to_string().contains("is running"), "{runs}");
    database.sql("UPDATE soloist_entries SET state = 'completed', finished_at = 1, claim = 2, attempt = 2");
    let attempts = entries::get(c, id).unwrap().unwrap().attempts.unwrap();
    let outcomes: Vec<_> = attempts.iter().map(|attempt| (attempt.attempt, attempt.outcome.as_str())).collect();
    assert_eq!(outcomes, [(1, "retry"), (2, "completed")], "a silent success has no row and is shown");
    entries::delete(c, id, &By::cli("cli")).unwrap();
    assert_eq!(database.number("SELECT count(*) FROM soloist_entries"), 0);
    assert_eq!(database.number("SELECT count(*) FROM soloist_attempts"), 0);
    assert!(entries::delete(c, id, &By::cli("cli")).unwrap_err().is_not_found());
}

fn bulk_counts_what_it_leaves_out(database: &TestDatabase) {
    let c = &mut open(database);
    let new: Vec<_> = (0..2100).map(|n| keyed("mail", &n.to_string())).collect();
    let ids = entries::insert(c, &new).unwrap();
    database.sql(&format!(
        "UPDATE soloist_entries SET state = 'failed', finished_at = created_at, key_held = 0, error = 'no 50% way' \
         WHERE id <> {}",
        ids[5]
    ));
    let holder = entries::insert(c, &[keyed("mail", "9")]).unwrap()[0];
    let failed = Filter { task: Some("mail".into()), error: Some("50%".into()), ..Filter::default() };
    let dry = entries::apply_in_bulk(c, Action::Retry, &failed, true, &By::cli("cli")).unwrap();
    assert_eq!((dry.matched, dry.changed, dry.left_out), (2099, 0, 1), "one's key is held by {holder}");
    database.sql("INSERT INTO soloist_entries (task, state, error, finished_at) VALUES ('mail', 'failed', '50%', 9000000000000000)");
    let meant = Filter { before: Some(dry.before), ..failed.clone() };
    let done = entries::apply_in_bulk(c, Action::Retry, &meant, false, &By::cli("cli")).unwrap();
    assert_eq!((done.matched, done.changed, done.left_out), (2099, 2098, 1));

    let all = Filter { task: Some("mail".into()), ..Filter::default() };
    let cancelled = entries::apply_in_bulk(c, Action::Cancel, &all, false, &By::cli("cli")).unwrap();
    assert_eq!((cancelled.matched, cancelled.changed), (2101, 2100));
    let old = Filter { older_than: Some(3_600_000_000), ..all.clone() };
    assert_eq!(entries::apply_in_bulk(c, Action::Delete, &old, false, &By::cli("cli")).unwrap().matched, 0);
    let some = Filter { ids: Some(ids[..3].to_vec()), ..Filter::default() };
    assert_eq!(entries::apply_in_bulk(c, Action::Delete, &some, false, &By::cli("cli")).unwrap().changed, 3);
    let started = std::time::Instant::now();
    assert_eq!(entries::apply_in_bulk(c, Action::Delete, &all, false, &By::cli("cli")).unwrap().changed, 2098);
    assert!(started.elapsed() < Duration::from_secs(10), "a chunk is deleted by key: {:?}", started.elapsed());
    assert_eq!(database.number("SELECT count(*) FROM soloist_entries"), 1);
}
