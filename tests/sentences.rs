//! Each sentence of the status, from its situation in a real database: rows as they would be, times set by SQL, and the
//! facts read by the statements that read them everywhere.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "sentences/bases.rs"]
mod bases;
#[path = "sentences/due_times.rs"]
mod due_times;
#[path = "sentences/nodes.rs"]
mod of_nodes;
#[path = "sentences/work.rs"]
mod work;

use std::time::Duration;

use house::TestDatabase;
use soloist::config::{Database, DatabaseUrl};
use soloist::problems::Problem;
use soloist::store::status::{self, Status};
use soloist::store::{Lent, Store, migrate, nodes};

const SECOND: i64 = 1_000_000;

/// A migrated database with a living node that declares the task `mail`, eight at once.
struct Situation<'a> {
    database: &'a TestDatabase,
    store: Store,
    now: i64,
}

impl<'a> Situation<'a> {
    fn new(database: &'a TestDatabase) -> Self {
        let url = DatabaseUrl::parse(&database.url()).unwrap();
        let store = Store::new(&Database { url, ..Database::default() }, Duration::from_secs(15), 1);
        let mut connection = store.work().unwrap();
        migrate::up(&mut connection).unwrap();
        let now = nodes::clock(&mut connection).unwrap();
        drop(connection);
        let situation = Self { database, store, now };
        situation.node(3, "web-1", "scheduler,worker", -3600, 3600);
        situation.declares(3, "task", "mail", r#"{"handler":"http","max_attempts":3,"concurrency":8}"#);
        situation
    }

    fn connection(&self) -> Lent {
        self.store.work().unwrap()
    }

    /// So many seconds from now, as the database has it.
    fn at(&self, seconds: i64) -> i64 {
        self.now + seconds * SECOND
    }

    fn sql(&self, sql: &str) -> &Self {
        self.database.sql(sql);
        self
    }

    fn node(&self, id: i64, name: &str, roles: &str, started: i64, lease: i64) -> &Self {
        let (started, until) = (self.at(started), self.at(lease));
        self.sql(&format!(
            "INSERT INTO soloist_nodes (id, name, roles, version, started_at, seen_at, lease_until) \
             VALUES ({id}, '{name}', '{roles}', '1', {started}, {}, {until})",
            (until - 15 * SECOND).min(self.now)
        ))
    }

    fn declares(&self, node: i64, kind: &str, name: &str, body: &str) -> &Self {
        self.sql(&format!(
            "INSERT INTO soloist_declarations (node_id, kind, name, body, declared_at) \
             VALUES ({node}, '{kind}', '{name}', '{body}', 1)"
        ))
    }

    /// An entry of `mail`; `more` are further columns with their values.
    fn entry(&self, state: &str, more: &[(&str, String)]) -> &Self {
        let columns: String = more.iter().map(|(name, _)| format!(", {name}")).collect();
        let values: String = more.iter().map(|(_, value)| format!(", {value}")).collect();
        self.sql(&format!("INSERT INTO soloist_entries (task, state{columns}) VALUES ('mail', '{state}'{values})"))
    }

    fn status(&self) -> Status {
        status::read(&mut self.connection()).unwrap()
    }

    fn problems(&self) -> Vec<Problem> {
        self.status().problems
    }

    fn sentences(&self) -> Vec<String> {
        self.problems().into_iter().map(|problem| problem.sentence).collect()
    }

    #[track_caller]
    fn says(&self, sentence: &str) -> Problem {
        let problems = self.problems();
        let found = problems.iter().find(|problem| problem.sentence == sentence);
        found.unwrap_or_else(|| panic!("{sentence:?} is not among {problems:#?}")).clone()
    }

    #[track_caller]
    fn says_nothing(&self) {
        let sentences = self.sentences();
        assert!(sentences.is_empty(), "{sentences:?}");
    }

    /// As sentences have it: the time of day, with the date if it is not that of now.
    fn moment(&self, seconds: i64) -> String {
        let zoned = |at| jiff::Timestamp::from_microsecond(at).unwrap().to_zoned(jiff::tz::TimeZone::UTC);
        let (at, now) = (zoned(self.at(seconds)), zoned(self.now));
        let form = if at.date() == now.date() { "%H:%M UTC" } else { "%Y-%m-%d %H:%M UTC" };
        at.strftime(form).to_string()
    }
}
