//! What became of a firing's work stays with the firing when the entry or the sweep is gone.

use std::time::Duration;

use house::{Hook, Node, TestDatabase, on_every_backend, until};
use soloist::model::{By, Keep, Retention};
use soloist::store::{firings, prune, schedules};

use crate::cluster::{config, open, schedule, scheduled, task};
use crate::ledger::{SOON, assert_unbroken, items, listed, until_fired};
use crate::setting::{clock, stop};

on_every_backend!(results_outlive_entries, a_schedule_of_a_source_sweeps_it, firings_are_kept_as_long_as_asked);

/// Of all firings of a schedule: result, attempts, whether its end is known.
fn results(database: &TestDatabase, schedule: &str) -> Vec<(String, String, bool)> {
    let rows = database.query(&format!(
        "SELECT COALESCE(result, '-'), COALESCE(attempts, 0), ended_at FROM soloist_firings \
         WHERE schedule = '{schedule}' AND outcome = 'fired' ORDER BY scheduled_for"
    ));
    let row = |row: Vec<Option<String>>| (row[0].clone().unwrap(), row[1].clone().unwrap(), row[2].is_some());
    rows.into_iter().map(row).collect()
}

fn results_outlive_entries(database: &TestDatabase) {
    let hook = Hook::start(|call| if call.path == "/fails" { 500 } else { 200 });
    let at_once = "keep = { completed = \"0s\", failed = \"0s\" }\n";
    let every = "every = \"500ms\"";
    let rest = task(&hook, "hook")
        + at_once
        + &schedule("hook", "hook", every)
        + "[tasks.sql]\nsql = \"DELETE FROM none_of_ours WHERE id = 1\"\n"
        + at_once
        + &schedule("sql", "sql", every)
        + "[tasks.command]\ncommand = [\"true\"]\n"
        + at_once
        + &schedule("command", "command", every)
        + &task(&hook, "fails")
        + "max_attempts = 2\nbackoff = { first = \"100ms\" }\n"
        + at_once
        + &schedule("fails", "fails", every)
        + &scheduled(&hook, "kept", every);
    database.sql("CREATE TABLE none_of_ours (id INTEGER)");
    let node = Node::start(&config(database, "", &rest)).wait_ready();
    for name in ["hook", "sql", "command", "fails", "kept"] {
        until_fired(database, name, 3);
    }
    stop(&mut [node]);
    for (name, result, attempts) in
        [("hook", "completed", "1"), ("sql", "completed", "1"), ("command", "completed", "1"), ("fails", "failed", "2")]
    {
        let left = database.number(&format!("SELECT count(*) FROM soloist_entries WHERE task = '{name}'"));
        let all = results(database, name);
        // Handed back at the stop, or not begun.
        assert!(left <= 1, "{left} entries of {name} are left of {all:?}");
        for (was, tries, ended) in &all[..all.len() - usize::try_from(left).unwrap()] {
            assert_eq!((was.as_str(), tries.as_str(), *ended), (result, attempts, true), "{name}: {all:?}");
        }
    }
    // Kept for a time: with the entry until that is pruned or deleted by hand, then with the firing.
    let connection = &mut open(database);
    let shown = |connection: &mut _| firings::list(connection, Some("kept"), None, 500).unwrap();
    let before = shown(connection);
    let completed = "SELECT count(*) FROM soloist_entries WHERE task = 'kept' AND state = 'completed'";
    assert!(database.number(completed) >= 2);
    assert_eq!(results(database, "kept")[0], ("-".to_owned(), "0".to_owned(), false));
    let id = database.number("SELECT MIN(id) FROM soloist_entries WHERE task = 'kept'");
    soloist::store::entries::delete(connection, id, &By::cli("cli")).unwrap();
    let keep = |span| Retention { completed: span, failed: span, cancelled: span };
    prune::entries(connection, "kept", &keep(Keep::For(Duration::ZERO))).unwrap();
    assert_eq!(database.number(completed), 0);
    assert_eq!(results(database, "kept")[0], ("completed".to_owned(), "1".to_owned(), true));
    let after = shown(connection);
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(
            (&before.result, before.ended_at, before.attempts),
            (&after.result, after.ended_at, after.attempts),
            "one sees the same as before"
        );
    }
}

