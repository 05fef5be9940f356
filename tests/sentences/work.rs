//! Work: it stands still, falls behind, runs long, fails, cannot mark its row, may not be started again.

use house::{TestDatabase, on_every_backend};
use soloist::model::failure;
use soloist::problems::Level;
use soloist::store::tasks::{self, kept};

use super::{SECOND, Situation};

on_every_backend!(
    a_task_stands_still,
    a_task_falls_behind,
    an_entry_runs_long,
    a_task_fails_with_an_example,
    rows_could_not_be_marked,
    entries_were_cut_off,
    a_sweep_fails,
    more_waits_than_is_counted,
);

fn text(text: &str) -> String {
    format!("'{text}'")
}

fn a_task_stands_still(database: &TestDatabase) {
    let of = Situation::new(database);
    of.entry("pending", &[("run_at", of.at(-200).to_string())]);
    let ended = [("started_at", of.at(-190).to_string()), ("finished_at", of.at(-189).to_string())];
    of.entry("completed", &ended);
    let problem = of.says("`mail` stands still: 1 entry is due, 8 slots are free, and nothing has started for 3 min.");
    assert_eq!((problem.level, problem.code, problem.since), (Level::Broken, "task_stands", Some(of.at(-190))));
    let limited = |limits: &str| {
        let body = format!(r#"{{"handler":"http","concurrency":8,"limits":{limits}}}"#);
        of.sql(&format!("UPDATE soloist_declarations SET body = '{body}' WHERE name = 'mail'"));
    };
    limited(r#"{"max_running":0,"rate":{"starts":1,"span":60000000},"serial":false}"#);
    of.says_nothing();
    limited(r#"{"max_running":0,"rate":null,"serial":false}"#);
    assert_eq!(of.problems().len(), 1);
    let running = [("node_id", "3".to_owned()), ("started_at", of.at(-1).to_string()), ("attempt", "1".to_owned())];
    of.entry("running", &running).says_nothing();
}

fn a_task_falls_behind(database: &TestDatabase) {
    let of = Situation::new(database);
    for n in 0..8 {
        of.entry("running", &[("node_id", "3".into()), ("started_at", of.at(-n).to_string())]);
        of.entry("pending", &[("run_at", of.at(-1140 + n).to_string())]);
        let run = [("started_at", of.at(-20).to_string()), ("finished_at", of.at(-7).to_string())];
        of.entry("completed", &run);
    }
    of.sql(&format!(
        "INSERT INTO soloist_minutes (starts_at, span, task, node_id, started, completed, retried, failed, waits, runs) \
         VALUES ({}, 60, 'mail', 3, 370, 370, 0, 0, '', '')",
        of.at(-60)
    ));
    of.says_nothing();
    // Five minutes ago so many fewer waited.
    of.sql(&format!(
        "INSERT INTO soloist_counts (task, pending, due, counted_at, earlier_due, earlier_at) \
         VALUES ('mail', 8, 8, {}, -212, {})",
        of.now,
        of.at(-300)
    ));
    let problem = of.says("`mail` falls behind: 118 a minute come in, 74 go out, and the oldest has waited 19 min.");
    assert_eq!(problem.detail.as_deref(), Some("All 8 slots on 1 node are busy; an attempt takes 13 s."));
    // Usually it waits for as long.
    let waits = "0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,9,0,0";
    // It may be the next minute by now.
    for minute in [0, 60].map(|later| (of.at(later - 7200)).div_euclid(60 * SECOND) * 60 * SECOND) {
        of.sql(&format!(
            "INSERT INTO soloist_minutes (starts_at, span, task, node_id, started, completed, retried, failed, waits, runs) \
             VALUES ({minute}, 60, 'mail', 3, 9, 9, 0, 0, '{waits}', '')"
        ));
    }
    of.says_nothing();
}

fn an_entry_runs_long(database: &TestDatabase) {
    let of = Situation::new(database);
    of.entry("running", &[("node_id", "3".into()), ("started_at", of.at(-7200).to_string())]);
    of.says_nothing();
    for _ in 0..3 {
        of.entry("completed", &[("started_at", of.at(-20).to_string()), ("finished_at", of.at(-7).to_string())]);
    }
    let id = database.number("SELECT id FROM soloist_entries WHERE state = 'running'");
    let problem = of.says(&format!("Entry {id} of `mail` has run for 2 h; 13 s is usual."));
    assert!(problem.detail.unwrap().starts_with("On web-1, which is alive; it started at "));
    // Of a schedule its own firings tell what is usual: they are kept for longer than entries.
    for n in 1..=3 {
        of.sql(&format!(
            "INSERT INTO soloist_firings (schedule, scheduled_for, decided_at, outcome, result, ended_at) \
             VALUES ('nightly', {due}, {due}, 'fired', 'completed', {due} + 7200000000)",
            due = of.at(-86_400 * n)
        ));
    }
    of.sql("UPDATE soloist_entries SET schedule = 'nightly' WHERE state = 'running'").says_nothing();
}

fn a_task_fails_with_an_example(database: &TestDatabase) {
    let of = Situation::new(database);
    of.sql(&format!(
        "INSERT INTO soloist_minutes (starts_at, span, task, node_id, started, completed, retried, failed, waits, runs) \
         VALUES ({}, 60, 'mail', 3, 50, 3, 46, 1, '', '')",
        of.at(-60)
    ));
    of.entry("pending", &[("run_at", of.at(60).to_string()), ("error", text("550 mailbox 8 unavailable"))]);
    let id = database.number("SELECT id FROM soloist_entries");
    for (attempt, mailbox) in [(1, 7711), (2, 8)] {
        of.sql(&format!(
            "INSERT INTO soloist_attempts (entry_id, claim, attempt, node_id, started_at, finished_at, outcome, error) \
             VALUES ({id}, {attempt}, {attempt}, 3, {at}, {at}, 'failed', '550 mailbox {mailbox} unavailable')",
            at = of.at(-30 + attempt)
        ));
    }
    let problem = of.says("`mail` fails: 47 of its 50 attempts of the last 15 min.");
    let detail = "Most: `550 mailbox 8 unavailable` and alike, 2 times in `mail`. \
                  1 failed for good; the others are tried again.";
    assert_eq!(problem.detail.as_deref(), Some(detail));
    assert_eq!(problem.since, Some(of.at(-60)));
}

fn failed(of: &Situation<'_>, error: &str) {
    let at = of.at(-60).to_string();
    of.entry("failed", &[("finished_at", at), ("error", text(error)), ("attempt", "1".into())]);
}

fn rows_could_not_be_marked(database: &TestDatabase) {
    let of = Situation::new(database);
    for _ in 0..2 {
        failed(&of, &failure::unmarked("permission denied for table images"));
    }
    let problem = of.says("2 entries of `mail` did the work but could not mark their rows.");
    assert_eq!((problem.level, problem.code), (Level::Broken, "rows_unmarked"));
    assert!(problem.detail.unwrap().starts_with("`permission denied for table images`. "));
    assert_eq!(of.problems().len(), 1, "they are not told once more");
}

fn entries_were_cut_off(database: &TestDatabase) {
    let of = Situation::new(database);
    let declared = r#"{"handler":"http","max_attempts":1,"concurrency":8,"at_most_once":true}"#;
    of.sql(&format!("UPDATE soloist_declarations SET body = '{declared}' WHERE name = 'mail'"));
    failed(&of, &format!("node web-3 (incarnation 1) {}", failure::LOST));
    failed(&of, failure::CUT_OFF);
    failed(&of, "HTTP 500");
    let problem = of.says("2 entries of `mail` were cut off and will not be started again: check them by hand.");
    assert_eq!((problem.level, problem.code), (Level::Risk, "cut_off"));
    of.says("1 entry failed for good in the last 24 h, with one kind of error.");
}

fn a_sweep_fails(database: &TestDatabase) {
    let of = Situation::new(database);
    of.sql(&format!(
        "INSERT INTO soloist_sweeps (task, created_at, failed_since, error) VALUES ('mail', 1, {}, 'no such column: done')",
        of.at(-1140)
    ));
    let since = of.moment(-1140);
    let problem = of.says(&format!("`mail` finds no rows: its source cannot be read since {since}."));
    assert_eq!(problem.detail.as_deref(), Some("`no such column: done`"));
}

/// A look counts to its cap; what a node has counted for all stands for the rest.
fn more_waits_than_is_counted(database: &TestDatabase) {
    let of = Situation::new(database);
    let digits = (0..10).map(|d| format!("SELECT {d} AS d")).collect::<Vec<_>>().join(" UNION ALL ");
    let places: Vec<_> = (0..4).map(|place| format!("({digits}) AS p{place}")).collect();
    let numbers = places.join(" CROSS JOIN ");
    // A third of them is due.
    for (run_at, priority) in [(of.at(-1), 0), (of.at(3600), 0), (of.at(3600), 9)] {
        of.sql(&format!(
            "INSERT INTO soloist_entries (task, run_at, priority) SELECT 'mail', {run_at}, {priority} FROM {numbers}"
        ));
    }
    let task = || of.status().tasks.into_iter().find(|task| task.name == "mail").unwrap();
    let first = task();
    assert_eq!((first.pending, first.due, first.at_least), (tasks::CAP, tasks::CAP, true));
    kept::refresh(&mut of.connection()).unwrap();
    let counted = task();
    assert_eq!((counted.pending, counted.due, counted.at_least), (30_000, 10_000, false));
    of.sql("DELETE FROM soloist_entries WHERE priority = 9");
    kept::refresh(&mut of.connection()).unwrap();
    assert_eq!(task().pending, 30_000, "it was counted a moment ago");
    of.sql("UPDATE soloist_counts SET counted_at = 0 WHERE task = ''");
    kept::refresh(&mut of.connection()).unwrap();
    assert_eq!(task().pending, 20_000);
    of.sql("DELETE FROM soloist_entries WHERE run_at > 1")
        .sql("UPDATE soloist_counts SET counted_at = 0 WHERE task = ''");
    kept::refresh(&mut of.connection()).unwrap();
    assert_eq!((task().pending, task().oldest_due_age_s), (0, None));
}
