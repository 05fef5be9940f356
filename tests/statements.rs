//! SQL handlers at real nodes: what is bound and how, what is undone, what a crash and a time-out leave.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "nodes/ask.rs"]
mod ask;

use std::time::{Duration, Instant};

use ask::{LIMIT, config, insert, insert_with, migrate, shown, state, until_count, until_state};
use house::{Backend, Node, Signal, TestDatabase, on_every_backend, until};

on_every_backend!(
    values_are_bound_by_their_json_type,
    what_only_looks_like_a_name_is_left_alone,
    a_name_that_the_payload_lacks_fails_for_good,
    a_failed_statement_is_undone_and_counted,
    a_key_has_its_columns_type,
    write_back_and_statement_commit_together,
    a_crash_costs_no_attempt,
    a_late_statement_is_ended,
    deadlocks_leave_no_effect_behind,
);

/// A task with this statement; backslashes and quotes as they are.
fn sql_task(name: &str, statement: &str, more: &str) -> String {
    format!("[tasks.{name}]\nsql = '''{statement}'''\nbackoff = {{ first = \"10ms\", max = \"10ms\" }}\n{more}\n")
}

/// An effect table; `effects.entry` has no key, so that doubles show.
fn effects(database: &TestDatabase) {
    migrate(database);
    database.sql(
        "CREATE TABLE effects (entry BIGINT, attempt INT, i BIGINT, d DOUBLE PRECISION, b BOOLEAN, t VARCHAR(100), \
         k VARCHAR(100))",
    );
}

fn both_ways() -> [&'static str; 2] {
    ["transaction = true", "transaction = false"]
}

