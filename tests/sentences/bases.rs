//! What all rests on: the database, nodes and their duties.

use std::time::Duration;

use house::{Backend, PrivateServer, TestDatabase, on_every_backend};
use soloist::problems::Level;
use soloist::store::Store;
use soloist::store::duties::{self, Told, ToldDuty, ToldJump};
use soloist::store::status::LastSeen;

use super::Situation;

on_every_backend!(
    a_duty_fails,
    a_node_says_nothing_of_its_duties,
    the_clock_has_jumped,
    a_node_has_fallen_silent,
    a_lease_is_lost_again_and_again,
    notes_are_no_problems,
    all_is_well,
    a_database_refuses_writes,
);

fn rescue(of: &Situation<'_>, failing_ms: Option<u64>) {
    let duty = ToldDuty {
        name: "rescue".into(),
        every_ms: Some(500),
        patience_ms: 15_000,
        done_ms_ago: failing_ms.unwrap_or(100),
        failing_ms,
        error: failing_ms.map(|_| "canceling statement due to lock timeout".to_owned()),
    };
    duties::tell(&mut of.connection(), 3, &Told { duties: vec![duty], jump: None }).unwrap();
}

fn a_duty_fails(database: &TestDatabase) {
    let of = Situation::new(database);
    rescue(&of, Some(1_140_000));
    // The telling is of a moment after the situation: by a second or two it may be another minute.
    let problem = of.problems().remove(0);
    let (before, after) = problem.sentence.split_once(" since ").unwrap();
    assert_eq!(before, "Rescue has not worked");
    assert!(after.ends_with(" UTC: what a dead node held stays where it is."), "{after}");
    assert_eq!((problem.level, problem.code), (Level::Broken, "duty_fails"));
    assert_eq!(problem.detail.as_deref(), Some("`canceling statement due to lock timeout`, on web-1."));
    let duty = of.status().duties.remove(0);
    assert_eq!((duty.node.as_str(), duty.name.as_str(), duty.every_s), ("web-1", "rescue", Some(0.5)));
    rescue(&of, Some(5_000));
    of.says_nothing();
    rescue(&of, None);
    of.says_nothing();
}

fn a_node_says_nothing_of_its_duties(database: &TestDatabase) {
    let of = Situation::new(database);
    rescue(&of, None);
    of.sql(&format!("UPDATE soloist_duties SET told_at = {}", of.at(-60)));
    let since = of.moment(-60);
    of.says(&format!("web-1 keeps its lease and has not said since {since} how its duties stand."));
    of.sql(&format!("UPDATE soloist_nodes SET stopped_at = {}", of.now)).says_nothing();
}

fn the_clock_has_jumped(database: &TestDatabase) {
    let of = Situation::new(database);
    let jump = ToldJump { ms_ago: 0, by_micros: -42_000_000, lease_ms: 15_000 };
    duties::tell(&mut of.connection(), 3, &Told { duties: Vec::new(), jump: Some(jump) }).unwrap();
    let problem = of.problems().remove(0);
    assert!(problem.sentence.starts_with("The database's clock jumped back by 42 s at "), "{problem:?}");
    of.sql("UPDATE soloist_duties SET told_at = told_at - 3700000000");
    assert!(!of.sentences().iter().any(|sentence| sentence.contains("clock")));
}

fn taken_over(of: &Situation<'_>, node: i64, entries: i64) {
    for n in 0..entries {
        of.sql(&format!(
            "INSERT INTO soloist_attempts (entry_id, claim, attempt, node_id, finished_at, outcome) \
             VALUES ({}, 1, 1, {node}, {}, 'lost')",
            1000 * node + n,
            of.at(-60)
        ));
    }
}

fn a_node_has_fallen_silent(database: &TestDatabase) {
    let of = Situation::new(database);
    of.node(1, "web-3", "worker", -9000, -705);
    taken_over(&of, 1, 8);
    let problem = of.says("web-3 has been silent for 12 min; its 8 entries were taken over.");
    assert_eq!((problem.level, problem.node.as_deref()), (Level::Risk, Some("web-3")));
}

fn a_lease_is_lost_again_and_again(database: &TestDatabase) {
    let of = Situation::new(database);
    of.node(1, "web-1", "worker", -9000, -1200).node(2, "web-1", "worker", -1190, -600);
    taken_over(&of, 1, 2);
    taken_over(&of, 2, 3);
    of.says("web-1 lost its lease 2 times in an hour, and 5 entries of it were taken over.");
    of.sql("DELETE FROM soloist_nodes WHERE id = 1").says_nothing();
}