fn a_schedule_of_a_source_sweeps_it(database: &TestDatabase) {
    database.sql("CREATE TABLE images (id INTEGER PRIMARY KEY, processed BOOLEAN NOT NULL DEFAULT FALSE)");
    let add = |ids: std::ops::Range<i64>| {
        let rows: Vec<_> = ids.map(|id| format!("({id})")).collect();
        database.sql(&format!("INSERT INTO images (id) VALUES {}", rows.join(", ")));
    };
    add(1..11);
    let hook = Hook::start(|_| 200);
    let rest = task(&hook, "image")
        + "[tasks.image.source]\ntable = \"images\"\nkey = \"id\"\npending = \"processed = FALSE\"\n\
           done = \"processed = TRUE\"\n"
        + &schedule("sweep", "image", "every = \"500ms\"");
    let start = |name: &str| Node::start(&config(database, &format!("name = \"{name}\""), &rest));
    let nodes = [start("a"), start("b")];
    let mut nodes = nodes.map(Node::wait_ready);
    let pending = "SELECT count(*) FROM images WHERE processed = FALSE";
    until(SOON, "the rows are processed", || database.number(pending) == 0);
    add(11..21);
    until(SOON, "so are those that came later", || database.number(pending) == 0);
    let fired = items(database, "sweep").iter().filter(|item| item.fired()).count();
    until_fired(database, "sweep", fired + 2);
    stop(&mut nodes);
    assert_eq!(hook.count(), 20, "each row is called once");
    let all = items(database, "sweep");
    assert_unbroken(&all, Duration::from_millis(500));
    assert!(all.iter().all(|item| item.entry.is_none()), "{}", listed(&all));
    let without = "SELECT count(*) FROM soloist_firings f WHERE outcome = 'fired' AND NOT EXISTS \
                   (SELECT 1 FROM soloist_sweeps s WHERE s.id = f.sweep_id)";
    assert_eq!(database.number(without), 0);
    let connection = &mut open(database);
    let shown = firings::list(connection, Some("sweep"), None, 500).unwrap();
    let first = shown.last().unwrap();
    assert_eq!(first.result.as_deref(), Some("completed"), "{first:?}");
    firings::keep_sweep_results(connection, 0).unwrap();
    soloist::store::sweeps::prune(connection, Duration::ZERO).unwrap();
    let after = firings::list(connection, Some("sweep"), None, 500).unwrap();
    let after = after.last().unwrap();
    assert_eq!((&after.result, after.ended_at), (&first.result, first.ended_at));
}

fn firings_are_kept_as_long_as_asked(database: &TestDatabase) {
    let hook = Hook::start(|_| 200);
    let rest = scheduled(&hook, "half", "every = \"500ms\"") + &scheduled(&hook, "paused", "every = \"500ms\"");
    let node = Node::start(&config(database, "", &rest)).wait_ready();
    until_fired(database, "paused", 1);
    let connection = &mut open(database);
    schedules::pause(connection, "paused", &By::cli("cli"), None).unwrap();
    until_fired(database, "half", 8);
    // A run that goes on is as young as its newest due time: it must not vanish while it is being lengthened.
    let kept = Duration::from_secs(2);
    while firings::prune(connection, kept).unwrap() {}
    until_fired(database, "half", 4);
    stop(&mut [node]);
    let now = clock(database);
    let half = items(database, "half");
    assert!(half.iter().all(|item| item.decided > now - 10_000_000));
    assert!(half.len() < 10, "what is older is gone: {}", listed(&half));
    let paused = items(database, "paused");
    assert_unbroken(&paused, Duration::from_millis(500));
    let run = paused.last().unwrap();
    assert!(run.count >= 6 && run.reason == "the schedule is paused", "{}", listed(&paused));
}
