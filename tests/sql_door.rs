//! The plain SQL door: what any program may INSERT with the database's own client, and what it is refused.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use house::{Backend, TestDatabase, on_every_backend, soloist, until};
use serde_json::Value;

on_every_backend!(
    two_columns_are_enough,
    optional_columns_are_taken,
    what_is_wrong_is_refused,
    a_key_is_held_until_the_end,
    a_second_insert_can_be_ignored,
    two_open_transactions_cannot_hold_one_key,
    a_rollback_takes_the_entry_along,
    ids_are_never_used_twice,
    dates_can_be_read,
);

fn soloist_says(database: &TestDatabase, arguments: &[&str]) -> String {
    let mut command = soloist();
    command.args(arguments).env("DATABASE_URL", database.url()).current_dir(std::env::temp_dir());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn migrate(database: &TestDatabase) {
    soloist_says(database, &["migrate"]);
}

fn shown(database: &TestDatabase, id: i64) -> Value {
    serde_json::from_str(&soloist_says(database, &["entries", "show", &id.to_string(), "--json"])).unwrap()
}

fn newest(database: &TestDatabase) -> i64 {
    database.number("SELECT max(id) FROM soloist_entries")
}

fn count(database: &TestDatabase) -> i64 {
    database.number("SELECT count(*) FROM soloist_entries")
}

fn two_columns_are_enough(database: &TestDatabase) {
    migrate(database);
    let payload = r#"{"id": 7, "n": 123456789012345678901234567890.12345678901234567890}"#;
    database.sql(&format!("INSERT INTO soloist_entries (task, payload) VALUES ('thumbnail', '{payload}')"));
    let text = soloist_says(database, &["entries", "show", &newest(database).to_string(), "--json"]);
    assert!(text.contains(&format!("\"payload\":{payload}")), "digit for digit: {text}");
    let entry = shown(database, newest(database));
    assert_eq!((&entry["state"], &entry["priority"], &entry["attempt"]), (&"pending".into(), &0.into(), &0.into()));
    assert_eq!(entry["key"], Value::Null);
    let rows = database.query("SELECT run_at, created_at, state FROM soloist_entries");
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_micros();
    for at in &rows[0][..2] {
        let at: u128 = at.as_deref().unwrap().parse().unwrap();
        assert!(now.abs_diff(at) < 60_000_000, "{at} is microseconds since 1970 in UTC, and now is {now}");
    }
    assert_eq!(rows[0][2].as_deref(), Some("pending"));
    database.sql("INSERT INTO soloist_entries (task) VALUES ('thumbnail')");
    assert_eq!(shown(database, newest(database))["payload"], Value::Null);
}

fn optional_columns_are_taken(database: &TestDatabase) {
    migrate(database);
    database.sql(
        "INSERT INTO soloist_entries (task, payload, run_at, priority, dedupe_key) \
         VALUES ('mail', '[1, \"ä 😀\"]', 4102444800000000, -9, 'a b')",
    );
    let entry = shown(database, newest(database));
    assert_eq!((&entry["run_at"], &entry["priority"]), (&"2100-01-01T00:00:00Z".into(), &(-9).into()));
    assert_eq!((&entry["key"], &entry["payload"][1]), (&"a b".into(), &"ä 😀".into()));
    let longest = "ä".repeat(255);
    database.sql(&format!("INSERT INTO soloist_entries (task, dedupe_key) VALUES ('mail', '{longest}')"));
    assert_eq!(shown(database, newest(database))["key"], longest);
    database.sql("INSERT INTO soloist_entries (task, dedupe_key) VALUES ('mail', NULL)");
    database.sql("INSERT INTO soloist_entries (task, dedupe_key) VALUES ('mail', NULL)");
}

fn what_is_wrong_is_refused(database: &TestDatabase) {
    migrate(database);
    let too_long = format!("'mail', '1', 4102444800000000, 0, '{}'", "k".repeat(256));
    for values in [
        "'mail', '{\"id\": }', 1, 0, 'k'",
        "'mail', '', 1, 0, 'k'",
        "'mail', 'text', 1, 0, 'k'",
        "'mail', NULL, 1, 0, 'k'",
        "NULL, '1', 1, 0, 'k'",
        "'', '1', 1, 0, 'k'",
        "'mail', '1', NULL, 0, 'k'",
        "'mail', '1', 1, NULL, 'k'",
        "'mail', '1', 1, 10, 'k'",
        "'mail', '1', 1, -10, 'k'",
        "'mail', '1', '2027-01-01 00:00:00', 0, 'k'",
        too_long.as_str(),
    ] {
        let sql =
            format!("INSERT INTO soloist_entries (task, payload, run_at, priority, dedupe_key) VALUES ({values})");
        assert!(database.try_sql(&sql).is_err(), "{values} was accepted");
    }
    assert!(database.try_sql("INSERT INTO soloist_entries (task, state) VALUES ('mail', 'done')").is_err());
    assert_eq!(count(database), 0);
}

fn a_key_is_held_until_the_end(database: &TestDatabase) {
    migrate(database);
    let insert = |key: &str| {
        database.try_sql(&format!("INSERT INTO soloist_entries (task, dedupe_key) VALUES ('mail', '{key}')"))
    };
    for key in ["k", "K", "k ", "ä", "a"] {
        insert(key).unwrap_or_else(|error| panic!("{key:?}: {error}"));
    }
    let error = insert("k").unwrap_err().to_lowercase();
    assert!(error.contains("unique") || error.contains("duplicate"), "{error}");
    let first = database.number("SELECT min(id) FROM soloist_entries").to_string();
    soloist_says(database, &["entries", "cancel", &first]);
    insert("k").expect("the key is free");
}

fn a_second_insert_can_be_ignored(database: &TestDatabase) {
    migrate(database);
    let ignore = match database.backend() {
        Backend::Sqlite | Backend::Postgres => "ON CONFLICT DO NOTHING",
        Backend::MariaDb | Backend::MySql => "ON DUPLICATE KEY UPDATE id = id",
    };
    for _ in 0..2 {
        database.sql(&format!(
            "INSERT INTO soloist_entries (task, payload, dedupe_key) VALUES ('mail', '1', 'k') {ignore}"
        ));
    }
    assert_eq!(count(database), 1);
    database.sql(&format!(
        "INSERT INTO soloist_entries (task, payload, dedupe_key) VALUES ('mail', '2', 'k'), ('mail', '3', 'l') {ignore}"
    ));
    let payloads = database.query("SELECT payload FROM soloist_entries ORDER BY id");
    assert_eq!(payloads.into_iter().flatten().flatten().collect::<Vec<_>>(), ["1", "3"]);
}

/// A client of the database that keeps its transaction open until it is told to go on.
fn open_client(database: &TestDatabase, payload: i64) -> Child {
    let url = url_of(database);
    let mut command = match database.backend() {
        Backend::Sqlite => {
            let mut command = Command::new("python3");
            let script = "import sqlite3, sys\n\
                c = sqlite3.connect(sys.argv[1], timeout=30, isolation_level=None)\n\
                for line in sys.stdin:\n    print(c.execute(line).fetchall(), flush=True)\n";
            command.args(["-c", script]).arg(database.path().unwrap());
            command
        }
        Backend::Postgres => {
            let mut command = Command::new("psql");
            command.args(["-q", "-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", database.url().as_str()]);
            command
        }
        Backend::MariaDb | Backend::MySql => {
            let mut command = Command::new("mariadb");
            command.args(["-n", "-N", "-h", &url.0, "-P", &url.1, "-u", "root", &url.2]);
            command
        }
    };
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let begin = if database.backend() == Backend::Sqlite { "BEGIN IMMEDIATE" } else { "BEGIN" };
    tell(&mut child, begin);
    tell(
        &mut child,
        &format!("INSERT INTO soloist_entries (task, payload, dedupe_key) VALUES ('mail', '{payload}', 'k')"),
    );
    child
}

fn url_of(database: &TestDatabase) -> (String, String, String) {
    let url = database.url();
    let rest = url.split_once('@').map_or("", |(_, rest)| rest);
    let (place, name) = rest.split_once('/').unwrap_or((rest, ""));
    let (host, port) = place.split_once(':').unwrap_or((place, "3306"));
    (host.into(), port.into(), name.into())
}

fn tell(child: &mut Child, sql: &str) {
    writeln!(child.stdin.as_mut().unwrap(), "{sql};").unwrap();
    child.stdin.as_mut().unwrap().flush().unwrap();
}

/// Waits until a client has done all that it was told.
fn wait_for_word(child: &mut Child) {
    tell(child, "SELECT 'ready'");
    let out = child.stdout.as_mut().unwrap();
    let mut text = String::new();
    while !text.contains("ready") {
        let mut byte = [0];
        out.read_exact(&mut byte).expect("the client goes on");
        text.push(byte[0].into());
    }
}

/// Ends a client: whether all that it was told succeeded.
fn finish(mut child: Child, sql: &str) -> Result<(), String> {
    // A client that has failed already reads no more.
    let _ = writeln!(child.stdin.as_mut().unwrap(), "{sql};");
    drop(child.stdin.take());
    let output = child.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(()) } else { Err(error) }
}

