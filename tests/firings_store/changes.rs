//! What becomes of due times that are not decided when their schedule changes, stops or goes.

use std::time::Duration;

use house::{TestDatabase, on_every_backend};
use soloist::config::NodeRole;
use soloist::config::schedule::{Definition, Misfire, Overlap, Schedule, Trigger};
use soloist::model::By;
use soloist::store::nodes::{self, Declaration, DeclarationKind};
use soloist::store::schedules::{self, DeclaredSchedule, Origin};
use soloist::store::{Connection, firings, status};

use crate::{leader, make_due_again, put, store};

on_every_backend!(
    a_changed_trigger_first_decides_what_was_due,
    what_is_declared_anew_first_decides_what_was_due,
    what_is_removed_leaves_nothing_undecided,
    what_waits_of_a_schedule_that_stops_is_skipped,
    what_a_newer_version_declares_is_kept_whole,
    the_newest_declaration_speaks_though_the_clock_was_set_back,
    what_people_made_stays_until_they_remove_it,
);

const HOUR: Duration = Duration::from_hours(1);

fn node(c: &mut Connection) -> i64 {
    nodes::register(c, "n", &[NodeRole::Scheduler], HOUR).unwrap()
}

fn task() -> Declaration {
    Declaration { kind: DeclarationKind::Task, name: "t".into(), body: "{}".into() }
}

fn hourly(name: &str) -> Schedule {
    Schedule::new(name, "t", Trigger::Every(HOUR))
}

fn declaration(schedule: &Schedule) -> Declaration {
    let body = DeclaredSchedule { definition: Definition::from(schedule), sweeps: false }.to_json();
    Declaration { kind: DeclarationKind::Schedule, name: schedule.name.clone(), body }
}

/// Outcome and reason of each firing, oldest due time first.
fn outcomes(c: &mut Connection, schedule: &str) -> Vec<(String, String)> {
    let mut list = firings::list(c, Some(schedule), None, 10).unwrap();
    list.reverse();
    list.into_iter().map(|item| (item.outcome, item.reason.unwrap_or_default())).collect()
}

fn fired() -> (String, String) {
    ("fired".into(), String::new())
}

fn skipped(reason: &str) -> (String, String) {
    ("skipped".into(), reason.into())
}

fn a_changed_trigger_first_decides_what_was_due(database: &TestDatabase) {
    let store = store(database);
    let c = &mut store.work().unwrap();
    let id = node(c);
    nodes::declare(c, id, &[task()], None).unwrap();
    // One was due before any scheduler had started, and is made up or not.
    put(database, &store, &["missed", "kept"], "t", Overlap::Skip);
    database.sql("UPDATE soloist_nodes SET started_at = started_at - 60000000");
    put(database, &store, &["late"], "t", Overlap::Skip);
    let day = |schedule: Schedule| Ok::<_, soloist::Error>(Schedule { trigger: Trigger::Every(24 * HOUR), ..schedule });
    for name in ["late", "kept"] {
        let changed = schedules::change(c, name, &By::cli("cli"), day).unwrap();
        assert!(changed.next_fire_at.unwrap() > nodes::clock(c).unwrap());
        assert_eq!(outcomes(c, name), [fired()]);
    }
    database.sql("UPDATE soloist_nodes SET started_at = started_at + 60000000");
    database.sql("UPDATE soloist_schedules SET next_fire_at = next_fire_at - 60000000 WHERE name = 'missed'");
    let skip = |schedule| Ok::<_, soloist::Error>(Schedule { misfire: Misfire::Skip, ..schedule });
    schedules::change(c, "missed", &By::cli("cli"), skip).unwrap();
    assert_eq!(outcomes(c, "missed"), [], "what it is due for did not change");
    schedules::change(c, "missed", &By::cli("cli"), day).unwrap();
    assert_eq!(outcomes(c, "missed"), [("missed".into(), "missed, and misfire is skip".into())]);
    assert_eq!(database.number("SELECT count(*) FROM soloist_entries"), 2);
    assert_eq!(firings::pass(c, &leader()).unwrap().fired, 0);
}

fn what_is_declared_anew_first_decides_what_was_due(database: &TestDatabase) {
    let store = store(database);
    let c = &mut store.work().unwrap();
    let id = node(c);
    let before = hourly("s");
    nodes::declare(c, id, &[task(), declaration(&before)], None).unwrap();
    schedules::reconcile(c, None).unwrap();
    make_due_again(database);
    nodes::declare(c, id, &[task(), declaration(&Schedule { trigger: Trigger::Every(2 * HOUR), ..before })], None)
        .unwrap();
    assert!(schedules::reconcile(c, None).unwrap().is_some());
    assert_eq!(outcomes(c, "s"), [fired()]);
    assert_eq!(database.number("SELECT count(*) FROM soloist_entries"), 1);
    assert!(schedules::get(c, "s").unwrap().next_fire_at.unwrap() > nodes::clock(c).unwrap());
}

