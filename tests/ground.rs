//! What the other tests stand on holds: databases on every backend, the web hook, waiting, skewed clocks.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::{process::Command, time::Duration};

use house::{Answer, Backend, Hook, PrivateServer, TestDatabase, on_every_backend, request, until};

on_every_backend!(starts_empty_and_apart, tells_null_from_text, says_why_sql_is_refused);

fn starts_empty_and_apart(database: &TestDatabase) {
    database.sql(
        "CREATE TABLE images (id BIGINT PRIMARY KEY); INSERT INTO images VALUES (1); INSERT INTO images VALUES (2)",
    );
    assert_eq!(database.number("SELECT count(*) FROM images"), 2);
    let other = TestDatabase::new(database.backend()).expect("it was there for the first");
    other.sql("CREATE TABLE images (id BIGINT PRIMARY KEY)");
    assert_eq!(other.number("SELECT count(*) FROM images"), 0);
    assert!(other.query("SELECT id FROM images").is_empty());
    assert_ne!(other.url(), database.url());
}

fn tells_null_from_text(database: &TestDatabase) {
    let awkward = "NULL <b> & \"quoted\"\ttab\nline ä 漢 😀";
    let empty = String::new();
    let rows = database
        .query(&format!("SELECT NULL, '', 'NULL', '{awkward}', 7 UNION ALL SELECT '', NULL, '', '', 8 ORDER BY 5"));
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(rows[0], [None, Some(empty), text("NULL"), text(awkward), text("7")]);
    assert_eq!(rows[1], [text(""), None, text(""), text(""), text("8")]);
    assert_eq!(rows.len(), 2);
}

fn says_why_sql_is_refused(database: &TestDatabase) {
    let error = database.try_sql("SELECT * FROM nowhere").expect_err("there is no such table");
    assert!(error.contains("nowhere"), "{error}");
    database.sql("CREATE TABLE kept (id BIGINT)");
    let refused = database.try_sql("BEGIN; INSERT INTO kept VALUES (1); SELECT * FROM nowhere; COMMIT;");
    assert!(refused.is_err(), "the first error ends the client");
    assert_eq!(database.number("SELECT count(*) FROM kept"), 0, "what it left open is rolled back");
}

#[test]
fn a_private_server_keeps_its_data_over_a_crash() {
    for backend in [Backend::Postgres, Backend::MariaDb] {
        let Some(mut server) = PrivateServer::start_new(backend) else { continue };
        let database = TestDatabase::on(backend, server.url());
        database.sql("CREATE TABLE kept (id BIGINT); INSERT INTO kept VALUES (42)");
        server.kill();
        assert!(database.try_sql("SELECT 1").is_err(), "{backend:?} is gone");
        server.start();
        assert_eq!(database.number("SELECT id FROM kept"), 42);
        server.stop();
        assert!(database.try_sql("SELECT 1").is_err(), "{backend:?} is gone");
        server.start();
        assert_eq!(database.number("SELECT id FROM kept"), 42);
    }
}

#[test]
fn the_hook_records_and_answers() {
    let hook = Hook::start(|received| match received.path.as_str() {
        "/cut" => Answer::Cut,
        "/busy" => Answer::Full(503, vec![("Retry-After".into(), "7".into())], "later".into()),
        _ => Answer::from(204),
    });
    let answer = request(hook.port(), "POST", "/busy", &[("X-Team", "img")], r#"{"id":17}"#).unwrap();
    assert_eq!((answer.status, answer.header("retry-after"), answer.body.as_str()), (503, Some("7"), "later"));
    assert!(request(hook.port(), "POST", "/cut", &[], "").is_err());
    assert_eq!(request(hook.port(), "GET", "/", &[], "").unwrap().status, 204);
    let received = hook.received();
    assert_eq!(received.iter().map(|one| one.path.as_str()).collect::<Vec<_>>(), ["/busy", "/cut", "/"]);
    assert_eq!(received[0].header("x-team"), Some("img"));
    assert_eq!(received[0].json()["id"], 17);
}

#[test]
#[should_panic(expected = "waited 20ms in vain for this: the moon falls")]
fn waiting_ends_with_what_was_waited_for() {
    until(Duration::from_millis(20), "the moon falls", || false);
}

#[test]
fn a_skewed_clock_is_skewed() {
    let Some(environment) = house::faketime("+1000d") else { return };
    let seconds = |command: &mut Command| -> i64 {
        String::from_utf8(command.arg("+%s").output().unwrap().stdout).unwrap().trim().parse().unwrap()
    };
    let ahead = seconds(Command::new("date").envs(environment)) - seconds(&mut Command::new("date"));
    assert!((ahead - 86_400_000).abs() < 60, "{ahead} s ahead");
}

#[test]
fn the_binary_is_found() {
    assert!(house::soloist().arg("--version").output().is_ok());
}
