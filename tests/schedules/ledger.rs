//! What the database says of schedules and their firings, read by plain SQL.

use std::collections::BTreeSet;
use std::time::Duration;

use house::{Hook, TestDatabase, until};

/// For what takes a moment; long, since the machine may be busy.
pub const SOON: Duration = Duration::from_secs(60);

/// A firing, or a run of due times that did not fire. Instants are microseconds of the database's clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The due time; of a run the first.
    pub due: i64,
    /// The last of a run.
    pub until: i64,
    pub count: i64,
    pub decided: i64,
    pub outcome: String,
    pub reason: String,
    pub entry: Option<i64>,
    pub node: String,
}

impl Item {
    pub fn fired(&self) -> bool {
        self.outcome == "fired"
    }

    pub fn late(&self) -> Duration {
        micros(self.decided - self.due)
    }
}

pub fn micros(span: i64) -> Duration {
    Duration::from_micros(u64::try_from(span).expect("nothing fires before its time"))
}

/// All of a schedule, oldest due time first.
pub fn items(database: &TestDatabase, schedule: &str) -> Vec<Item> {
    let rows = database.query(&format!(
        "SELECT scheduled_for, COALESCE(run_until, scheduled_for), COALESCE(run_count, 1), decided_at, outcome, \
         COALESCE(reason, ''), entry_id, COALESCE(node, '') FROM soloist_firings WHERE schedule = '{schedule}' \
         ORDER BY scheduled_for"
    ));
    let item = |row: Vec<Option<String>>| {
        let number = |at: usize| row[at].as_deref().map(|text| text.parse::<i64>().unwrap());
        let text = |at: usize| row[at].clone().unwrap();
        Item {
            due: number(0).unwrap(),
            until: number(1).unwrap(),
            count: number(2).unwrap(),
            decided: number(3).unwrap(),
            outcome: text(4),
            reason: text(5),
            entry: number(6),
            node: text(7),
        }
    };
    rows.into_iter().map(item).collect()
}

/// Holds that each due time of an interval lies in one of these items, and in one only.
#[track_caller]
pub fn assert_unbroken(items: &[Item], every: Duration) {
    let step = i64::try_from(every.as_micros()).unwrap();
    let mut next = items.first().expect("something was decided").due;
    for item in items {
        assert_eq!(item.due, next, "a due time is missing, or off the grid, before {item:?} of\n{}", listed(items));
        assert_eq!(item.until - item.due, (item.count - 1) * step, "{item:?}");
        next = item.until + step;
    }
}

/// The same, and that each fired, no later than `late`.
#[track_caller]
pub fn assert_fired(items: &[Item], every: Duration, late: Duration) {
    assert_unbroken(items, every);
    for item in items {
        assert!(item.fired() && item.late() <= late, "fired within {late:?}: {item:?} of\n{}", listed(items));
    }
}

/// Items one a line, for people.
pub fn listed(items: &[Item]) -> String {
    let first = items.first().map_or(0, |item| item.due);
    let line = |item: &Item| {
        format!(
            "{:+} ms ×{} {} {} late {} ms by {} {}\n",
            (item.due - first) / 1000,
            item.count,
            item.outcome,
            item.entry.unwrap_or_default(),
            (item.decided - item.due) / 1000,
            item.node,
            item.reason
        )
    };
    items.iter().map(line).collect()
}

/// Waits until so many due times of a schedule have fired.
#[track_caller]
pub fn until_fired(database: &TestDatabase, schedule: &str, count: usize) {
    let sql = format!("SELECT count(*) FROM soloist_firings WHERE schedule = '{schedule}' AND outcome = 'fired'");
    until(
        SOON + Duration::from_secs(2) * u32::try_from(count).unwrap(),
        &format!("{count} of {schedule} fire"),
        || usize::try_from(database.number(&sql)).unwrap() >= count,
    );
}

/// The due times of the calls for a schedule, in their order: those to the path that bears its name.
pub fn calls(hook: &Hook, schedule: &str) -> Vec<i64> {
    let path = format!("/{schedule}");
    let calls = hook.received().into_iter().filter(|call| call.path == path);
    let due = |call: house::Received| {
        let due = call.json()["scheduled_for"].as_str().expect("a scheduled entry says for when").to_owned();
        due.parse::<jiff::Timestamp>().unwrap().as_microsecond()
    };
    let mut due: Vec<_> = calls.map(due).collect();
    due.sort_unstable();
    due
}

/// Holds that the hook was called once for each due time that fired, and for no other. To be asked of nodes that have
/// stopped; what they left pending was not called. What a node worked that was killed is called again elsewhere, as a
/// further attempt.
#[track_caller]
pub fn assert_called_once(database: &TestDatabase, hook: &Hook, schedule: &str) {
    let left = format!("SELECT scheduled_for FROM soloist_entries WHERE schedule = '{schedule}' AND state = 'pending'");
    let left = database.query(&left).into_iter().flatten().flatten().map(|due| due.parse::<i64>().unwrap());
    let left: BTreeSet<_> = left.collect();
    let again = format!("SELECT scheduled_for FROM soloist_entries WHERE schedule = '{schedule}' AND attempt > 1");
    let again = database.query(&again).into_iter().flatten().flatten().map(|due| due.parse::<i64>().unwrap());
    let again: BTreeSet<_> = again.collect();
    let mut calls = calls(hook, schedule);
    calls.dedup_by(|one, before| one == before && again.contains(one));
    let fired = items(database, schedule).into_iter().filter(|item| item.fired() && !left.contains(&item.due));
    assert_eq!(calls, fired.map(|item| item.due).collect::<Vec<_>>(), "calls for {schedule}");
}

/// Holds that firings and entries belong together, one to one.
#[track_caller]
pub fn assert_paired(database: &TestDatabase) {
    let unpaired = [
        "SELECT count(*) FROM soloist_entries e WHERE e.schedule IS NOT NULL AND NOT EXISTS (SELECT 1 FROM \
         soloist_firings f WHERE f.entry_id = e.id AND f.schedule = e.schedule AND f.scheduled_for = e.scheduled_for \
         AND f.outcome = 'fired')",
        "SELECT count(*) FROM soloist_firings f WHERE f.outcome = 'fired' AND NOT EXISTS (SELECT 1 FROM \
         soloist_entries e WHERE e.id = f.entry_id)",
        "SELECT count(*) - count(DISTINCT entry_id) FROM soloist_firings WHERE outcome = 'fired'",
        "SELECT count(*) FROM soloist_firings WHERE outcome <> 'fired' AND entry_id IS NOT NULL",
    ];
    assert_eq!(unpaired.map(|sql| database.number(sql)), [0; 4]);
}

/// When a schedule is due next, as the database has it.
pub fn next_fire_at(database: &TestDatabase, schedule: &str) -> Option<i64> {
    let sql = format!("SELECT next_fire_at FROM soloist_schedules WHERE name = '{schedule}'");
    database.query(&sql).into_iter().flatten().next().flatten().map(|at| at.parse().unwrap())
}

/// The middle one.
pub fn median(mut spans: Vec<Duration>) -> Duration {
    spans.sort_unstable();
    spans[spans.len() / 2]
}