/// How many inserts wait for another's lock.
fn waiting(database: &TestDatabase) -> i64 {
    match database.backend() {
        Backend::Postgres => database.number(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
        ),
        Backend::MariaDb | Backend::MySql => database.number(
            "SELECT count(*) FROM information_schema.processlist \
             WHERE db = database() AND state = 'Update' AND info LIKE 'INSERT INTO soloist_entries%'",
        ),
        Backend::Sqlite => 1,
    }
}

fn two_open_transactions_cannot_hold_one_key(database: &TestDatabase) {
    migrate(database);
    if database.backend() == Backend::MySql {
        return;
    }
    for end in ["COMMIT", "ROLLBACK"] {
        database.sql("DELETE FROM soloist_entries");
        let mut first = open_client(database, 1);
        wait_for_word(&mut first);
        let mut second = open_client(database, 2);
        until(Duration::from_secs(20), "the second insert waits", || waiting(database) == 1);
        assert!(second.try_wait().unwrap().is_none(), "it waits");
        finish(first, end).unwrap();
        let second = finish(second, "COMMIT");
        let payload = database.value("SELECT payload FROM soloist_entries");
        if end == "COMMIT" {
            let error = second.unwrap_err().to_lowercase();
            assert!(error.contains("unique") || error.contains("duplicate"), "{error}");
            assert_eq!(payload.as_deref(), Some("1"));
        } else {
            second.unwrap();
            assert_eq!(payload.as_deref(), Some("2"));
        }
    }
}