fn notes_are_no_problems(database: &TestDatabase) {
    let of = Situation::new(database);
    of.node(4, "web-2", "worker", -1200, 3600);
    of.sql("UPDATE soloist_nodes SET draining = 1, version = '2' WHERE id = 4");
    of.entry("running", &[("node_id", "4".into()), ("started_at", of.at(-1).to_string())]);
    let status = of.status();
    assert!(status.problems.is_empty(), "{:?}", status.problems);
    let notes: Vec<_> = status.notes.into_iter().map(|note| note.sentence).collect();
    let since = of.moment(-1200);
    assert_eq!(
        notes,
        [
            "web-2 is stopping: it finishes 1 entry first.".to_owned(),
            format!("Nodes run 1 and 2 side by side since {since}.")
        ]
    );
}

fn all_is_well(database: &TestDatabase) {
    let of = Situation::new(database);
    assert_eq!(of.status().verdict.sentence, "Ready. 1 node, 1 task declared, nothing to do.");
    of.sql(&format!(
        "INSERT INTO soloist_minutes (starts_at, span, task, node_id, started, completed, retried, failed, waits, runs) \
         VALUES ({}, 60, 'mail', 3, 590, 590, 0, 0, '', '')",
        of.at(-60)
    ));
    let verdict = of.status().verdict;
    assert_eq!(verdict.sentence, "All is well. 1 node, nothing late.");
    assert_eq!(verdict.detail.as_deref(), Some("118 entries a minute, none waits."));
    of.sql(&format!(
        "INSERT INTO soloist_firings (schedule, scheduled_for, decided_at, outcome) \
         VALUES ('nightly', {due}, {due}, 'fired')",
        due = of.at(-7200)
    ));
    let sentence = format!("All is well. 1 node, nothing late; `nightly` fired at {}.", of.moment(-7200));
    assert_eq!(of.status().verdict.sentence, sentence);
}

fn a_database_refuses_writes(database: &TestDatabase) {
    let of = Situation::new(database);
    let seen = LastSeen::new(of.store.clone());
    // What this process hears when it renews its lease.
    let error = "could not extend file \"base/1/2\": No space left on device";
    let status = seen.look(Some(error)).unwrap();
    let sentence = "The database refuses writes: nothing can be claimed, finished or fired.";
    assert_eq!(status.problems[0].sentence, sentence);
    assert_eq!(status.problems[0].detail, Some(format!("`{error}`")));
    assert!(seen.look(Some("canceling statement due to lock timeout")).unwrap().problems.is_empty());
    // What everybody sees once no node can keep its lease.
    of.sql(&format!("UPDATE soloist_nodes SET lease_until = {}", of.at(-5)));
    assert_ne!(of.problems().first().map(|problem| problem.code), Some("writes_refused"));
    if database.backend() == Backend::Postgres {
        let name = database.value("SELECT current_database()").unwrap();
        of.sql(&format!("ALTER DATABASE {name} SET default_transaction_read_only = on"));
        let fresh = Store::new(&of.store.database, Duration::from_secs(15), 1);
        let status = LastSeen::new(fresh).look(None).unwrap();
        assert_eq!(status.problems.len(), 1, "{:?}", status.problems);
        assert_eq!(status.problems[0].sentence, sentence);
        assert!(status.problems[0].detail.as_deref().unwrap().contains("read-only"), "{:?}", status.problems);
    }
}

/// What was seen last stays, beside the one problem that there is then; and once it is back, all is as before.
fn the_database_goes_and_comes_back(backend: Backend) {
    let Some(mut server) = PrivateServer::start_new(backend) else { return };
    let database = TestDatabase::on(backend, server.url());
    let of = Situation::new(&database);
    let seen = LastSeen::new(of.store.clone());
    of.entry("pending", &[]);
    let before = seen.look(None).unwrap();
    assert!(!before.away && before.tasks[0].pending == 1);
    server.kill();
    let away = seen.look(None).unwrap();
    assert!(away.away);
    assert_eq!(away.verdict.sentence, "Soloist cannot reach its database: nothing is claimed or fired here.");
    assert_eq!((away.problems.len(), away.problems[0].level), (1, Level::Stopped));
    assert_eq!((away.as_of, away.tasks[0].pending), (before.as_of, 1), "what was seen last");
    let again = seen.look(None).unwrap();
    assert_eq!(again.problems[0].since, away.problems[0].since, "since the first time");
    server.start();
    let back = seen.look(None).unwrap();
    assert!(!back.away && back.as_of > before.as_of, "{:?}", back.problems);
}

#[test]
fn postgres_goes_and_comes_back() {
    the_database_goes_and_comes_back(Backend::Postgres);
}

#[test]
fn mariadb_goes_and_comes_back() {
    the_database_goes_and_comes_back(Backend::MariaDb);
}