fn values_are_bound_by_their_json_type(database: &TestDatabase) {
    effects(database);
    let statement =
        "INSERT INTO effects (entry, attempt, i, d, b, t, k) VALUES (:entry_id, :attempt, :i, :d, :b, :t, :key)";
    let tasks = sql_task("yes", statement, both_ways()[0]) + &sql_task("no", statement, both_ways()[1]);
    let _node = Node::start(&config(database, &tasks)).wait_ready();
    for name in ["yes", "no"] {
        let full = r#"{"i": 9007199254740993, "d": 0.5, "b": true, "t": "it is ? :x"}"#;
        let id = insert_with(database, name, full, ", dedupe_key", ", 'a?b'");
        until_state(database, id, "completed");
        let truth = if database.backend() == Backend::Postgres { "b::int" } else { "b" };
        let row = database.query(&format!("SELECT attempt, i, d, {truth}, t, k FROM effects WHERE entry = {id}"));
        let row: Vec<_> = row[0].iter().map(|value| value.as_deref().unwrap()).collect();
        assert_eq!(row, ["1", "9007199254740993", "0.5", "1", "it is ? :x", "a?b"]);
        let nulls = insert(database, name, r#"{"i": null, "d": null, "b": null, "t": null}"#);
        until_state(database, nulls, "completed");
        let row = database.query(&format!("SELECT i, d, b, t, k FROM effects WHERE entry = {nulls}"));
        assert_eq!(row, [vec![None; 5]]);
    }
}

fn what_only_looks_like_a_name_is_left_alone(database: &TestDatabase) {
    effects(database);
    let cast = if database.backend() == Backend::Postgres { "'7'::bigint" } else { "7" };
    let statement = format!(
        "INSERT INTO effects (entry, i, t) /* :no, it's a comment? */ VALUES (:entry_id, {cast}, ':no ?' -- :no\n)"
    );
    let _node = Node::start(&config(database, &sql_task("t", &statement, ""))).wait_ready();
    let id = insert(database, "t", "{}");
    until_state(database, id, "completed");
    let row = database.query(&format!("SELECT i, t FROM effects WHERE entry = {id}"));
    assert_eq!(row, [[Some("7".to_owned()), Some(":no ?".to_owned())]]);
}

fn a_name_that_the_payload_lacks_fails_for_good(database: &TestDatabase) {
    effects(database);
    let statement = "INSERT INTO effects (entry, t) VALUES (:entry_id, :missing)";
    let tasks = sql_task("yes", statement, both_ways()[0]) + &sql_task("no", statement, both_ways()[1]);
    let node = Node::start(&config(database, &tasks)).wait_ready();
    for name in ["yes", "no"] {
        let bad = insert(database, name, r#"{"Missing": 1}"#);
        until_state(database, bad, "failed");
        let shown = shown(&node, bad);
        assert_eq!(shown["attempt"], 1, "{shown}");
        assert!(shown["error"].as_str().unwrap().contains(":missing"), "{shown}");
        let good = insert(database, name, r#"{"missing": "x"}"#);
        until_state(database, good, "completed");
    }
    assert_eq!(database.number("SELECT count(*) FROM effects"), 2);
}

fn a_failed_statement_is_undone_and_counted(database: &TestDatabase) {
    effects(database);
    database.sql("CREATE TABLE once (k INT PRIMARY KEY); INSERT INTO once VALUES (3)");
    let statement = "INSERT INTO once (k) VALUES (:k)";
    let tasks = sql_task("yes", statement, "transaction = true\nmax_attempts = 2")
        + &sql_task("no", statement, "transaction = false\nmax_attempts = 2");
    let ids: Vec<_> = (0..6).map(|k| insert(database, "yes", &format!("{{\"k\": {k}}}"))).collect();
    let node = Node::start(&config(database, &tasks)).wait_ready();
    until_count(database, "yes", "completed", 5);
    until_state(database, ids[3], "failed");
    let taken = insert(database, "no", "{\"k\": 3}");
    until_state(database, taken, "failed");
    for id in [ids[3], taken] {
        let shown = shown(&node, id);
        assert_eq!((&shown["attempt"], shown["attempts"].as_array().unwrap().len()), (&2.into(), 2), "{shown}");
    }
    assert_eq!(database.number("SELECT count(*) FROM once"), 6);
}

fn a_key_has_its_columns_type(database: &TestDatabase) {
    effects(database);
    database.sql(
        "CREATE TABLE shop (tenant INT, name VARCHAR(20), processed BOOLEAN DEFAULT FALSE, PRIMARY KEY (tenant, name)); \
         INSERT INTO shop (tenant, name) VALUES (1, 'a'), (1, 'b'), (2, 'a'); \
         CREATE TABLE image (id BIGINT PRIMARY KEY, size INT, processed BOOLEAN DEFAULT FALSE); \
         INSERT INTO image (id, size) VALUES (1, 10), (2, 20)",
    );
    let source = |name: &str, table: &str, key: &str| {
        format!(
            "[tasks.{name}.source]\ntable = \"{table}\"\nkey = {key}\npending = \"processed = FALSE\"\n\
             done = \"processed = TRUE\"\nevery = \"200ms\"\n"
        )
    };
    let tasks = sql_task("shop", "INSERT INTO effects (entry, i, t) VALUES (:entry_id, :tenant + 1, :name)", "")
        + &source("shop", "shop", "[\"tenant\", \"name\"]")
        + &sql_task("image", "INSERT INTO effects (entry, i, d) VALUES (:entry_id, :key + 1, :size)", "")
        + &source("image", "image", "\"id\"");
    let _node = Node::start(&config(database, &tasks)).wait_ready();
    // Not by entries: a sweep may collect a row that is marked in the same moment, and such an entry ends without a call.
    for table in ["shop", "image"] {
        let pending = format!("SELECT count(*) FROM {table} WHERE processed = FALSE");
        until(LIMIT, "no row is pending", || database.number(&pending) == 0);
    }
    let rows = database.query("SELECT i, t FROM effects WHERE t IS NOT NULL ORDER BY i, t");
    let text = |rows: Vec<Vec<Option<String>>>| -> Vec<String> {
        rows.into_iter().map(|row| row.into_iter().flatten().collect::<Vec<_>>().join(" ")).collect()
    };
    assert_eq!(text(rows), ["2 a", "2 b", "3 a"]);
    assert_eq!(database.number("SELECT sum(i) FROM effects WHERE t IS NULL"), 5);
    assert_eq!(database.number("SELECT count(*) FROM shop WHERE processed"), 3);
    assert_eq!(database.number("SELECT count(*) FROM image WHERE processed"), 2);
}

/// Whoever looks sees both or neither.
fn write_back_and_statement_commit_together(database: &TestDatabase) {
    effects(database);
    database.sql("CREATE TABLE item (id BIGINT PRIMARY KEY, processed BOOLEAN DEFAULT FALSE)");
    let rows: Vec<_> = (1..=200).map(|id| format!("({id})")).collect();
    database.sql(&format!("INSERT INTO item (id) VALUES {}", rows.join(", ")));
    let tasks = sql_task("t", "INSERT INTO effects (entry, i) VALUES (:entry_id, :key)", "concurrency = 2")
        + "[tasks.t.source]\ntable = \"item\"\nkey = \"id\"\npending = \"processed = FALSE\"\n\
           done = \"processed = TRUE\"\nevery = \"200ms\"\n";
    let _node = Node::start(&config(database, &tasks)).wait_ready();
    let torn = "SELECT count(*) FROM item WHERE processed <> EXISTS (SELECT 1 FROM effects WHERE i = item.id)";
    until(LIMIT, "all rows are processed", || {
        assert_eq!(database.number(torn), 0);
        database.number("SELECT count(*) FROM item WHERE processed") == 200
    });
    // A sweep may have seen a row just before it was done: such an entry completes without a call.
    until(LIMIT, "every entry is completed", || {
        database.number("SELECT count(*) FROM soloist_entries WHERE state <> 'completed'") == 0
    });
    assert_eq!(database.number("SELECT count(*) FROM effects"), 200);
}

/// A statement that takes a minute, and one that finds it among what the server runs.
fn slow(backend: Backend) -> (&'static str, Option<&'static str>) {
    match backend {
        Backend::Sqlite => (
            "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 2000000000) \
             INSERT INTO effects (entry, i) SELECT :entry_id, max(n) FROM c",
            None,
        ),
        Backend::Postgres => (
            "INSERT INTO effects (entry, t) SELECT :entry_id, pg_sleep(60)::text",
            Some(
                "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(60)%' AND state = 'active' \
                  AND pid <> pg_backend_pid() AND datname = current_database()",
            ),
        ),
        Backend::MariaDb | Backend::MySql => (
            "INSERT INTO effects (entry, i) SELECT :entry_id, sleep(60)",
            Some(
                "SELECT count(*) FROM information_schema.processlist WHERE info LIKE '%sleep(60)%' \
                  AND id <> connection_id() AND db = database()",
            ),
        ),
    }
}

fn a_crash_costs_no_attempt(database: &TestDatabase) {
    effects(database);
    let (statement, running) = slow(database.backend());
    let task = |statement| sql_task("t", statement, "transaction = true\nmax_attempts = 1\ntimeout = \"2m\"");
    let node = Node::start(&config(database, &task(statement))).wait_ready();
    let id = insert(database, "t", "{}");
    match running {
        Some(running) => until(LIMIT, "the statement runs", || database.number(running) == 1),
        // SQLite does not tell: its one writer's turn is taken.
        None => {
            until(LIMIT, "the statement runs", || database.try_sql("PRAGMA busy_timeout = 0; BEGIN IMMEDIATE").is_err())
        }
    }
    assert_eq!(state(database, id), "pending", "nothing is marked running");
    node.signal(Signal::KILL);
    let quick = "INSERT INTO effects (entry, attempt) VALUES (:entry_id, :attempt)";
    let _next = Node::start(&config(database, &task(quick))).wait_ready();
    until_state(database, id, "completed");
    let rows = database.query("SELECT entry, attempt FROM effects");
    assert_eq!(rows, [[Some(id.to_string()), Some("1".to_owned())]]);
}

fn a_late_statement_is_ended(database: &TestDatabase) {
    if database.backend() == Backend::Sqlite {
        println!("left out: SQLite has no way to end a statement");
        return;
    }
    effects(database);
    let (statement, running) = slow(database.backend());
    for way in both_ways() {
        let tasks = sql_task("t", statement, &format!("{way}\nmax_attempts = 2\ntimeout = \"500ms\""));
        let node = Node::start(&config(database, &tasks)).wait_ready();
        let start = Instant::now();
        let id = insert(database, "t", "{}");
        until_state(database, id, "failed");
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
        let shown = shown(&node, id);
        assert!(shown["error"].as_str().unwrap().contains("timed out after 500ms"), "{shown}");
        assert_eq!(shown["attempt"], 2, "{shown}");
        assert_eq!(database.number(running.unwrap()), 0, "the server no longer runs it");
        assert_eq!(database.number("SELECT count(*) FROM effects"), 0);
    }
}

/// Two entries that lock two rows in opposite order: the one that the server chooses to undo leaves nothing behind, and
/// runs again.
fn deadlocks_leave_no_effect_behind(database: &TestDatabase) {
    if database.backend() == Backend::Sqlite {
        return; // one writer at a time
    }
    effects(database);
    database.sql("CREATE TABLE account (id INT PRIMARY KEY, n INT)");
    database.sql("INSERT INTO account VALUES (1, 0), (2, 0)");
    let body = match database.backend() {
        Backend::Postgres => {
            "CREATE FUNCTION move_it(a BIGINT, b BIGINT) RETURNS INT AS $$ BEGIN \
             UPDATE account SET n = n + 1 WHERE id = a; PERFORM pg_sleep(0.02); \
             UPDATE account SET n = n + 1 WHERE id = b; RETURN 1; END $$ LANGUAGE plpgsql"
        }
        _ => {
            "DELIMITER //\nCREATE FUNCTION move_it(a BIGINT, b BIGINT) RETURNS INT MODIFIES SQL DATA BEGIN \
             UPDATE account SET n = n + 1 WHERE id = a; DO SLEEP(0.02); \
             UPDATE account SET n = n + 1 WHERE id = b; RETURN 1; END//\nDELIMITER ;\n"
        }
    };
    database.sql(body);
    let statement = "INSERT INTO effects (entry, i) SELECT :entry_id, move_it(:a, :b)";
    let tasks = sql_task("t", statement, "transaction = true\nconcurrency = 4\nmax_attempts = 100");
    // PostgreSQL looks for a deadlock after a second only, so that each costs one.
    for n in 0..12 {
        insert(database, "t", if n % 2 == 0 { r#"{"a": 1, "b": 2}"# } else { r#"{"a": 2, "b": 1}"# });
    }
    let _node = Node::start(&config(database, &tasks)).wait_ready();
    until(Duration::from_secs(60), "all are completed", || {
        database.number("SELECT count(*) FROM soloist_entries WHERE state = 'completed'") == 12
    });
    assert_eq!(database.number("SELECT count(*) FROM effects"), 12);
    assert_eq!(database.number("SELECT sum(n) FROM account"), 24);
}
