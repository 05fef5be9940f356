//! Laws that hold of every trigger, tried with many.

use std::time::Duration;

use house::numbers;
use proptest::prelude::*;
use soloist::model::time::{Micros, SECOND};
use soloist::trigger::{Cron, Kind, Timer, Zone, interval, words};

const ZONES: [&str; 6] =
    ["UTC", "Europe/Berlin", "Australia/Lord_Howe", "America/Sao_Paulo", "Pacific/Apia", "Africa/Casablanca"];

fn laws() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(numbers(200, 20_000)) }
}

fn field(low: u32, high: u32) -> impl Strategy<Value = String> {
    let number = low..=high;
    let item = prop_oneof![
        3 => Just("*".to_owned()),
        4 => number.clone().prop_map(|n| n.to_string()),
        2 => (number.clone(), number.clone()).prop_map(|(a, b)| format!("{a}-{b}")),
        1 => (number.clone(), 1..=high).prop_map(|(n, step)| format!("{n}/{step}")),
        1 => (number.clone(), number, 1..=high).prop_map(|(a, b, step)| format!("{a}-{b}/{step}")),
        1 => (1..=high).prop_map(|step| format!("*/{step}")),
    ];
    prop::collection::vec(item, 1..3).prop_map(|items| items.join(","))
}

fn day() -> impl Strategy<Value = String> {
    let special = prop_oneof![Just("L".to_owned()), Just("LW".into()), (1..=31).prop_map(|n| format!("{n}W"))];
    prop_oneof![5 => field(1, 31), 1 => special]
}

fn weekday() -> impl Strategy<Value = String> {
    let special = prop_oneof![
        (0..=7).prop_map(|d| format!("{d}L")),
        (0..=7, 1..=5).prop_map(|(d, n)| format!("{d}#{n}")),
        Just("?".to_owned()),
    ];
    prop_oneof![5 => field(0, 7), 1 => special]
}

fn expression() -> impl Strategy<Value = String> {
    let five = (field(0, 59), field(0, 23), day(), field(1, 12), weekday());
    let five = five.prop_map(|(minute, hour, day, month, weekday)| format!("{minute} {hour} {day} {month} {weekday}"));
    (prop::option::of(field(0, 59)), five).prop_map(|(second, five)| match second {
        Some(second) => format!("{second} {five}"),
        None => five,
    })
}

/// From 1850 to 2150.
fn instant() -> impl Strategy<Value = Micros> {
    (-3_786_912_000 * SECOND)..(5_680_281_600 * SECOND)
}

proptest! {
    #![proptest_config(laws())]

    #[test]
    fn no_text_makes_the_reader_panic(text in any::<String>(), ascii in "[ -~\\t]{0,40}", like in "[*0-9/,#LW?@a-zA-Z -]{0,30}") {
        for text in [text, ascii, like] {
            if let Ok(cron) = Cron::parse(&text) {
                prop_assert_eq!(cron.as_str(), text.trim());
                prop_assert!(!words::cron(&cron).is_empty());
                let _ = cron.next(&Zone::utc(), 0);
            }
        }
    }

    #[test]
    fn due_times_rise_and_none_lies_between(text in expression(), zone in prop::sample::select(&ZONES), from in instant(), back in 0..86_400 * SECOND) {
        let Ok(cron) = Cron::parse(&text) else { return Ok(()) };
        let zone = Zone::get(zone).unwrap();
        prop_assert!(words::cron(&cron).len() > 5);
        let mut at = from;
        for _ in 0..5 {
            let Some(next) = cron.next(&zone, at) else { break };
            prop_assert!(next > at, "{} after {}", next, at);
            prop_assert_eq!(next % SECOND, 0);
            // Asked at any instant before it and not before the one before, the answer is the same.
            for asked in [next - 1, at.max(next - back - 1), at + (next - at) / 2] {
                prop_assert_eq!(cron.next(&zone, asked), Some(next), "asked at {}", asked);
            }
            at = next;
        }
    }

    #[test]
    fn an_expression_that_is_read_comes_within_forty_years(text in expression()) {
        let Ok(cron) = Cron::parse(&text) else { return Ok(()) };
        let next = cron.next(&Zone::utc(), 0);
        prop_assert!(next.is_some_and(|at| at < 41 * 366 * 86_400 * SECOND), "{:?}", next);
    }

    #[test]
    fn an_interval_is_a_grid(anchor in instant(), every in 1_u64..10_000_000_000_000, after in instant(), until in instant()) {
        let step = every as Micros;
        let every = Duration::from_micros(every);
        if let Some(next) = interval::next(anchor, every, after) {
            prop_assert!(next > after && next >= anchor);
            prop_assert_eq!((next - anchor) % step, 0);
            prop_assert!(next == anchor || next - step <= after);
            prop_assert_eq!(interval::count(anchor, every, after, next), 1);
            prop_assert_eq!(interval::count(anchor, every, after, next - 1), 0);
        }
        let whole = interval::count(anchor, every, after, until);
        let (low, high) = (after.min(until), after.max(until));
        let middle = low + (high - low) / 2;
        if after <= until {
            prop_assert_eq!(whole, interval::count(anchor, every, low, middle) + interval::count(anchor, every, middle, high));
        } else {
            prop_assert_eq!(whole, 0);
        }
    }

    #[test]
    fn bounds_cut_and_move_nothing(text in expression(), start in instant(), length in 0..400 * 86_400 * SECOND, after in instant()) {
        let Ok(cron) = Cron::parse(&text) else { return Ok(()) };
        let open = Timer::new(Kind::Cron { cron, zone: Zone::get("Europe/Berlin").unwrap() });
        let bounded = Timer { start: Some(start), end: Some(start + length), ..open.clone() };
        let expected = open.next(after.max(start - 1)).filter(|at| *at <= start + length);
        prop_assert_eq!(bounded.next(after), expected);
    }

    #[test]
    fn no_instant_and_no_length_overflows(anchor in any::<i64>(), after in any::<i64>(), until in any::<i64>(), every in any::<u64>(), nanos in 0_u32..1_000_000_000) {
        let every = Duration::new(every, nanos);
        let _ = interval::next(anchor, every, after);
        let _ = interval::count(anchor, every, after, until);
        let cron = Cron::parse("*/7 2 * * *").unwrap();
        if let Some(next) = cron.next(&Zone::get("Europe/Berlin").unwrap(), after) {
            prop_assert!(next > after);
        }
    }
}
