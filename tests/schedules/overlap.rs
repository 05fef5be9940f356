//! A due time while the work before it goes on: skipped, queued or beside it; a hung run ends; pauses last.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use house::{Hook, Node, Signal, TestDatabase, numbers, on_every_backend, until};
use soloist::model::By;
use soloist::store::schedules;

use crate::cluster::{config, open, schedule, scheduled, start, wait};
use crate::ledger::{
    Item, SOON, assert_called_once, assert_paired, assert_unbroken, calls, items, listed, next_fire_at, until_fired,
};
use crate::setting::{clock, stop};

on_every_backend!(
    overlap_is_skipped_queued_or_allowed,
    a_hung_run_ends_and_the_next_due_time_runs,
    a_pause_lasts_until_it_is_taken_back,
);

const HALF: Duration = Duration::from_millis(500);

/// Of each path: how many calls go on, and the most that ever did.
type Going = Arc<Mutex<HashMap<String, (usize, usize)>>>;

fn slow(going: &Going, takes: Duration) -> Hook {
    let going = going.clone();
    Hook::start(move |call| {
        {
            let mut going = going.lock().unwrap();
            let (now, most) = going.entry(call.path.clone()).or_default();
            *now += 1;
            *most = (*most).max(*now);
        }
        wait(takes);
        going.lock().unwrap().get_mut(&call.path).unwrap().0 -= 1;
        200
    })
}

fn overlap_is_skipped_queued_or_allowed(database: &TestDatabase) {
    let going = Going::default();
    let hook = slow(&going, Duration::from_millis(1200));
    let of = |overlap: &&str| scheduled(&hook, overlap, &format!("every = \"500ms\"\noverlap = \"{overlap}\""));
    let rest: String = ["skip", "queue", "allow"].iter().map(of).collect();
    let mut nodes = start(database, 2, "", &rest);
    until_fired(database, "allow", numbers(14, 60));
    stop(&mut nodes);
    let most = |schedule: &str| going.lock().unwrap()[&format!("/{schedule}")].1;
    assert_eq!((most("skip"), most("queue")), (1, 1));
    assert!(most("allow") >= 2, "{}", most("allow"));

    let all = items(database, "allow");
    assert_unbroken(&all, HALF);
    assert!(all.iter().all(Item::fired), "{}", listed(&all));

    let skip = items(database, "skip");
    assert_unbroken(&skip, HALF);
    // 1.2 s of work: two due times find it going on.
    let fired: Vec<_> = skip.iter().filter(|item| item.fired()).map(|item| item.due).collect();
    assert!(fired.windows(2).all(|pair| pair[1] - pair[0] == 1_500_000), "{}", listed(&skip));
    assert!(skip.iter().all(|item| item.fired() || item.reason == "the one before still goes on"), "{}", listed(&skip));

    // What waits is recorded when it fires: until then it is with the schedule.
    let waits = database.number("SELECT COALESCE(MIN(queued_for), 9223372036854775807) FROM soloist_schedules");
    let mut queue = items(database, "queue");
    queue.retain(|item| item.due < waits);
    assert_unbroken(&queue, HALF);
    let fired: Vec<_> = queue.iter().filter(|item| item.fired()).collect();
    for pair in fired.windows(2) {
        let between = pair[1].decided - pair[0].decided;
        assert!((1_200_000..1_800_000).contains(&between), "the next begins when one ends: {}", listed(&queue));
    }
    assert!(queue.iter().all(|item| item.fired() || item.reason == "one waits already"), "{}", listed(&queue));
    for schedule in ["skip", "queue", "allow"] {
        assert_called_once(database, &hook, schedule);
    }
    assert_paired(database);
}

