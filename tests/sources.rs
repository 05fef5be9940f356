//! Rows of the user's own table: found, read, marked and swept, on every backend.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use house::{Backend, TestDatabase, on_every_backend};
use soloist::config::{Database, DatabaseUrl, Source, WriteBack};
use soloist::store::claim::{self, ClaimRequest, Claimant};
use soloist::store::settle::{self, Context, Settlement, Verdict};
use soloist::store::source::{Mark, TableSource, Trial, inspect};
use soloist::store::sweeps::{self, Step};
use soloist::store::{Lent, Store, migrate, nodes};

on_every_backend!(
    composite_keys_reach_one_row_each,
    text_twins_stay_apart,
    uuid_keys,
    awkward_names,
    null_flags_wait,
    done_failed_and_placeholders,
    done_may_delete,
    version_leaves_changed_rows_alone,
    refused_rows_are_found,
    still_pending_is_refused,
    order_with_nulls,
    ahead_bounds_what_is_alive,
    a_dead_nodes_sweep_is_taken_over,
    failing_sweeps_say_so,
    every_is_once_over_all_nodes,
    mistakes_are_named,
    columns_become_json,
    check_looks_and_changes_nothing,
    many_rows_pass_steadily,
    nodes_that_sweep_at_once_pass_each_row_once,
    claimed_and_settled,
    constraints_that_wait_for_the_commit,
    unusual_tables,
    keys_too_long_for_an_entry_are_left_out,
    another_order_starts_the_sweep_anew,
    check_from_the_command_line,
    collecting_goes_by_index,
);

const LEASE: Duration = Duration::from_secs(15);
const NODE: i64 = 1;

fn open(database: &TestDatabase) -> Store {
    let url = DatabaseUrl::parse(&database.url()).unwrap();
    let database = Database { url, connections: 2, ..Database::default() };
    let store = Store::new(&database, LEASE, 1);
    migrate::up(&mut store.work().unwrap()).unwrap();
    store
}

fn source(table: &str, key: &[&str]) -> Source {
    let (schema, table) =
        table.split_once('.').map_or((None, table), |(schema, table)| (Some(schema.to_owned()), table));
    Source {
        schema,
        table: table.to_owned(),
        key: key.iter().map(|&column| column.to_owned()).collect(),
        pending: "processed = FALSE".to_owned(),
        done: Some(WriteBack::Set("processed = TRUE".to_owned())),
        failed: None,
        version: None,
        columns: None,
        order: None,
        ahead: 10_000,
        every: None,
    }
}

fn resolve(connection: &mut Lent, source: &Source) -> TableSource {
    TableSource::resolve(connection, "t", source).unwrap()
}

/// Sweeps until nothing more is collected; the last step.
fn sweep(connection: &mut Lent, source: &TableSource) -> Step {
    sweeps::request(connection, "t").unwrap();
    loop {
        match sweeps::step(connection, source, "t", NODE, LEASE, 10_000).unwrap() {
            Step::Collected(_) => {}
            step => return step,
        }
    }
}

/// The same, one row at a time, so that each position is tried.
fn sweep_slowly(connection: &mut Lent, source: &TableSource, database: &TestDatabase) {
    sweeps::request(connection, "t").unwrap();
    for _ in 0..40 {
        match sweeps::step(connection, source, "t", NODE, LEASE, entries(database).len() + 1).unwrap() {
            Step::Collected(_) => {}
            // Over: an older one of the same test.
            step => return assert!(matches!(step, Step::Passed | Step::Over), "{step:?}"),
        }
    }
    panic!("the sweep does not end: {:?}", entries(database));
}

/// (id, key) of the entries, by id.
fn entries(database: &TestDatabase) -> Vec<(i64, String)> {
    let rows = database.query("SELECT id, dedupe_key FROM soloist_entries WHERE source = 1 ORDER BY id");
    rows.into_iter().map(|row| (row[0].clone().unwrap().parse().unwrap(), row[1].clone().unwrap())).collect()
}

fn keys(database: &TestDatabase) -> Vec<String> {
    entries(database).into_iter().map(|(_, key)| key).collect()
}

fn mark(id: i64, key: &str) -> Mark {
    Mark { id, key: key.to_owned(), attempt: 3, version: None, error: Some("it's broken".to_owned()) }
}

fn marks(entries: &[(i64, String)]) -> Vec<Mark> {
    entries.iter().map(|(id, key)| mark(*id, key)).collect()
}

fn done(connection: &mut Lent, source: &TableSource, marks: &[Mark]) -> Vec<(i64, String)> {
    connection.transaction(|connection| source.mark_done(connection, marks)).unwrap()
}

fn left(database: &TestDatabase, table: &str) -> i64 {
    database.number(&format!("SELECT count(*) FROM {table} WHERE processed = FALSE"))
}

const FLAG: &str = "processed BOOLEAN NOT NULL DEFAULT FALSE";