fn what_is_removed_leaves_nothing_undecided(database: &TestDatabase) {
    let store = store(database);
    put(database, &store, &["s"], "t", Overlap::Queue);
    let c = &mut store.work().unwrap();
    firings::pass(c, &leader()).unwrap();
    let hour = 3_600_000_000_i64;
    // The next waits for the work of the first, and the one after has just been due.
    database.sql(&format!(
        "UPDATE soloist_schedules SET anchor = anchor - {hour}, next_fire_at = next_fire_at - {hour}, \
         queued_for = last_fired_at - 1"
    ));
    database.sql("DELETE FROM soloist_firings");
    schedules::remove(c, "s", &By::cli("cli")).unwrap();
    assert_eq!(outcomes(c, "s"), [skipped("the schedule was removed"), skipped("the schedule was removed")]);
    assert_eq!(database.number("SELECT count(*) FROM soloist_schedules"), 0);
    assert_eq!(database.number("SELECT count(*) FROM soloist_entries"), 1, "what it has made goes on");
}

fn what_waits_of_a_schedule_that_stops_is_skipped(database: &TestDatabase) {
    let store = store(database);
    let c = &mut store.work().unwrap();
    let id = node(c);
    let queue = Schedule { overlap: Overlap::Queue, ..hourly("s") };
    nodes::declare(c, id, &[task(), declaration(&queue)], None).unwrap();
    schedules::reconcile(c, None).unwrap();
    database.sql("UPDATE soloist_schedules SET queued_for = anchor, decided_until = anchor");
    nodes::declare(c, id, &[task()], None).unwrap();
    schedules::reconcile(c, None).unwrap();
    assert_eq!(outcomes(c, "s"), [skipped("no living node declares the schedule any more")]);
    assert_eq!(
        database.number("SELECT count(*) FROM soloist_schedules WHERE queued_for IS NULL AND look_at IS NULL"),
        1
    );
    // It comes back in phase.
    nodes::declare(c, id, &[task(), declaration(&queue)], None).unwrap();
    schedules::reconcile(c, None).unwrap();
    let due = database.number("SELECT anchor FROM soloist_schedules") + 3_600_000_000;
    assert_eq!(schedules::get(c, "s").unwrap().next_fire_at, Some(due));
}

fn what_a_newer_version_declares_is_kept_whole(database: &TestDatabase) {
    let store = store(database);
    let c = &mut store.work().unwrap();
    let id = node(c);
    let mut newer = declaration(&hourly("s"));
    newer.body = newer.body.replace("\"task\":", "\"calendar\":\"holidays\",\"task\":");
    nodes::declare(c, id, &[task(), newer], None).unwrap();
    let seen = schedules::reconcile(c, None).unwrap();
    let kept = "SELECT count(*) FROM soloist_schedules WHERE definition LIKE '%\"calendar\":\"holidays\"%'";
    assert_eq!(database.number(kept), 1);
    // It is in force as it is declared: nothing is left to be done.
    let before = database.number("SELECT changed_at FROM soloist_schedules");
    schedules::reconcile(c, None).unwrap();
    assert_eq!(database.number("SELECT changed_at FROM soloist_schedules"), before);
    assert_eq!(schedules::reconcile(c, seen.as_ref()).unwrap(), seen);
}

fn the_newest_declaration_speaks_though_the_clock_was_set_back(database: &TestDatabase) {
    let store = store(database);
    let c = &mut store.work().unwrap();
    let (one, other) = (node(c), node(c));
    let before = nodes::declare(c, one, &[task(), declaration(&hourly("s"))], None).unwrap();
    // As it looks to one that comes after the clock went back by an hour.
    database.sql("UPDATE soloist_declarations SET declared_at = declared_at + 3600000000");
    let two_hourly = Schedule { trigger: Trigger::Every(2 * HOUR), ..hourly("s") };
    let since = nodes::declare(c, other, &[task(), declaration(&two_hourly)], None).unwrap();
    assert!(since > before + 3_600_000_000);
    schedules::reconcile(c, None).unwrap();
    assert_eq!(schedules::get(c, "s").unwrap().definition.every.as_deref(), Some("2h"));
    assert_eq!(nodes::declare(c, one, &[], Some(before)).unwrap(), before, "an old declaration keeps its age");
}

fn what_people_made_stays_until_they_remove_it(database: &TestDatabase) {
    let store = store(database);
    let c = &mut store.work().unwrap();
    let id = node(c);
    nodes::declare(c, id, &[task()], None).unwrap();
    schedules::create(c, hourly("s"), &By::cli("cli")).unwrap();
    let declared = Schedule { trigger: Trigger::Every(2 * HOUR), ..hourly("s") };
    nodes::declare(c, id, &[task(), declaration(&declared)], None).unwrap();
    schedules::reconcile(c, None).unwrap();
    let shown = schedules::get(c, "s").unwrap();
    assert_eq!((shown.origin, shown.definition.every.as_deref()), (Origin::Cli, Some("1h")));
    let problems = status::read(c).unwrap().problems;
    let said = problems.iter().find(|problem| problem.code == "schedule_taken").unwrap();
    assert_eq!(said.sentence, "`s` fires as it was made by a command, not as nodes declare it.");
    assert_eq!(said.command.as_deref(), Some("soloist schedules remove s"));
    schedules::remove(c, "s", &By::cli("cli")).unwrap();
    let shown = schedules::get(c, "s").unwrap();
    assert_eq!((shown.origin, shown.definition.every.as_deref()), (Origin::Config, Some("2h")));
    assert!(schedules::remove(c, "s", &By::cli("cli")).unwrap_err().is_conflict());
    assert!(status::read(c).unwrap().problems.iter().all(|problem| problem.code != "schedule_taken"));
}