fn a_rollback_takes_the_entry_along(database: &TestDatabase) {
    migrate(database);
    database.sql("CREATE TABLE orders (id BIGINT)");
    database.sql("BEGIN; INSERT INTO orders VALUES (1); INSERT INTO soloist_entries (task) VALUES ('mail'); ROLLBACK;");
    assert_eq!(count(database), 0);
    database.sql("BEGIN; INSERT INTO orders VALUES (1); INSERT INTO soloist_entries (task) VALUES ('mail'); COMMIT;");
    assert_eq!((count(database), database.number("SELECT count(*) FROM orders")), (1, 1));
}

fn ids_are_never_used_twice(database: &TestDatabase) {
    migrate(database);
    database.sql("INSERT INTO soloist_entries (task) VALUES ('mail'), ('mail')");
    let last = newest(database);
    database.sql("DELETE FROM soloist_entries");
    database.sql("INSERT INTO soloist_entries (task) VALUES ('mail')");
    assert!(newest(database) > last);
}

fn dates_can_be_read(database: &TestDatabase) {
    migrate(database);
    database.sql("INSERT INTO soloist_entries (task, payload, run_at) VALUES ('mail', '1', 4102444800500000)");
    if database.backend() == Backend::Postgres {
        let sql = "SELECT run_at AT TIME ZONE 'UTC' FROM soloist_entries_readable";
        assert_eq!(database.value(sql).as_deref(), Some("2100-01-01 00:00:00.5"));
    } else {
        let text = database.value("SELECT run_at FROM soloist_entries_readable").unwrap();
        assert!(text.starts_with("2100-01-01 00:00:00.5"), "{text}");
    }
    let row = &database.query("SELECT task, state, payload, finished_at FROM soloist_entries_readable")[0];
    assert_eq!(row[..3], ["mail", "pending", "1"].map(|text| Some(text.to_owned())));
    assert_eq!(row[3], None);
}
