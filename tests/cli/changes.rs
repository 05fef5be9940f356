//! What people look for, change and try by commands, and the log of it.

use house::{TestDatabase, on_every_backend};
use serde_json::{Value, json};

use super::{living_node, migrated, run, run_with};

on_every_backend!(
    entries_are_found_by_everything,
    a_dry_run_says_what_it_means,
    a_host_is_tried_again_when_told,
    what_people_change_is_logged,
);

fn ids(list: &Value) -> Vec<i64> {
    list["items"].as_array().unwrap().iter().map(|item| item["id"].as_i64().unwrap()).collect()
}

/// Three failed entries of `mail` with keys, one of `other` that waits.
fn entries(database: &TestDatabase) {
    migrated(database);
    database.sql(
        "INSERT INTO soloist_entries (task, state, dedupe_key, key_held, schedule, error, created_at, finished_at) \
         VALUES ('mail', 'failed', 'a', 0, 'nightly', 'HTTP 503', 1000000, 2000000), \
         ('mail', 'failed', 'b', 0, NULL, 'HTTP 404', 1000000, 3000000), \
         ('mail', 'failed', 'a', 0, NULL, 'HTTP 503', 1000000, 4000000)",
    );
    run(database, &["enqueue", "other"]).ok();
}

fn entries_are_found_by_everything(database: &TestDatabase) {
    entries(database);
    let found = |arguments: &[&str]| {
        let list = run(database, &[&["entries", "list", "--json"], arguments].concat());
        ids(&list.json())
    };
    assert_eq!(found(&[]), [4, 3, 2, 1]);
    assert_eq!(found(&["--task", "mail", "--state", "failed"]), [3, 2, 1]);
    assert_eq!(found(&["--key", "a"]), [3, 1]);
    assert_eq!(found(&["--error", "503"]), [3, 1]);
    assert_eq!(found(&["--schedule", "nightly"]), [1]);
    assert_eq!(found(&["--before", "1970-01-01T00:00:03Z"]), [2, 1]);
    assert_eq!(found(&["--older-than", "1h"]), [3, 2, 1]);
    assert_eq!(found(&["--older-than", "1h", "--error", "503", "--limit", "1"]), [3]);
    let first = run(database, &["entries", "list", "--error", "503", "--limit", "1"]);
    let cursor = first.err.trim().rsplit(' ').next().unwrap().to_owned();
    assert_eq!(found(&["--error", "503", "--limit", "1", "--cursor", &cursor]), [1]);
    run(database, &["entries", "list", "--before", "yesterday"]).fails(2, "instant");
    run(database, &["entries", "list", "--task", "a b"]).fails(2, "task");
}

fn a_dry_run_says_what_it_means(database: &TestDatabase) {
    entries(database);
    let asked = ["--error", "503", "--dry-run"];
    let dry = run(database, &[&["entries", "retry"], &asked[..]].concat());
    assert_eq!(dry.out, "1 of 2 would be retried, 1 left out.\n", "both want one key: {dry:?}");
    assert!(dry.err.contains("--before 20"), "{dry:?}");
    let before = dry.err.trim().rsplit(' ').next().unwrap().to_owned();
    database.sql("INSERT INTO soloist_entries (task, state, error, finished_at) VALUES ('mail', 'failed', '503', 9000000000000000)");
    let done = run(database, &["entries", "retry", "--error", "503", "--before", &before]).ok();
    assert_eq!(done, "1 of 2 retried, 1 left out.\n");
    run(database, &["entries", "cancel"]).fails(2, "task, state");
    run(database, &["entries", "cancel", "--state", "completed"]).fails(2, "pending, running");
    run(database, &["entries", "cancel", "7", "--schedule", "s"]).fails(2, "cannot be used with");
}

fn a_host_is_tried_again_when_told(database: &TestDatabase) {
    migrated(database);
    living_node(database);
    run(database, &["tasks", "probe", "mail"]).fails(1, "not held back");
    run(database, &["tasks", "probe", "mial"]).fails(1, "mail");
    database.sql(
        "INSERT INTO soloist_tasks (name, held_since, held_reason, held_count, next_probe_at) \
         VALUES ('mail', 1, '401', 3, 9000000000000000)",
    );
    assert_eq!(run(database, &["tasks", "probe", "mail"]).ok(), "mail is tried now.\n");
    let due = "SELECT count(*) FROM soloist_tasks WHERE next_probe_at < 8000000000000000 AND held_since = 1";
    assert_eq!(database.number(due), 1);
}

fn what_people_change_is_logged(database: &TestDatabase) {
    entries(database);
    run(database, &["tasks", "pause", "mail", "--reason", "quota"]).ok();
    run(database, &["entries", "retry", "2"]).ok();
    run(database, &["entries", "delete", "--task", "mail", "--state", "failed"]).ok();
    run(database, &["schedules", "fire", "nobody"]).fails(1, "no schedule");
    let lines = run(database, &["audit", "--json"]).json();
    let told: Vec<_> =
        lines["items"].as_array().unwrap().iter().map(|line| (&line["action"], &line["subject"])).collect();
    let pair = |action: &str, subject: &str| (json!(action), json!(subject));
    let want = [pair("bulk-delete", "entries"), pair("retry", "entries/2"), pair("pause", "tasks/mail")];
    assert_eq!(told, want.iter().map(|(action, subject)| (action, subject)).collect::<Vec<_>>());
    let first = &lines["items"][0];
    assert_eq!((&first["by"], &first["via"], &first["role"]), (&json!("ivo"), &json!("cli"), &Value::Null));
    assert_eq!((&first["detail"]["changed"], &first["detail"]["matched"]), (&json!(2), &json!(2)));
    let found = |arguments: &[&str]| run(database, &[&["audit"], arguments].concat()).ok();
    assert!(found(&["--subject", "tasks/mail"]).contains("quota"));
    assert!(found(&["--action", "retry", "--by", "ivo"]).contains("entries/2"));
    assert!(found(&["--by", "nobody"]).starts_with("Nothing of the kind"));
    let page = run(database, &["audit", "--limit", "1"]);
    let cursor = page.err.trim().rsplit(' ').next().unwrap().to_owned();
    assert!(found(&["--limit", "1", "--cursor", &cursor]).contains("entries/2"));
    run_with(database, &["audit", "--cursor", "x"], "").fails(2, "cursor");
}
