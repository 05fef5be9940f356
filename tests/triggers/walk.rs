//! Every zone whose clocks are changed, minute by minute around each change, and in a full run over ten years.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use house::{full, numbers};
use jiff::tz::{TimeZone, TimeZoneDatabase};
use jiff::{Timestamp, ToSpan};
use soloist::trigger::{Cron, Zone};

use crate::plain::{Plain, Window};

static RULES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

const BY_MINUTE: [&str; 14] = [
    "*/20 * * * *",
    "0 * * * *",
    "30 */2 * * *",
    "* 2 * * 0",
    "*/7 0,1,2,3 L * *",
    "10,40 * 1-7 3,10,11 0",
    "30 2 * * *",
    "0 0 * * *",
    "0,30 0-3 * * *",
    "0-59/13 0-3 * * *",
    "15 1,2,3 * * 0",
    "59 23 L * *",
    "0 3 1-7 * 0",
    "45 1 */2 * 0,1",
];

const BY_SECOND: [&str; 3] = ["*/45 * * * * *", "30 59,0,29,30 0-3,23 * * *", "59 59 * * * 0,5,6"];

/// A change of clocks: when, and the offsets before and after.
type Change = (Timestamp, i32, i32);

fn changes(zone: &TimeZone, from: Timestamp, to: Timestamp) -> Vec<Change> {
    let all = zone.following(from).take_while(|change| change.timestamp() < to);
    let offset = |at: Timestamp| zone.to_offset(at).seconds();
    let all =
        all.map(|change| (change.timestamp(), offset(change.timestamp() - 1.second()), change.offset().seconds()));
    all.filter(|(_, before, after)| before != after).collect()
}

/// One zone of each set of zones that change alike.
fn zones(from: Timestamp, to: Timestamp) -> BTreeMap<Vec<Change>, String> {
    let all = RULES.available().filter_map(|name| {
        let changes = changes(&RULES.get(name.as_str()).ok()?, from, to);
        (!changes.is_empty()).then(|| (changes, name.to_string()))
    });
    all.collect()
}

/// Holds that both evaluators find the same due times of each expression; how many.
fn agree(expressions: &[Plain], name: &str, from: Timestamp, to: Timestamp, step: usize) -> usize {
    let (zone, rules) = (Zone::get(name).unwrap(), RULES.get(name).unwrap());
    let window = Window::new(&rules, from, to, step);
    let each = expressions.iter().map(|plain| {
        let cron = Cron::parse(plain.text).unwrap();
        let expected: BTreeSet<Timestamp> = plain.due(&rules, &window).into_iter().collect();
        let times = std::iter::successors(cron.next(&zone, from.as_microsecond()), |at| cron.next(&zone, *at));
        let times = times.take_while(|at| *at <= to.as_microsecond()).take(expected.len() + 10);
        let found: BTreeSet<Timestamp> = times.map(|at| Timestamp::from_microsecond(at).unwrap()).collect();
        if found != expected {
            let more: Vec<_> = found.difference(&expected).take(5).collect();
            let less: Vec<_> = expected.difference(&found).take(5).collect();
            panic!("“{}” in {name} from {from} to {to}: too many {more:?}, missing {less:?}", plain.text);
        }
        found.len()
    });
    each.sum()
}

/// Walks around each change; of those alike in offsets and time of day one will do in a quick run.
fn around_changes(from: &str, to: &str, expressions: &[Plain], around: jiff::Span, step: usize) -> usize {
    let (from, to): (Timestamp, Timestamp) = (from.parse().unwrap(), to.parse().unwrap());
    let (mut seen, mut walked, mut due) = (BTreeSet::new(), 0, 0);
    for (changes, name) in zones(from, to) {
        for (at, before, after) in changes {
            let kind = (before, after, at.as_second().rem_euclid(86_400));
            if seen.insert(kind) || full() {
                walked += 1;
                due += agree(expressions, &name, at - around, at + around, step);
            }
        }
    }
    assert!(due > walked, "{due} due times around {walked} changes");
    walked
}

#[test]
fn around_every_change_of_clocks_each_minute_agrees() {
    let expressions = BY_MINUTE.map(Plain::new);
    let walked = around_changes("2015-01-01T00:00:00Z", "2026-01-01T00:00:00Z", &expressions, 48.hours(), 60);
    assert!(walked > 50, "only {walked} changes");
    // The rules that are known for the future, and what calendars have seen since offsets are whole minutes.
    around_changes("2035-01-01T00:00:00Z", "2045-01-01T00:00:00Z", &expressions, 30.hours(), 60);
    let past = numbers("2008-01-01T00:00:00Z", "1973-01-01T00:00:00Z");
    around_changes(past, "2015-01-01T00:00:00Z", &expressions, 30.hours(), 60);
}

#[test]
fn changes_of_calendar_agree() {
    let expressions = BY_MINUTE.map(Plain::new);
    let days = [
        ("Pacific/Apia", "2011-12-30T10:00:00Z"),
        ("Pacific/Kwajalein", "1993-08-21T12:00:00Z"),
        ("Pacific/Kiritimati", "1994-12-31T10:00:00Z"),
        ("Pacific/Kwajalein", "1969-09-30T13:00:00Z"),
        ("America/Caracas", "2016-05-01T07:00:00Z"),
        ("Antarctica/Casey", "2018-03-10T17:00:00Z"),
    ];
    for (name, day) in days {
        let day: Timestamp = day.parse().unwrap();
        let due = agree(&expressions, name, day - 72.hours(), day + 72.hours(), 60);
        assert!(due > 100, "{name}: {due}");
    }
}

#[test]
fn around_every_change_of_clocks_each_second_agrees() {
    let expressions = BY_SECOND.map(Plain::new);
    let from = numbers("2024-01-01T00:00:00Z", "2015-01-01T00:00:00Z");
    around_changes(from, "2026-01-01T00:00:00Z", &expressions, 90.minutes(), 1);
}

/// Ten years, every minute, every zone that changes: a full run alone has the time.
#[test]
fn over_the_years_each_minute_agrees() {
    let new_year = |year: i32| format!("{year}-01-01T00:00:00Z").parse::<Timestamp>().unwrap();
    let expressions = BY_MINUTE.map(Plain::new);
    let changing = zones(new_year(2015), new_year(2026)).into_values();
    let names: Vec<String> = if full() { changing.collect() } else { vec!["Europe/Berlin".to_owned()] };
    let walk = |name: &String| {
        for year in numbers(2025, 2015)..2026 {
            assert!(agree(&expressions, name, new_year(year), new_year(year + 1), 60) > 10_000, "{name} in {year}");
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get());
    std::thread::scope(|scope| {
        for part in names.chunks(names.len().div_ceil(threads)) {
            scope.spawn(move || part.iter().for_each(walk));
        }
    });
}