fn composite_keys_reach_one_row_each(database: &TestDatabase) {
    let store = open(database);
    let connection = &mut store.work().unwrap();
    database.sql(&format!("CREATE TABLE jobs (tenant INT, id BIGINT, {FLAG}, PRIMARY KEY (tenant, id))"));
    database.sql("INSERT INTO jobs (tenant, id) VALUES (1, 1), (1, 2), (2, 1)");
    let mut declared = source("jobs", &["id", "tenant"]);
    declared.failed = Some(WriteBack::Set("processed = (:id * 10 + :tenant = 21)".to_owned()));
    let source = resolve(connection, &declared);
    sweep_slowly(connection, &source, database);
    let entries = entries(database);
    let found: Vec<_> = entries.iter().map(|(_, key)| key.as_str()).collect();
    assert_eq!(found, ["[1,1]", "[2,1]", "[1,2]"], "in the order of the index, named in that of the configuration");
    let rows = source.read(connection, &entries).unwrap();
    assert_eq!(rows[&entries[1].0].payload, r#"{"tenant":1,"id":2,"processed":false}"#);
    assert!(done(connection, &source, &marks(&[entries[0].clone(), entries[2].clone()])).is_empty());
    assert_eq!(
        database.query("SELECT tenant, id FROM jobs WHERE processed = FALSE"),
        [[Some("1".into()), Some("2".into())]]
    );
    assert_eq!(source.read(connection, &entries).unwrap().keys().copied().collect::<Vec<_>>(), [entries[1].0]);
    let refused = connection.transaction(|c| source.mark_failed(c, &marks(&entries[1..2]))).unwrap();
    assert!(refused.is_empty(), "{refused:?}");
    assert_eq!(left(database, "jobs"), 0, "the columns' names were bound");
}

fn text_twins_stay_apart(database: &TestDatabase) {
    let store = open(database);
    let connection = &mut store.work().unwrap();
    let kind = match database.backend() {
        Backend::MariaDb => "VARCHAR(50) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin",
        Backend::MySql => "VARCHAR(50) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin",
        _ => "VARCHAR(50)",
    };
    database.sql(&format!("CREATE TABLE jobs (name {kind} PRIMARY KEY, {FLAG})"));
    let twins = ["a", "A", "a ", "o''clock", "\"q\"", "007", "7", "ä?:key", ""];
    for twin in twins {
        database.sql(&format!("INSERT INTO jobs (name) VALUES ('{twin}')"));
    }
    let source = resolve(connection, &source("jobs", &["name"]));
    sweep_slowly(connection, &source, database);
    let all = entries(database);
    assert_eq!(all.len(), twins.len());
    assert_eq!(source.read(connection, &all).unwrap().len(), twins.len());
    let (ours, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|(_, key)| key != "A" && key != "7");
    assert!(done(connection, &source, &marks(&ours)).is_empty());
    let left = source.read(connection, &others).unwrap();
    let payloads: BTreeSet<_> = left.into_values().map(|row| row.payload).collect();
    assert_eq!(
        payloads.into_iter().collect::<Vec<_>>(),
        [r#"{"name":"7","processed":false}"#, r#"{"name":"A","processed":false}"#]
    );
}

fn uuid_keys(database: &TestDatabase) {
    let store = open(database);
    let connection = &mut store.work().unwrap();
    let kind = match database.backend() {
        Backend::Postgres | Backend::MariaDb => "UUID",
        Backend::MySql => "BINARY(16)",
        Backend::Sqlite => "TEXT",
    };
    database
        .sql(&format!("CREATE TABLE jobs (tenant {kind}, id {kind}, {FLAG}, PRIMARY KEY (tenant, id), UNIQUE (id))"));
    let ids = ["0190f5a2-0000-7000-8000-000000000001", "0190f5a2-0000-7000-8000-0000000000ab"];
    let value = |id: &str| match database.backend() {
        Backend::MySql => format!("UNHEX(REPLACE('{id}', '-', ''))"),
        _ => format!("'{id}'"),
    };
    for id in ids {
        let (tenant, id) = (value(ids[0]), value(id));
        database.sql(&format!("INSERT INTO jobs (tenant, id) VALUES ({tenant}, {id})"));
    }
    for key in [&["id"][..], &["tenant", "id"]] {
        database.sql("DELETE FROM soloist_entries; UPDATE jobs SET processed = FALSE");
        let source = resolve(connection, &source("jobs", key));
        sweep_slowly(connection, &source, database);
        let entries = entries(database);
        let wanted: BTreeSet<_> = ids
            .iter()
            .map(|id| if key.len() == 1 { (*id).to_owned() } else { format!(r#"["{}","{id}"]"#, ids[0]) })
            .collect();
        assert_eq!(entries.iter().map(|(_, key)| key.clone()).collect::<BTreeSet<_>>(), wanted);
        assert!(done(connection, &source, &marks(&entries[..1])).is_empty());
        assert_eq!(left(database, "jobs"), 1);
        assert_eq!(source.read(connection, &entries).unwrap().len(), 1);
    }
}

fn awkward_names(database: &TestDatabase) {
    let store = open(database);
    let connection = &mut store.work().unwrap();
    let (table, quoted) = match database.backend() {
        Backend::Postgres => ("Shop.order", r#""Shop"."order""#),
        Backend::Sqlite => ("we\"ird", r#""we""ird""#),
        _ => ("key", "`key`"),
    };
    let quote = |name: &str| if database.backend().is_mysql() { format!("`{name}`") } else { format!("\"{name}\"") };
    if database.backend() == Backend::Postgres {
        database.sql(r#"CREATE SCHEMA "Shop""#);
    }
    let (id, user, group, what) = (quote("Id"), quote("user"), quote("group by"), quote("what?"));
    database.sql(&format!(
        "CREATE TABLE {quoted} ({id} INT PRIMARY KEY, {user} INT, {group} VARCHAR(9), {what} INT, {FLAG}); \
         INSERT INTO {quoted} ({id}, {user}, {group}, {what}) VALUES (1, 7, 'x', 1), (2, 8, 'y?', 2)"
    ));
    let mut declared = source(table, &["Id"]);
    declared.pending = format!("{what} > 0 AND {group} <> '?' AND processed = FALSE -- is it?");
    declared.done = Some(WriteBack::Set(format!("{what} = -:key, {group} = ':key?' -- done")));
    declared.order = Some("what?".to_owned());
    let source = resolve(connection, &declared);
    sweep(connection, &source);
    let entries = entries(database);
    let rows = source.read(connection, &entries).unwrap();
    assert_eq!(rows[&entries[1].0].payload, r#"{"Id":2,"user":8,"group by":"y?","what?":2,"processed":false}"#);
    assert!(done(connection, &source, &marks(&entries)).is_empty());
    let after = database.query(&format!("SELECT {what}, {group} FROM {quoted} ORDER BY {id}"));
    assert_eq!(after, [[Some("-1".into()), Some(":key?".into())], [Some("-2".into()), Some(":key?".into())]]);
    let inspection = inspect(connection, "t", &declared).unwrap();
    assert!(inspection.collect.contains(quoted), "{}", inspection.collect);
    assert!(!inspection.collect.contains('\u{1}'));
    declared.table = "x; DROP TABLE soloist_entries".to_owned();
    let error = TableSource::resolve(connection, "t", &declared).unwrap_err();
    assert!(error.is_usage() && error.to_string().contains("there is no table"), "{error}");
}

fn null_flags_wait(database: &TestDatabase) {
    let store = open(database);
    let connection = &mut store.work().unwrap();
    database.sql("CREATE TABLE jobs (id INT PRIMARY KEY, processed BOOLEAN)");
    database.sql("INSERT INTO jobs VALUES (1, NULL), (2, FALSE), (3, TRUE)");
    let mut declared = source("jobs", &["id"]);
    declared.pending = "processed IS NOT TRUE".to_owned();
    let source = resolve(connection, &declared);
    sweep(connection, &source);
    let all = entries(database);
    assert_eq!(keys(database), ["1", "2"]);
    assert_eq!(source.read(connection, &all).unwrap()[&all[0].0].payload, r#"{"id":1,"processed":null}"#);
    assert!(done(connection, &source, &marks(&all)).is_empty());
    assert_eq!(database.number("SELECT count(*) FROM jobs WHERE processed IS NOT TRUE"), 0);
}

fn done_failed_and_placeholders(database: &TestDatabase) {
    let store = open(database);
    let connection = &mut store.work().unwrap();
    database
        .sql(&format!("CREATE TABLE jobs (id INT PRIMARY KEY, {FLAG}, entry BIGINT, tries INT, error VARCHAR(90))"));
    database.sql("INSERT INTO jobs (id) VALUES (1), (2), (3)");
    let mut declared = source("jobs", &["id"]);
    declared.done = Some(WriteBack::Set(
        "processed = TRUE, entry = :entry_id + :key - :key, tries = :attempt, error = ':key'".into(),
    ));
    declared.failed = Some(WriteBack::Set("error = :error, tries = :attempt".to_owned()));
    let source = resolve(connection, &declared);
    sweep(connection, &source);
    let all = entries(database);
    database.sql("DELETE FROM jobs WHERE id = 3");
    assert!(
        done(connection, &source, &marks(&[all[0].clone(), all[2].clone()])).is_empty(),
        "a row that is gone is fine"
    );
    let refused = connection.transaction(|c| source.mark_failed(c, &marks(&all[1..2]))).unwrap();
    assert!(refused.is_empty());
    let rows = database.query("SELECT entry, tries, error FROM jobs ORDER BY id");
    assert_eq!(rows[0], [Some(all[0].0.to_string()), Some("3".into()), Some(":key".into())]);
    assert_eq!(rows[1], [None, Some("3".into()), Some("it's broken".into())]);
    assert_eq!(left(database, "jobs"), 1, "a failed row stays pending, and is left out while its entry is there");
    let before = entries(database);
    sweep(connection, &source);
    assert_eq!(entries(database), before);
    database.sql("UPDATE soloist_entries SET state = 'completed', key_held = 0, finished_at = 1");
    sweep(connection, &source);
    assert_eq!(keys(database)[before.len()..], ["2"], "freed, it is collected again");
}

fn done_may_delete(database: &TestDatabase) {
    let store = open(database);
    let connection = &mut store.work().unwrap();
    database
        .sql(&format!("CREATE TABLE jobs (id INT PRIMARY KEY, {FLAG}); INSERT INTO jobs (id) VALUES (1), (2), (3)"));
    let mut declared = source("jobs", &["id"]);
    declared.done = Some(WriteBack::Delete);
    let source = resolve(connection, &declared);
    sweep(connection, &source);
    assert!(done(connection, &source, &marks(&entries(database)[..2])).is_empty());
    assert_eq!(database.query("SELECT id FROM jobs"), [[Some("3".to_owned())]]);
}

fn version_leaves_changed_rows_alone(database: &TestDatabase) {
    let store = open(database);
    let connection = &mut store.work().unwrap();
    let time = match database.backend() {
        Backend::Postgres => "TIMESTAMPTZ",
        Backend::Sqlite => "DATETIME",
        _ => "DATETIME(6)",
    };
    database.sql(&format!("CREATE TABLE jobs (id INT PRIMARY KEY, updated_at {time}, {FLAG})"));
    database.sql("INSERT INTO jobs (id, updated_at) VALUES (1, '2026-01-01 00:00:00.123456'), (2, NULL), (3, NULL)");
    let mut declared = source("jobs", &["id"]);
    declared.version = Some("updated_at".to_owned());
    let source = resolve(connection, &declared);
    sweep(connection, &source);
    let all = entries(database);
    let rows = source.read(connection, &all).unwrap();
    database.sql("UPDATE jobs SET updated_at = '2026-01-02 00:00:00' WHERE id = 3");
    let marks: Vec<_> =
        all.iter().map(|(id, key)| Mark { version: rows[id].version.clone(), ..mark(*id, key) }).collect();
    assert!(done(connection, &source, &marks).is_empty());
    assert_eq!(database.query("SELECT id FROM jobs WHERE processed = FALSE"), [[Some("3".to_owned())]]);
}

fn refused_rows_are_found(database: &TestDatabase) {
    let store = open(database);
    let connection = &mut store.work().unwrap();
    database.sql(&format!("CREATE TABLE jobs (id INT PRIMARY KEY, {FLAG}, CHECK (id <> 3 OR processed = FALSE))"));
    database.sql("INSERT INTO jobs (id) VALUES (1), (2), (3), (4)");
    let source = resolve(connection, &source("jobs", &["id"]));
    sweep(connection, &source);
    let all = entries(database);
    let refused = done(connection, &source, &marks(&all));
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert_eq!(refused[0].0, all[2].0);
    let words = &refused[0].1;
    assert!(words.contains("row 3 of jobs") && words.to_lowercase().contains("constraint"), "{words}");
    assert_eq!(database.query("SELECT id FROM jobs WHERE processed = FALSE"), [[Some("3".to_owned())]]);
}

fn still_pending_is_refused(database: &TestDatabase) {
    let store = open(database);
    let connection = &mut store.work().unwrap();
    database.sql(&format!("CREATE TABLE jobs (id INT PRIMARY KEY, {FLAG}, hits INT DEFAULT 0)"));
    database.sql("INSERT INTO jobs (id) VALUES (1), (2)");
    let mut declared = source("jobs", &["id"]);
    declared.done = Some(WriteBack::Set("hits = hits + 1, processed = (id = 1)".to_owned()));
    let source = resolve(connection, &declared);
    sweep(connection, &source);
    let all = entries(database);
    let refused = done(connection, &source, &marks(&all));
    assert_eq!(refused.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [all[1].0]);
    assert!(refused[0].1.contains("still meets `pending`"), "{refused:?}");
    let hits: Vec<_> = database.query("SELECT hits FROM jobs ORDER BY id").concat();
    assert_eq!(hits, [Some("1".to_owned()), Some("0".to_owned())], "what the refused one wrote is undone");
}

fn order_with_nulls(database: &TestDatabase) {
    let store = open(database);
    let connection = &mut store.work().unwrap();
    database.sql(&format!("CREATE TABLE jobs (id INT PRIMARY KEY, rank_at INT, {FLAG})"));
    database.sql("INSERT INTO jobs (id, rank_at) VALUES (1, 5), (2, NULL), (3, 4), (4, 5), (5, NULL), (6, 1)");
    let mut declared = source("jobs", &["id"]);
    declared.order = Some("rank_at".to_owned());
    let source = resolve(connection, &declared);
    sweep_slowly(connection, &source, database);
    assert_eq!(keys(database), ["6", "3", "1", "4", "2", "5"]);
}

fn ahead_bounds_what_is_alive(database: &TestDatabase) {
    let store = open(database);
    let connection = &mut store.work().unwrap();
    database.sql(&format!(
        "CREATE TABLE jobs (id INT PRIMARY KEY, {FLAG}); INSERT INTO jobs (id) VALUES (1), (2), (3), (4), (5)"
    ));
    let source = resolve(connection, &source("jobs", &["id"]));
    let id = sweeps::request(connection, "t").unwrap();
    assert_eq!(sweeps::request(connection, "t").unwrap(), id, "one that has not started is taken again");
    let mut step = |ahead| sweeps::step(connection, &source, "t", NODE, LEASE, ahead).unwrap();
    assert_eq!(step(2), Step::Collected(2));
    assert_eq!(step(2), Step::Full);
    database.sql("UPDATE soloist_entries SET state = 'running', node_id = 1 WHERE dedupe_key = '1'");
    assert_eq!(step(2), Step::Full);
    database
        .sql("UPDATE soloist_entries SET state = 'completed', key_held = 0, finished_at = 1 WHERE dedupe_key = '1'");
    assert_eq!(step(2), Step::Collected(1));
    assert_eq!(keys(database), ["1", "2", "3"], "a row that is behind is not passed again");
    assert_eq!(step(9), Step::Collected(2));
    assert_eq!(step(9), Step::Passed);
    database.sql("UPDATE soloist_entries SET state = 'completed', key_held = 0, finished_at = 1");
    assert_eq!(step(9), Step::Over);
    assert_eq!(step(9), Step::Nothing);
    assert!(sweeps::is_over(connection, id).unwrap());
    assert_ne!(sweeps::request(connection, "t").unwrap(), id);
}

fn a_dead_nodes_sweep_is_taken_over(database: &TestDatabase) {
    let store = open(database);
    let connection = &mut store.work().unwrap();
    database
        .sql(&format!("CREATE TABLE jobs (id INT PRIMARY KEY, {FLAG}); INSERT INTO jobs (id) VALUES (1), (2), (3)"));
    let source = resolve(connection, &source("jobs", &["id"]));
    sweeps::request(connection, "t").unwrap();
    let mut step = |node, ahead| sweeps::step(connection, &source, "t", node, LEASE, ahead).unwrap();
    assert_eq!(step(1, 2), Step::Collected(2));
    assert_eq!(step(2, 9), Step::HeldByAnother);
    database.sql("UPDATE soloist_sweeps SET lease_until = 1");
    assert_eq!(step(2, 9), Step::Collected(1));
    assert_eq!(step(1, 9), Step::Passed, "the first comes back and does no harm");
    assert_eq!(keys(database), ["1", "2", "3"]);
    assert_eq!(database.number("SELECT collected FROM soloist_sweeps"), 3);
}

fn failing_sweeps_say_so(database: &TestDatabase) {
    let store = open(database);
    let connection = &mut store.work().unwrap();
    database.sql(&format!("CREATE TABLE jobs (id INT PRIMARY KEY, {FLAG}); INSERT INTO jobs (id) VALUES (1)"));
    let mut declared = source("jobs", &["id"]);
    declared.pending = "proccessed = FALSE".to_owned();
    let broken = resolve(connection, &declared);
    sweeps::request(connection, "t").unwrap();
    let error = sweeps::step(connection, &broken, "t", NODE, LEASE, 9).unwrap_err();
    assert!(error.to_string().contains("proccessed"), "{error}");
    let kept = sweeps::oldest_open(connection, "t").unwrap().unwrap();
    assert_eq!(kept.error, Some(error.to_string()));
    assert!(kept.failed_since.is_some());
    declared.pending = "processed = FALSE".to_owned();
    let mended = resolve(connection, &declared);
    assert_eq!(sweeps::step(connection, &mended, "t", NODE, LEASE, 9).unwrap(), Step::Collected(1));
    let kept = sweeps::oldest_open(connection, "t").unwrap().unwrap();
    assert_eq!((kept.error, kept.failed_since, kept.collected), (None, None, 1));
}

fn every_is_once_over_all_nodes(database: &TestDatabase) {
    let store = open(database);
    let asked: Vec<_> = std::thread::scope(|scope| {
        let ask = || sweeps::request_due(&mut store.work().unwrap(), "t", Duration::from_secs(60)).unwrap();
        let threads: Vec<_> = (0..3).map(|_| scope.spawn(ask)).collect();
        threads.into_iter().filter_map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(asked.len(), 1, "{asked:?}");
    let connection = &mut store.work().unwrap();
    assert_eq!(sweeps::request_due(connection, "t", Duration::from_secs(60)).unwrap(), None);
    database.sql("UPDATE soloist_tasks SET next_sweep_at = 1");
    assert_eq!(sweeps::request_due(connection, "t", Duration::from_secs(60)).unwrap(), Some(asked[0]));
}

fn mistakes_are_named(database: &TestDatabase) {
    let store = open(database);
    let connection = &mut store.work().unwrap();
    database.sql(&format!("CREATE TABLE images (id INT PRIMARY KEY, path VARCHAR(90), made DATE, {FLAG})"));
    let good = source("images", &["id"]);
    let mut says = |source: Source, words: &[&str]| {
        let error = TableSource::resolve(connection, "thumbnail", &source).unwrap_err();
        assert!(error.is_usage(), "{error}");
        for word in words {
            assert!(error.to_string().contains(word), "{word} in: {error}");
        }
    };
    says(Source { table: "image".into(), ..good.clone() }, &["tasks.thumbnail.source.table", "did you mean images?"]);
    says(source("images", &["idd"]), &["source.key", "no column idd", "did you mean id?"]);
    says(source("images", &["path"]), &["(path) is no primary or unique key of images", "(id)"]);
    says(source("images", &["made"]), &["source.key", "made of images", "integers, texts or UUIDs"]);
    says(Source { version: Some("nope".into()), ..good.clone() }, &["source.version", "no column nope"]);
    says(Source { columns: Some(vec!["paht".into()]), ..good.clone() }, &["source.columns", "did you mean path?"]);
    let set = Some(WriteBack::Set("processed = :nope".into()));
    says(
        Source { done: set, ..good.clone() },
        &["source.done", ":nope is not known", ":key, :entry_id, :attempt, :error"],
    );
    database.sql("CREATE VIEW seen AS SELECT * FROM images");
    says(Source { table: "seen".into(), ..good.clone() }, &["source.table", "seen is a view", "the table behind it"]);
    let columns = Some(vec!["paht".into(), "mad".into()]);
    let wrong = Source { key: vec!["idd".into()], columns, version: Some("nope".into()), ..good };
    says(wrong, &["did you mean id?", "did you mean path?", "did you mean made?", "no column nope"]);
}

fn columns_become_json(database: &TestDatabase) {
    let store = open(database);
    let connection = &mut store.work().unwrap();
    let (columns, values) = match database.backend() {
        Backend::Sqlite => (
            "big BIGINT, cost DECIMAL, part REAL, made DATETIME, day DATE, extra JSON, raw BLOB, note TEXT",
            "9223372036854775807, 12, 0.1, '2026-01-02 03:04:05', '2026-01-02', '{\"a\": 1.50}', X'00ff', 'ü\"\\'",
        ),
        Backend::Postgres => (
            "big BIGINT, cost NUMERIC, part FLOAT, made TIMESTAMP, day DATE, extra JSON, raw BYTEA, note TEXT, \
             at TIMESTAMPTZ, never TIMESTAMP, bits REAL",
            "9223372036854775807, 12345678901234567890.10, 0.1, '2026-01-02 03:04:05', '2026-01-02', '{\"a\": 1.50}', \
             '\\x00ff', 'ü\"\\', '2026-01-02 03:04:05.5+02', 'infinity', 'NaN'",
        ),
        _ => (
            "big BIGINT, cost DECIMAL(30,2), part DOUBLE, made DATETIME, day DATE, extra JSON, raw BLOB, note TEXT, \
             at TIMESTAMP(6) NULL, huge BIGINT UNSIGNED, few INT(5) ZEROFILL, flag TINYINT(1)",
            "9223372036854775807, 12345678901234567890.10, 0.1, '2026-01-02 03:04:05', '2026-01-02', '{\"a\": 1.50}', \
             X'00ff', 'ü\"\\\\', FROM_UNIXTIME(1767323045.5), 18446744073709551615, 7, 1",
        ),
    };
    database.sql(&format!("CREATE TABLE jobs (id INT PRIMARY KEY, {columns}, {FLAG})"));
    database.sql(&format!("INSERT INTO jobs VALUES (1, {values}, FALSE)"));
    let source = resolve(connection, &source("jobs", &["id"]));
    let rows = source.read(connection, &[(5, "1".to_owned()), (6, "2".to_owned()), (7, "x".to_owned())]).unwrap();
    assert_eq!(rows.len(), 1);
    let payload = &rows[&5].payload;
    let parsed: BTreeMap<String, Box<serde_json::value::RawValue>> = serde_json::from_str(payload).unwrap();
    let value = |name: &str| parsed[name].get().to_owned();
    assert_eq!(value("big"), "9223372036854775807");
    assert_eq!(value("part"), "0.1");
    assert_eq!(value("made"), "\"2026-01-02T03:04:05Z\"");
    assert_eq!(value("day"), "\"2026-01-02\"");
    assert_eq!(value("raw"), "\"AP8=\"");
    assert_eq!(value("note"), r#""ü\"\\""#);
    assert_eq!(value("processed"), "false");
    assert!(value("extra").starts_with("{\"a\": 1.5"), "{payload}");
    if database.backend() == Backend::Sqlite {
        return assert_eq!(value("cost"), "12");
    }
    assert_eq!(value("cost"), "12345678901234567890.10");
    if database.backend() == Backend::Postgres {
        assert_eq!(value("at"), "\"2026-01-02T01:04:05.5Z\"");
        assert_eq!((value("never"), value("bits")), ("\"infinity\"".into(), "\"NaN\"".into()));
    } else {
        assert_eq!(value("at"), "\"2026-01-02T03:04:05.5Z\"");
        assert_eq!(
            (value("huge"), value("few"), value("flag")),
            ("18446744073709551615".into(), "7".into(), "true".into())
        );
    }
}

fn check_looks_and_changes_nothing(database: &TestDatabase) {
    let store = open(database);
    let connection = &mut store.work().unwrap();
    database.sql(&format!("CREATE TABLE jobs (id INT PRIMARY KEY, secret INT, {FLAG}, state INT DEFAULT 0)"));
    database.sql("INSERT INTO jobs (id, processed) VALUES (1, TRUE), (2, FALSE), (3, FALSE)");
    let mut declared = source("jobs", &["id"]);
    declared.columns = Some(vec!["id".to_owned()]);
    declared.failed = Some(WriteBack::Set("nope = 1".to_owned()));
    let before = database.query("SELECT * FROM jobs ORDER BY id");
    let told = inspect(connection, "t", &declared).unwrap();
    assert_eq!((told.pending, told.rows), (Some(2), Some(3)));
    assert_eq!(told.columns, ["id"]);
    assert!(told.transactional);
    assert_eq!(told.done_trial, Trial::Passed("2".to_owned()));
    assert!(matches!(&told.failed_trial, Trial::Refused(words) if words.contains("nope")), "{told:?}");
    assert!(!told.indexed, "no index serves it");
    assert!(told.done.unwrap().contains("processed = TRUE"));
    assert_eq!(database.query("SELECT * FROM jobs ORDER BY id"), before);
    assert_eq!(database.number("SELECT count(*) FROM soloist_entries"), 0);
    database.sql(match database.backend() {
        Backend::MariaDb | Backend::MySql => "CREATE INDEX waits ON jobs (processed, id)",
        _ => "CREATE INDEX waits ON jobs (id) WHERE processed = FALSE",
    });
    let told = inspect(connection, "t", &declared).unwrap();
    assert!(told.indexed && !told.sorts, "{told:?}");
    declared.order = Some("secret".to_owned());
    assert!(inspect(connection, "t", &declared).unwrap().sorts);
    database.sql("CREATE INDEX secrets ON jobs (secret, id)");
    assert!(!inspect(connection, "t", &declared).unwrap().sorts);
    declared.order = None;
    declared.pending = "nope = 1".to_owned();
    let error = inspect(connection, "t", &declared).unwrap_err();
    assert!(error.is_usage() && error.to_string().starts_with("tasks.t.source.pending: "), "{error}");
}

/// Fills a table with numbered rows.
fn fill(database: &TestDatabase, rows: usize) {
    database.sql(&format!("CREATE TABLE jobs (id BIGINT PRIMARY KEY, {FLAG})"));
    let numbers = format!("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows})");
    database.sql(&match database.backend() {
        Backend::Postgres => format!("INSERT INTO jobs (id) SELECT generate_series(1, {rows})"),
        Backend::Sqlite => format!("{numbers} INSERT INTO jobs (id) SELECT i FROM n"),
        Backend::MariaDb => format!("INSERT INTO jobs (id) SELECT seq FROM seq_1_to_{rows}"),
        Backend::MySql => {
            format!("SET cte_max_recursion_depth = {rows}; INSERT INTO jobs (id) {numbers} SELECT i FROM n")
        }
    });
}

fn many_rows_pass_steadily(database: &TestDatabase) {
    const ROWS: usize = 100_000;
    let store = open(database);
    let connection = &mut store.work().unwrap();
    fill(database, ROWS);
    let source = resolve(connection, &source("jobs", &["id"]));
    sweeps::request(connection, "t").unwrap();
    let mut spans = Vec::new();
    let mut collected = 0;
    while collected < ROWS {
        let start = Instant::now();
        match sweeps::step(connection, &source, "t", NODE, LEASE, 10_000).unwrap() {
            Step::Collected(made) => {
                collected += made;
                spans.push(start.elapsed());
            }
            // As if they had been worked.
            Step::Full => database.sql(
                "UPDATE soloist_entries SET state = 'completed', key_held = 0, finished_at = 1 WHERE state = 'pending'",
            ),
            step => panic!("{step:?} after {collected}"),
        }
    }
    assert_eq!(database.number("SELECT count(DISTINCT dedupe_key) FROM soloist_entries"), 100_000);
    let tenth = spans.len() / 10;
    let median = |spans: &[Duration]| {
        let mut spans = spans.to_vec();
        spans.sort();
        spans[spans.len() / 2]
    };
    let (first, last) = (median(&spans[..tenth]), median(&spans[spans.len() - tenth..]));
    println!("{} steps; median of the first tenth {first:?}, of the last {last:?}", spans.len());
    assert!(last < first * 4 + Duration::from_millis(20), "{first:?} at first, {last:?} at last");
}

/// No scan and no sort of the table, behind a position in the middle of it.
fn collecting_goes_by_index(database: &TestDatabase) {
    let store = open(database);
    let connection = &mut store.work().unwrap();
    fill(database, 20_000);
    database.sql(
        if database.backend() == Backend::Sqlite { "ANALYZE" } else { "ANALYZE TABLE jobs" }
            .replace(if database.backend() == Backend::Postgres { "ANALYZE TABLE" } else { "\0" }, "ANALYZE")
            .as_str(),
    );
    let told = inspect(connection, "t", &source("jobs", &["id"])).unwrap();
    let behind = told.collect.replace(" ORDER BY", " AND id > 10000 ORDER BY");
    for sql in [told.collect, behind] {
        match database.backend() {
            Backend::Sqlite => {
                let plan: Vec<_> =
                    database.query(&format!("EXPLAIN QUERY PLAN {sql}")).concat().into_iter().flatten().collect();
                let plan = plan.join("\n");
                assert!(plan.contains("SEARCH jobs") && !plan.contains("B-TREE"), "{plan}");
            }
            Backend::Postgres => {
                let plan: Vec<_> = database.query(&format!("EXPLAIN {sql}")).concat().into_iter().flatten().collect();
                let plan = plan.join("\n");
                assert!(plan.contains("Index Scan using jobs_pkey") && !plan.contains("Sort"), "{plan}");
            }
            _ => {
                let plan = database.query(&format!("EXPLAIN {sql}"));
                let said: Vec<_> = plan[0].iter().map(|cell| cell.clone().unwrap_or_default()).collect();
                assert!(said.contains(&"PRIMARY".to_owned()), "{said:?}");
                assert!(!said.last().unwrap().contains("filesort"), "{said:?}");
            }
        }
    }
}

fn nodes_that_sweep_at_once_pass_each_row_once(database: &TestDatabase) {
    const ROWS: usize = 5_000;
    let store = open(database);
    fill(database, ROWS);
    let source = resolve(&mut store.work().unwrap(), &source("jobs", &["id"]));
    sweeps::request(&mut store.work().unwrap(), "t").unwrap();
    let made: usize = std::thread::scope(|scope| {
        // Two threads of one node, and another node; leases so short that the sweep changes hands.
        let work = |node: i64| {
            let mut made = 0;
            let mut connection = store.work().unwrap();
            loop {
                match sweeps::step(&mut connection, &source, "t", node, Duration::from_millis(5), ROWS) {
                    Ok(Step::Collected(some)) => made += some,
                    Ok(Step::HeldByAnother) => std::thread::yield_now(),
                    Ok(_) => return made,
                    Err(error) => assert!(error.is_transient(), "{error}"),
                }
            }
        };
        let threads: Vec<_> = [1, 1, 2].into_iter().map(|node| scope.spawn(move || work(node))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(made, ROWS);
    assert_eq!(database.number("SELECT count(DISTINCT dedupe_key) FROM soloist_entries"), 5_000);
    assert_eq!(database.number("SELECT collected FROM soloist_sweeps"), 5_000);
}

/// From row to row: swept, claimed with the row as it is now, completed and failed with its mark, retried.
fn claimed_and_settled(database: &TestDatabase) {
    let store = open(database);
    let connection = &mut store.work().unwrap();
    database.sql(&format!("CREATE TABLE jobs (id INT PRIMARY KEY, {FLAG}, error VARCHAR(90)); INSERT INTO jobs (id) VALUES (1), (2), (3), (4)"));
    let mut declared = source("jobs", &["id"]);
    declared.failed = Some(WriteBack::Set("error = :error".to_owned()));
    declared.columns = Some(vec!["id".to_owned(), "error".to_owned()]);
    let source = Arc::new(resolve(connection, &declared));
    sweep(connection, &source);
    // Between sweep and claim one row is done by the application, one is deleted, one changes.
    database.sql("UPDATE jobs SET processed = TRUE WHERE id = 3; DELETE FROM jobs WHERE id = 4; UPDATE jobs SET error = 'new' WHERE id = 2");
    let node_id = nodes::register(connection, "n", &[], LEASE).unwrap();
    let claimant = Claimant { node_id, strategy: store.strategy, installation: "test".into() };
    let request = ClaimRequest {
        task: "t".to_owned(),
        limit: 10,
        max_attempts: 3,
        free_key: false,
        at_most_once: false,
        source: Some(Arc::clone(&source)),
    };
    let due = claim::due(connection, &["t"]).unwrap();
    let claimed = claim::claim(connection, &claimant, &request, &due[0].priorities).unwrap();
    let payloads: Vec<_> = claimed.entries.iter().map(|entry| entry.payload.get()).collect();
    assert_eq!(payloads, [r#"{"id":1,"error":null}"#, r#"{"id":2,"error":"new"}"#]);
    assert_eq!(claimed.settled, 2);
    let settlements: Vec<_> = claimed
        .entries
        .iter()
        .map(|entry| {
            let verdict = if entry.key.as_deref() == Some("1") {
                Verdict::Completed { output: None }
            } else {
                Verdict::Failed { error: "no".to_owned(), output: None }
            };
            Settlement {
                source_key: entry.key.clone(),
                ..Settlement::new(entry.id, entry.claim, entry.attempt, verdict)
            }
        })
        .collect();
    let context = Context { source: Some(&source), ..Context::ending(node_id) };
    let settled = settle::settle(connection, &context, &settlements).unwrap();
    assert!(settled.lost.is_empty() && settled.refused.is_empty(), "{settled:?}");
    let rows = database.query("SELECT id, processed = TRUE, error FROM jobs WHERE id < 3 ORDER BY id");
    assert_ne!(rows[0][1], rows[1][1], "{rows:?}");
    assert_eq!(rows[1][2].as_deref(), Some("no"));
    let states = database.query("SELECT dedupe_key, state FROM soloist_entries ORDER BY id");
    let states: Vec<_> = states.into_iter().map(|row| row[1].clone().unwrap()).collect();
    assert_eq!(states, ["completed", "failed", "completed", "completed"]);
    database.sql("UPDATE jobs SET processed = FALSE WHERE id = 1");
    sweep(connection, &source);
    assert_eq!(keys(database)[4..], ["1"], "set back to pending it is worked again; the failed one is left out");
}

fn constraints_that_wait_for_the_commit(database: &TestDatabase) {
    if database.backend() != Backend::Postgres {
        return;
    }
    let store = open(database);
    let connection = &mut store.work().unwrap();
    database.sql("CREATE TABLE owners (id INT PRIMARY KEY)");
    database.sql(&format!(
        "CREATE TABLE jobs (id INT PRIMARY KEY, {FLAG}, owner INT REFERENCES owners (id) DEFERRABLE INITIALLY DEFERRED); \
         INSERT INTO jobs (id) VALUES (1), (2)"
    ));
    let mut declared = source("jobs", &["id"]);
    declared.done = Some(WriteBack::Set("processed = TRUE, owner = CASE WHEN id = 2 THEN 7 END".to_owned()));
    let source = resolve(connection, &declared);
    sweep(connection, &source);
    let refused = done(connection, &source, &marks(&entries(database)));
    assert!(refused.len() == 1 && refused[0].1.contains("foreign key"), "{refused:?}");
    assert_eq!(database.query("SELECT id FROM jobs WHERE processed = FALSE"), [[Some("2".to_owned())]]);
}

fn unusual_tables(database: &TestDatabase) {
    let store = open(database);
    let connection = &mut store.work().unwrap();
    match database.backend() {
        Backend::Postgres => {
            database.sql(&format!(
                "CREATE DOMAIN code AS VARCHAR(20) CHECK (VALUE <> ''); CREATE TYPE colour AS ENUM ('red', 'blue'); \
                 CREATE TABLE jobs (code code, colour colour, short CHAR(5), {FLAG}, PRIMARY KEY (code, colour, short)) \
                 PARTITION BY LIST (colour); CREATE TABLE jobs_red PARTITION OF jobs FOR VALUES IN ('red'); \
                 CREATE TABLE jobs_blue PARTITION OF jobs FOR VALUES IN ('blue'); \
                 INSERT INTO jobs VALUES ('x', 'blue', 'a'), ('x', 'red', 'a'), ('y', 'red', 'b')"
            ));
            let source = resolve(connection, &source("jobs", &["code", "colour", "short"]));
            sweep_slowly(connection, &source, database);
            assert_eq!(keys(database), [r#"["x","red","a"]"#, r#"["x","blue","a"]"#, r#"["y","red","b"]"#]);
            assert!(done(connection, &source, &marks(&entries(database)[..2])).is_empty());
            assert_eq!(left(database, "jobs"), 1);
        }
        Backend::Sqlite => {
            database.sql(&format!("CREATE TABLE jobs (id PRIMARY KEY, {FLAG})"));
            let error = TableSource::resolve(connection, "t", &source("jobs", &["id"])).unwrap_err();
            assert!(error.to_string().contains("without a type"), "{error}");
            let flag = FLAG.replace("BOOLEAN", "INTEGER");
            database.sql(&format!("CREATE TABLE plain (id TEXT UNIQUE, n INTEGER, {flag}) STRICT"));
            database.sql("INSERT INTO plain (id) VALUES (NULL), ('7'), ('x')");
            let source = resolve(connection, &source("plain", &["id"]));
            sweep_slowly(connection, &source, database);
            assert_eq!(keys(database), ["7", "x"], "a row without a key cannot be an entry");
        }
        Backend::MariaDb | Backend::MySql => {
            database.sql(&format!("CREATE TABLE jobs (id BIGINT UNSIGNED PRIMARY KEY, {FLAG}) ENGINE = MyISAM"));
            database.sql("INSERT INTO jobs (id) VALUES (18446744073709551615), (18446744073709551614), (5)");
            let declared = source("jobs", &["id"]);
            let told = inspect(connection, "t", &declared).unwrap();
            assert_eq!((told.transactional, told.done_trial), (false, Trial::NotTransactional));
            assert_eq!(left(database, "jobs"), 3);
            database.sql("ALTER TABLE jobs ENGINE = InnoDB");
            let source = resolve(connection, &declared);
            sweep_slowly(connection, &source, database);
            assert_eq!(keys(database), ["5", "18446744073709551614", "18446744073709551615"]);
            assert!(done(connection, &source, &marks(&entries(database)[2..])).is_empty());
            assert_eq!(left(database, "jobs"), 2);
        }
    }
}

fn check_from_the_command_line(database: &TestDatabase) {
    let directory = tempfile::tempdir().unwrap();
    database.sql(&format!("CREATE TABLE jobs (id INT PRIMARY KEY, {FLAG}); INSERT INTO jobs (id) VALUES (7), (8)"));
    let check = |done: &str, table: &str, arguments: &[&str]| {
        let file = directory.path().join("soloist.toml");
        let text = format!(
            "[database]\nurl = '{}'\n[tasks.t]\ncommand = ['true']\n[tasks.t.source]\ntable = '{table}'\nkey = 'id'\n\
             pending = 'processed = FALSE'\ndone = '{done}'\n",
            database.url()
        );
        std::fs::write(&file, text).unwrap();
        let output = house::soloist().arg("check").arg("--config").arg(&file).args(arguments).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let (code, out, err) = check("processed = TRUE", "jobs", &[]);
    assert_eq!((code, err.as_str()), (Some(0), ""), "{out}");
    for word in ["2 of 2", "none serves `pending`", "id, processed", "tried on the row 7", "SET processed = TRUE"] {
        assert!(out.contains(word), "{word} in {out}");
    }
    assert_eq!(left(database, "jobs"), 2);
    let (code, out, _) = check("processed = TRUE", "jobs", &["--json"]);
    let told: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &told["ok"], &told["sources"][0]["pending"]), (Some(0), &true.into(), &2.into()));
    let (code, _, err) = check("processed = nope", "jobs", &[]);
    assert!(code == Some(2) && err.contains("tasks.t.source.done") && err.contains("nope"), "{err}");
    let (code, _, err) = check("processed = FALSE", "jobs", &[]);
    assert!(code == Some(2) && err.contains("still meets `pending`"), "{err}");
    let (code, _, err) = check("processed = TRUE", "job", &[]);
    assert!(code == Some(2) && err.contains("did you mean jobs?"), "{err}");
    let (code, _, err) = check("processed = nope", "jobs", &["--json"]);
    assert!(code == Some(2) && err.contains("nope"), "{err}");
    let (code, _, err) = check("processed = TRUE", "jobs; DROP TABLE jobs", &[]);
    assert!(code == Some(2) && err.contains("there is no table"), "{err}");
    assert_eq!(left(database, "jobs"), 2);
    let statements = |sql: &str, more: &str| {
        let file = directory.path().join("soloist.toml");
        let url = database.url();
        std::fs::write(&file, format!("[database]\nurl = '{url}'\n[tasks.t]\nsql = \"\"\"{sql}\"\"\"\n{more}"))
            .unwrap();
        let output = house::soloist().arg("check").arg("--config").arg(&file).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    for good in [
        "UPDATE jobs SET processed = TRUE WHERE id = :id",
        "  insert into jobs (id) select id + 100 from jobs where id = :entry_id",
        "CREATE TABLE never (id INT)",
        "DELETE FROM jobs",
    ] {
        assert_eq!(statements(good, ""), (Some(0), String::new()), "{good}");
    }
    for (wrong, word) in [("UPDATE job SET processed = TRUE", "job"), ("now do it", "begins with \"now\"")] {
        let (code, err) = statements(wrong, "");
        assert!(code == Some(2) && err.contains("tasks.t.sql") && err.contains(word), "{wrong}: {err}");
    }
    assert_eq!(left(database, "jobs"), 2);
}

fn another_order_starts_the_sweep_anew(database: &TestDatabase) {
    let store = open(database);
    let connection = &mut store.work().unwrap();
    database.sql(&format!("CREATE TABLE jobs (id INT PRIMARY KEY, name VARCHAR(9), rank_at INT, {FLAG})"));
    database.sql("INSERT INTO jobs (id, name, rank_at) VALUES (1, 'z', 1), (2, 'y', 2), (3, 'x', 3)");
    let mut declared = source("jobs", &["id"]);
    declared.order = Some("name".to_owned());
    let by_name = resolve(connection, &declared);
    declared.order = Some("rank_at".to_owned());
    let by_rank = resolve(connection, &declared);
    sweeps::request(connection, "t").unwrap();
    let mut step = |source, ahead| sweeps::step(connection, source, "t", NODE, LEASE, ahead).unwrap();
    assert_eq!(step(&by_name, 1), Step::Collected(1));
    assert_eq!(step(&by_rank, 2), Step::Collected(1), "a position among names says nothing of ranks");
    assert_eq!(keys(database), ["3", "1"]);
    while !matches!(step(&by_rank, 9), Step::Passed) {}
    assert_eq!(keys(database), ["3", "1", "2"]);
}

fn keys_too_long_for_an_entry_are_left_out(database: &TestDatabase) {
    let store = open(database);
    let connection = &mut store.work().unwrap();
    let long = "k".repeat(256);
    database.sql(&format!("CREATE TABLE jobs (name VARCHAR(300) PRIMARY KEY, {FLAG})"));
    database.sql(&format!("INSERT INTO jobs (name) VALUES ('a'), ('{long}'), ('z'), ('{}')", &long[1..]));
    let source = resolve(connection, &source("jobs", &["name"]));
    assert_eq!(sweep(connection, &source), Step::Passed);
    assert_eq!(keys(database), ["a", &long[1..], "z"]);
    let error = sweeps::oldest_open(connection, "t").unwrap().unwrap().error.unwrap();
    assert!(error.contains("a row of jobs is left out") && error.contains("\"kkk"), "{error}");
}