/// Row 12.
fn a_hung_run_ends_and_the_next_due_time_runs(database: &TestDatabase) {
    // A span of its own, to be found among the processes.
    let span = format!("300.{}", fastrand::u32(100_000..999_999));
    let rest = format!("[tasks.hung]\ncommand = [\"sleep\", \"{span}\"]\ntimeout = \"2s\"\nmax_attempts = 1\n")
        + &schedule("hung", "hung", "every = \"1s\"\noverlap = \"skip\"");
    let sleeping = || {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
        lines.filter(|line| line.windows(span.len()).any(|part| part == span.as_bytes())).count()
    };
    let mut nodes = start(database, 2, "", &rest);
    let failed = "SELECT count(*) FROM soloist_entries WHERE state = 'failed'";
    let runs = numbers(3, 10);
    until(SOON, "runs have failed", || {
        assert!(sleeping() <= 1, "never two at once");
        database.number(failed) >= runs
    });
    stop(&mut nodes);
    assert_eq!(sleeping(), 0, "no program is left");
    let items = items(database, "hung");
    assert_unbroken(&items, Duration::from_secs(1));
    let fired: Vec<_> = items.iter().filter(|item| item.fired()).map(|item| item.due).collect();
    assert!(i64::try_from(fired.len()).unwrap() >= runs, "{}", listed(&items));
    for pair in fired.windows(2) {
        assert!((3_000_000..=4_000_000).contains(&(pair[1] - pair[0])), "about every 3 s: {}", listed(&items));
    }
    assert!(items.iter().all(|item| item.fired() || item.outcome == "skipped"), "{}", listed(&items));
    let errors = database.query("SELECT error FROM soloist_entries WHERE state = 'failed'");
    for error in errors.into_iter().flatten().flatten() {
        assert!(error.contains("timed out after 2s"), "{error}");
    }
}

fn a_pause_lasts_until_it_is_taken_back(database: &TestDatabase) {
    let hook = Hook::start(|_| 200);
    let rest = scheduled(&hook, "half", "every = \"500ms\"") + &scheduled(&hook, "other", "every = \"500ms\"");
    let config = config(database, "name = \"only\"", &rest);
    let mut node = Node::start(&config).wait_ready();
    until_fired(database, "half", 2);
    let mut connection = open(database);
    schedules::pause(&mut connection, "half", &By::cli("cli"), Some("too loud")).unwrap();
    let paused = clock(database);
    until_fired(database, "other", 6);
    node.signal(Signal::HUP);
    until(SOON, "the configuration is read again", || node.log().contains("was read again"));
    stop(std::slice::from_mut(&mut node));
    let node = Node::start(&config).wait_ready();
    // Fire now is beside the grid, and pays no heed to the pause.
    let before = calls(&hook, "half").len();
    let made = schedules::fire(&mut connection, "half", &By::cli("cli")).unwrap();
    assert!(made.entry_id.is_some());
    until(SOON, "it was fired by hand", || calls(&hook, "half").len() == before + 1);
    let shown = schedules::get(&mut connection, "half").unwrap();
    assert_eq!(shown.paused.unwrap().reason.as_deref(), Some("too loud"));
    assert_eq!(shown.next_fire_at, None);
    until(SOON, "due times go by", || next_fire_at(database, "half").unwrap() > paused + 4_000_000);

    schedules::resume(&mut connection, "half", &By::cli("cli")).unwrap();
    let resumed = clock(database);
    let newer = format!(
        "SELECT count(*) FROM soloist_firings WHERE schedule = 'half' AND outcome = 'fired' AND decided_at > {resumed}"
    );
    until(SOON, "it fires again", || database.number(&newer) >= 2);
    stop(&mut [node]);
    let all = items(database, "half");
    let by_hand: Vec<_> = all.iter().filter(|item| item.reason == "fired by cli").collect();
    assert_eq!(by_hand.len(), 1, "{}", listed(&all));
    let on_the_grid: Vec<_> = all.iter().filter(|item| item.reason != "fired by cli").cloned().collect();
    assert_unbroken(&on_the_grid, HALF);
    for item in &on_the_grid {
        let within = item.due > paused && item.due < resumed - 500_000;
        assert!(!within || item.reason == "the schedule is paused", "{item:?} of {}", listed(&all));
        assert!(item.fired() || item.due < resumed, "{item:?} of {}", listed(&all));
    }
    let first = on_the_grid.iter().find(|item| item.fired() && item.due > resumed - 500_000).unwrap();
    assert!(first.decided < resumed + 1_000_000, "from the next on: {}", listed(&all));
    assert_called_once(database, &hook, "half");
    assert_paired(database);
}
