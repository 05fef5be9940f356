//! Schedules and their due times: nobody fires, missed, skipped, late, stopped.

use std::time::Duration;

use house::{TestDatabase, on_every_backend};
use soloist::config::schedule::{Definition, Overlap, Schedule, Trigger};
use soloist::problems::Level;

use super::{SECOND, Situation};

on_every_backend!(
    schedules_are_declared_where_nobody_fires,
    a_due_time_was_missed,
    a_due_time_was_skipped,
    firings_are_late,
    schedules_have_stopped,
);

/// As the database has it.
fn definition(overlap: Overlap) -> String {
    let every = Trigger::Every(Duration::from_secs(86_400));
    Definition::from(&Schedule { overlap, ..Schedule::new("nightly", "mail", every) }).to_json()
}

/// A schedule whose newest due time, an hour ago, did not fire.
fn unfired(of: &Situation<'_>, outcome: &str, reason: &str) {
    let (due, definition) = (of.at(-3600), definition(Overlap::Skip));
    of.sql(&format!(
        "INSERT INTO soloist_schedules (name, task, definition, origin, anchor, look_at, next_fire_at, run_from, changed_at) \
         VALUES ('nightly', 'mail', '{definition}', 'config', 1, {next}, {next}, {due}, 1)",
        next = of.at(3600)
    ));
    of.sql(&format!(
        "INSERT INTO soloist_firings (schedule, scheduled_for, decided_at, outcome, reason, run_until, run_count) \
         VALUES ('nightly', {due}, {}, '{outcome}', '{reason}', {due}, 1)",
        of.at(-10)
    ));
}

fn schedules_are_declared_where_nobody_fires(database: &TestDatabase) {
    let of = Situation::new(database);
    let body = format!(r#"{{"definition":{},"sweeps":false}}"#, definition(Overlap::Skip));
    of.declares(3, "schedule", "nightly", &body).says_nothing();
    of.sql("UPDATE soloist_nodes SET roles = 'worker'");
    let problem = of.says("No node fires schedules, and `nightly` is declared.");
    assert_eq!((problem.level, problem.code), (Level::Broken, "no_scheduler"));
    assert_eq!(problem.detail.as_deref(), Some("web-1 lives, without the role scheduler."));
}

fn a_due_time_was_missed(database: &TestDatabase) {
    let of = Situation::new(database);
    of.sql(&format!("UPDATE soloist_nodes SET started_at = {}", of.at(-1800)));
    of.node(1, "web-2", "scheduler", -9000, -7200);
    of.sql(&format!("UPDATE soloist_nodes SET stopped_at = {} WHERE id = 1", of.at(-7200)));
    unfired(&of, "missed", "missed, and misfire is skip");
    let problem = of.says(&format!("`nightly` did not run at {}.", of.moment(-3600)));
    assert_eq!((problem.level, problem.schedule.as_deref()), (Level::Broken, Some("nightly")));
    let (from, to) = (of.moment(-7200), of.moment(-1800));
    let detail = format!("No scheduler lived from {from} to {to}. It was missed, and misfire is skip.");
    assert_eq!(problem.detail, Some(detail));
    // As a firing leaves it.
    of.sql("UPDATE soloist_schedules SET run_from = NULL").says_nothing();
}

fn a_due_time_was_skipped(database: &TestDatabase) {
    let of = Situation::new(database);
    unfired(&of, "skipped", "the one before still goes on");
    let started = of.at(-88_080);
    let run =
        [("node_id", "3".to_owned()), ("started_at", started.to_string()), ("scheduled_for", started.to_string())];
    of.entry("running", &run);
    of.sql("UPDATE soloist_entries SET schedule = 'nightly'");
    of.sql("UPDATE soloist_schedules SET last_entry_id = (SELECT max(id) FROM soloist_entries)");
    for n in 2..=4 {
        let due = of.at(-86_400 * n);
        of.sql(&format!(
            "INSERT INTO soloist_firings (schedule, scheduled_for, decided_at, outcome, result, ended_at) \
             VALUES ('nightly', {due}, {due}, 'fired', 'completed', {})",
            due + 2460 * SECOND
        ));
    }
    let sentence = format!("`nightly` skipped {}: the run of {} still goes on.", of.moment(-3600), of.moment(-88_080));
    let problem = of.says(&sentence);
    assert_eq!(problem.detail.as_deref(), Some("It has run for 1 d; 41 min is usual."));
    assert_eq!(of.problems().len(), 1, "that it runs long is not told once more");
}

fn firings_are_late(database: &TestDatabase) {
    let of = Situation::new(database);
    for (name, overlap) in [("often", Overlap::Skip), ("queued", Overlap::Queue)] {
        let definition = definition(overlap);
        of.sql(&format!(
            "INSERT INTO soloist_schedules (name, task, definition, origin, anchor, changed_at) \
             VALUES ('{name}', 'mail', '{definition}', 'api', 1, 1)"
        ));
    }
    let fired = |schedule: &str, n: i64, late: i64| {
        of.sql(&format!(
            "INSERT INTO soloist_firings (schedule, scheduled_for, decided_at, outcome) VALUES ('{schedule}', {}, {}, 'fired')",
            of.at(-100 + n),
            of.at(-100 + n + late)
        ));
    };
    // What waits for its turn is meant to, and what was missed and made up is another story.
    (0..5).for_each(|n| fired("queued", n, 3));
    (0..5).for_each(|n| fired("often", n, 25));
    (10..20).for_each(|n| fired("often", n, 0));
    of.says_nothing();
    (20..23).for_each(|n| fired("often", n, 4));
    let problem = of.says("Firings are late: 3 of 13 of the last 5 min by more than a second, one by 4 s.");
    assert_eq!(problem.level, Level::Risk);
}

fn schedules_have_stopped(database: &TestDatabase) {
    let of = Situation::new(database);
    for name in ["hourly", "nightly"] {
        let definition = definition(Overlap::Skip);
        of.sql(&format!(
            "INSERT INTO soloist_schedules (name, task, definition, origin, declared, anchor, changed_at) \
             VALUES ('{name}', 'mail', '{definition}', 'config', 0, 1, 1)"
        ));
    }
    of.says("2 schedules no longer fire: no living node declares `hourly` and `nightly`.");
}
