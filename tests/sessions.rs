#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
//! What a user wrote in SQL runs with the settings that the role gets from its server, and READ COMMITTED.

#[path = "processes/setting.rs"]
mod setting;

use house::{Backend, Node, PrivateServer, TestDatabase, until};
use setting::{SOON, config};
use soloist::config::{Database, DatabaseUrl};
use soloist::store::statement::Statement;
use soloist::store::{Connection, Store};

/// An SQL handler, a predicate and a write-back that say in which session they ran. Rows are due by the local time of
/// the role: one is, one will be in an hour, one was an hour ago by any clock further west.
fn tasks(local: &str, zone: &str, more: &str) -> String {
    format!(
        "[tasks.note]\nsql = \"INSERT INTO notes (zone, more) VALUES ({zone}, {more})\"\n\
         [tasks.rows]\nsql = \"SELECT 1\"\n[tasks.rows.source]\ntable = \"reminders\"\nkey = \"id\"\n\
         pending = \"processed = FALSE AND due <= {local}\"\n\
         done = \"processed = TRUE, zone = {zone}, more = {more}\"\nevery = \"200ms\"\n"
    )
}

fn of_session(database: &TestDatabase, tasks: &str) -> Vec<Vec<Option<String>>> {
    let node = Node::start(&config(database, "", "", tasks)).wait_ready();
    let answer = node.api("POST", "/api/v1/entries", "{\"task\": \"note\"}");
    assert_eq!(answer.status, 201, "{answer:?}");
    until(SOON, "the row that is due is marked and the note is taken", || {
        database.number("SELECT count(*) FROM app_reminders WHERE zone IS NOT NULL") > 0
            && database.number("SELECT count(*) FROM app_notes") > 0
    });
    assert_eq!(database.value("SELECT max(id) FROM app_reminders WHERE zone IS NOT NULL"), Some("1".to_owned()));
    database
        .query("SELECT DISTINCT zone, more FROM app_reminders WHERE id = 1 UNION ALL SELECT zone, more FROM app_notes")
}

#[test]
fn postgres_gives_the_zone_and_the_path_of_the_role() {
    Backend::Postgres.run(|database| {
        let name = database.value("SELECT current_database()").unwrap();
        database.sql(&format!(
            "CREATE SCHEMA app;
             CREATE TABLE app.notes (zone TEXT, more TEXT);
             CREATE TABLE app.reminders (id BIGINT PRIMARY KEY, due TIMESTAMP NOT NULL, processed BOOLEAN NOT NULL \
               DEFAULT FALSE, zone TEXT, more TEXT);
             CREATE VIEW app_notes AS SELECT * FROM app.notes;
             CREATE VIEW app_reminders AS SELECT * FROM app.reminders;
             INSERT INTO app.reminders (id, due) VALUES \
               (1, (now() AT TIME ZONE 'Asia/Kolkata') - interval '1 minute'), \
               (2, (now() AT TIME ZONE 'Asia/Kolkata') + interval '1 hour');
             ALTER DATABASE {name} SET timezone TO 'UTC';
             ALTER ROLE CURRENT_USER IN DATABASE {name} SET timezone TO 'Asia/Kolkata';
             ALTER ROLE CURRENT_USER IN DATABASE {name} SET search_path TO 'public', 'app';
             ALTER ROLE CURRENT_USER IN DATABASE {name} SET default_transaction_isolation TO 'serializable'"
        ));
        let more = "current_setting('search_path') || '; ' || current_setting('transaction_isolation')";
        let seen = of_session(database, &tasks("localtimestamp", "current_setting('TimeZone')", more));
        let wanted = [Some("Asia/Kolkata".to_owned()), Some("public, app; read committed".to_owned())];
        assert_eq!(seen, [wanted.clone(), wanted]);
    });
}

/// Behind a pooler a session cannot be told its isolation: each transaction is.
#[test]
fn behind_a_pooler_transactions_are_read_committed_too() {
    Backend::Postgres.run(|database| {
        let name = database.value("SELECT current_database()").unwrap();
        let role = format!("ALTER ROLE CURRENT_USER IN DATABASE {name}");
        database.sql(&format!("{role} SET default_transaction_isolation TO 'serializable'"));
        let url = DatabaseUrl::parse(&database.url()).unwrap();
        let settings = Database { url, pooler: true, ..Database::default() };
        let store = Store::new(&settings, std::time::Duration::from_secs(15), 1);
        let mut connection = store.work().unwrap();
        let is = |level: &str| {
            format!(
                "SELECT count(*) AS n FROM (SELECT 1) AS one WHERE current_setting('transaction_isolation') = '{level}'"
            )
        };
        let inside = |connection: &mut Connection| connection.number(Statement::new(is("read committed")));
        assert_eq!(connection.number(Statement::new(is("serializable"))).unwrap(), 1);
        assert_eq!(connection.transaction(inside).unwrap(), 1);
        assert_eq!(connection.transaction(|connection| connection.transaction(inside)).unwrap(), 1);
        drop(connection);
        database.sql(
            "CREATE TABLE images (id BIGINT PRIMARY KEY, processed BOOLEAN NOT NULL DEFAULT FALSE); \
             INSERT INTO images SELECT generate_series(1, 50)",
        );
        let tasks = "[tasks.rows]\nsql = \"SELECT 1\"\nconcurrency = 4\n[tasks.rows.source]\ntable = \"images\"\nkey = \"id\"\n\
                     pending = \"processed = FALSE\"\ndone = \"processed = TRUE\"\nevery = \"200ms\"\n";
        let _node = Node::start(&config(database, "pooler = true", "", tasks)).wait_ready();
        until(SOON, "a node works behind it", || {
            database.number("SELECT count(*) FROM images WHERE processed") == 50
        });
    });
}

#[test]
fn mariadb_gives_the_zone_of_the_server() {
    let Some(server) = PrivateServer::start_new(Backend::MariaDb) else { return };
    let database = TestDatabase::on(Backend::MariaDb, server.url());
    database.sql(
        "SET GLOBAL time_zone = '+05:30'; SET GLOBAL tx_isolation = 'SERIALIZABLE';
         CREATE TABLE notes (zone VARCHAR(100), more VARCHAR(100));
         CREATE TABLE reminders (id BIGINT PRIMARY KEY, due DATETIME NOT NULL, processed BOOLEAN NOT NULL \
           DEFAULT FALSE, zone VARCHAR(100), more VARCHAR(100));
         CREATE VIEW app_notes AS SELECT * FROM notes;
         CREATE VIEW app_reminders AS SELECT * FROM reminders;
         INSERT INTO reminders (id, due) VALUES (1, utc_timestamp() + INTERVAL '5:29' HOUR_MINUTE), \
           (2, utc_timestamp() + INTERVAL '6:30' HOUR_MINUTE);",
    );
    let seen = of_session(&database, &tasks("now()", "@@session.time_zone", "@@session.tx_isolation"));
    let wanted = [Some("+05:30".to_owned()), Some("READ-COMMITTED".to_owned())];
    assert_eq!(seen, [wanted.clone(), wanted]);
    drop(database);
}
