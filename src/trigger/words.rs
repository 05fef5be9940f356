//! Triggers in plain English. Made from the sets of numbers that are searched, so that what is read is what is due.

use std::time::Duration;

use super::cron::Cron;
use super::{Kind, Timer};
use crate::model::time::rfc3339;

const WEEKDAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const NTH: [&str; 5] = ["first", "second", "third", "fourth", "fifth"];
pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// `at 03:00 every day (Europe/Berlin)`, `every 15 minutes, from 2027-01-01T00:00:00Z`, `once, at …`.
pub fn timer(timer: &Timer) -> String {
    let mut text = match &timer.kind {
        Kind::Every { every: length, .. } => every(*length),
        Kind::Cron { cron: expression, zone } => format!("{} ({zone})", cron(expression)),
        Kind::At(moment) => format!("once, at {}", rfc3339(*moment)),
    };
    for (word, bound) in [("from", timer.start), ("until", timer.end)] {
        text.extend(bound.map(|at| format!(", {word} {}", rfc3339(at))));
    }
    text
}

/// `every 15 minutes`
pub fn every(length: Duration) -> String {
    const UNITS: [(u128, &str); 4] = [(86_400_000, "day"), (3_600_000, "hour"), (60_000, "minute"), (1000, "second")];
    let milliseconds = length.as_millis();
    let fits = |(unit, _): &&(u128, &str)| milliseconds >= *unit && milliseconds.is_multiple_of(*unit);
    match UNITS.iter().find(fits) {
        // A day on the calendar is not always 24 hours long; an interval is.
        Some((86_400_000, _)) if milliseconds == 86_400_000 => "every 24 hours".to_owned(),
        Some((unit, name)) if *unit == milliseconds => format!("every {name}"),
        Some((unit, name)) => format!("every {} {name}s", milliseconds / unit),
        None => format!("every {milliseconds} ms"),
    }
}

/// `at 09:00 on day 1-7 of the month or on Monday`
pub fn cron(cron: &Cron) -> String {
    let (time, of_clock) = time(cron);
    let months = numbers(cron.months).map(|month| MONTHS[(month - 1) as usize].to_owned()).collect::<Vec<_>>();
    let months = if months.len() == 12 { None } else { Some(join(&months, "and")) };
    let days = days(cron, months.as_deref().unwrap_or("the month"));
    match (days, months) {
        (Some(On { days, month: false }), Some(months)) => format!("{time} {days}, in {months}"),
        (Some(On { days, .. }), _) => format!("{time} {days}"),
        (None, Some(months)) if of_clock => format!("{time} every day in {months}"),
        (None, Some(months)) => format!("{time} in {months}"),
        (None, None) if of_clock => format!("{time} every day"),
        (None, None) => time,
    }
}

/// Days in words, and whether they name the month.
struct On {
    days: String,
    month: bool,
}

fn days(cron: &Cron, month: &str) -> Option<On> {
    let days = &cron.days;
    let all_dates = numbers(days.dates).count() == 31;
    let all_weekdays = numbers(days.weekdays).count() == 7;
    let by_date = || {
        let mut parts = Vec::new();
        if days.dates != 0 {
            parts.push(format!("day {}", list(days.dates)));
        }
        parts.extend(numbers(days.nearest).map(|day| format!("the weekday nearest to day {day}")));
        parts.extend(days.last_weekday.then(|| "the last weekday".to_owned()));
        parts.extend(days.last.then(|| "the last day".to_owned()));
        format!("on {}", join(&parts, "and"))
    };
    let name = |day: u32| WEEKDAYS[day as usize];
    let by_weekday = |word: &str| {
        let mut parts: Vec<String> = numbers(days.weekdays).map(|day| name(day).to_owned()).collect();
        for (set, nth) in days.nth.iter().zip(NTH).chain([(&days.last_of, "last")]) {
            parts.extend(numbers(*set).map(|day| format!("the {nth} {} of the month", name(day))));
        }
        join(&parts, word)
    };
    let on_weekday = || match run(days.weekdays) {
        Some((first, last)) if days.nth == [0; 5] && days.last_of == 0 => {
            format!("from {} to {}", name(first), name(last))
        }
        _ => format!("on {}", by_weekday("and")),
    };
    match (all_dates, all_weekdays) {
        (true, true) => None,
        (true, _) | (_, true) if days.either => None,
        (false, true) => Some(On { days: format!("{} of {month}", by_date()), month: true }),
        (true, false) => Some(On { days: on_weekday(), month: false }),
        (false, false) if days.either => {
            Some(On { days: format!("{} of the month or {}", by_date(), on_weekday()), month: false })
        }
        (false, false) => {
            Some(On { days: format!("{} of the month if it is {}", by_date(), by_weekday("or")), month: false })
        }
    }
}

/// The time of day in words, and whether it is times on a clock.
fn time(cron: &Cron) -> (String, bool) {
    let (seconds, minutes, hours) = (cron.seconds, cron.minutes, cron.hours);
    let count = |set: u64| numbers(set).count();
    let on_clock = || {
        let second = numbers(seconds).next().unwrap_or_default();
        let after = if second == 0 { String::new() } else { format!(":{second:02}") };
        let of_hour = |hour: u32| numbers(minutes).map(move |minute| (hour, minute));
        let times = numbers(hours).flat_map(of_hour).map(|(hour, minute)| format!("{hour:02}:{minute:02}{after}"));
        format!("at {}", join(&times.collect::<Vec<_>>(), "and"))
    };
    let times = if count(seconds) == 1 { count(minutes) * count(hours) } else { usize::MAX };
    if times <= 3 {
        return (on_clock(), true);
    }
    let first_and_last = |set: u64| (numbers(set).next().unwrap_or_default(), numbers(set).last().unwrap_or_default());
    let ((first_hour, last_hour), (first_minute, last_minute)) = (first_and_last(hours), first_and_last(minutes));
    let all_hours = count(hours) == 24;
    let window = (last_hour - first_hour + 1) as usize == count(hours);
    let from_to = format!("from {first_hour:02}:{first_minute:02} to {last_hour:02}:{last_minute:02}");
    if seconds == 1 && count(minutes) == 1 {
        match rhythm(hours, 24, "hour") {
            Some(rhythm) if minutes == 1 => return (rhythm, false),
            None if window => return (format!("every hour {from_to}"), false),
            _ => {}
        }
    }
    if times <= 6 {
        return (on_clock(), true);
    }
    let named = |unit: &str, set: u64| format!("{unit}{} {}", if count(set) == 1 { "" } else { "s" }, list(set));
    let of_minute = (seconds != 1).then(|| {
        rhythm(seconds, 60, "second").unwrap_or_else(|| format!("at {} of every minute", named("second", seconds)))
    });
    let (steady, of_hour) = match (of_minute, rhythm(minutes, 60, "minute")) {
        (Some(of_minute), _) if count(minutes) == 60 => (true, of_minute),
        (Some(of_minute), _) => (false, format!("{of_minute} in {}", named("minute", minutes))),
        (None, Some(rhythm)) => (true, rhythm),
        (None, None) => (false, format!("at {}", named("minute", minutes))),
    };
    let text = match (all_hours, steady) {
        (true, true) => of_hour,
        (true, false) => format!("{of_hour} of every hour"),
        (false, true) if window => format!("{of_hour} {from_to}"),
        (false, true) => format!("{of_hour} in {}", named("hour", hours)),
        (false, false) => format!("{of_hour} of {}", named("hour", hours)),
    };
    (text, false)
}

/// `every minute`, `every 15 minutes`: all numbers of a circle, or steps that divide it.
fn rhythm(set: u64, circle: u32, unit: &str) -> Option<String> {
    let step = numbers(set).nth(1)?;
    let whole = circle.is_multiple_of(step) && numbers(set).eq((0..circle).step_by(step as usize));
    whole.then(|| if step == 1 { format!("every {unit}") } else { format!("every {step} {unit}s") })
}

/// The days of a week that follow one another, if they are three to six: `1-5` as Monday and Friday.
fn run(weekdays: u64) -> Option<(u32, u32)> {
    let days = numbers(weekdays).count() as u32;
    let is_run = |first: &u32| (0..days).all(|day| weekdays >> ((first + day) % 7) & 1 == 1);
    let first = (0..7).find(is_run).filter(|_| (3..7).contains(&days))?;
    Some((first, (first + days - 1) % 7))
}

fn numbers(set: u64) -> impl Iterator<Item = u32> {
    (0..64).filter(move |number| set >> number & 1 == 1)
}

/// `1-7 and 15`, or `1, 3, 5 … 31` for many in equal steps.
fn list(set: u64) -> String {
    let all: Vec<u32> = numbers(set).collect();
    if let [first, second, third, .., last] = all[..]
        && all.len() > 5
        && all.windows(2).all(|pair| pair[1] - pair[0] == second - first)
        && second - first > 1
    {
        return format!("{first}, {second}, {third} … {last}");
    }
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for number in all {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => runs.push((number, number)),
        }
    }
    let shown = |(first, last): &(u32, u32)| match last - first {
        0 => vec![first.to_string()],
        1 => vec![first.to_string(), last.to_string()],
        _ => vec![format!("{first}-{last}")],
    };
    join(&runs.iter().flat_map(shown).collect::<Vec<_>>(), "and")
}

/// `a, b and c`
fn join(parts: &[String], word: &str) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} {word} {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn an_expression_reads_well() {
        for (text, words) in [
            ("0 3 * * *", "at 03:00 every day"),
            ("@daily", "at 00:00 every day"),
            ("@hourly", "every hour"),
            ("@weekly", "at 00:00 on Sunday"),
            ("@yearly", "at 00:00 on day 1 of January"),
            ("* * * * *", "every minute"),
            ("*/15 * * * *", "every 15 minutes"),
            ("*/7 * * * *", "at minutes 0, 7, 14 … 56 of every hour"),
            ("*/45 * * * *", "at minutes 0 and 45 of every hour"),
            ("30 * * * *", "at minute 30 of every hour"),
            ("0 */2 * * *", "every 2 hours"),
            ("5 */2 * * *", "at minute 5 of hours 0, 2, 4 … 22"),
            ("0 9-17 * * 1-5", "every hour from 09:00 to 17:00 from Monday to Friday"),
            ("*/15 9-17 * * *", "every 15 minutes from 09:00 to 17:45"),
            ("*/15 9,11,13 * * *", "every 15 minutes in hours 9, 11 and 13"),
            ("* 9 * * *", "every minute from 09:00 to 09:59"),
            ("0,30 2 * * *", "at 02:00 and 02:30 every day"),
            ("10-30/10,45 8 * * *", "at 08:10, 08:20, 08:30 and 08:45 every day"),
            ("*/7 * * * * *", "at seconds 0, 7, 14 … 56 of every minute"),
            ("*/10 * * * * *", "every 10 seconds"),
            ("* * * * * *", "every second"),
            ("*/10 5 * * * *", "every 10 seconds in minute 5 of every hour"),
            ("15 30 2 * * *", "at 02:30:15 every day"),
            ("0 9 1-7 * 1", "at 09:00 on day 1-7 of the month or on Monday"),
            ("0 9 1-7,15-21 * 1", "at 09:00 on day 1-7 and 15-21 of the month or on Monday"),
            ("0 0 1-7 * */7", "at 00:00 on day 1-7 of the month if it is Sunday"),
            ("0 0 */2 * 1", "at 00:00 on day 1, 3, 5 … 31 of the month if it is Monday"),
            ("0 12 1-31 * MON", "at 12:00 every day"),
            ("0 0 29 2 *", "at 00:00 on day 29 of February"),
            ("0 0 30 2 1", "at 00:00 on day 30 of the month or on Monday, in February"),
            ("0 0 * JUN-AUG *", "at 00:00 every day in June, July and August"),
            ("*/5 * * 12 *", "every 5 minutes in December"),
            ("0 0 L,15W * *", "at 00:00 on the weekday nearest to day 15 and the last day of the month"),
            ("0 5 LW * *", "at 05:00 on the last weekday of the month"),
            ("0 0 * * FRI-MON", "at 00:00 from Friday to Monday"),
            ("0 0 * * 1,3,5", "at 00:00 on Monday, Wednesday and Friday"),
            ("0 0 * * 1#2,5L", "at 00:00 on the second Monday of the month and the last Friday of the month"),
        ] {
            assert_eq!(cron(&Cron::parse(text).unwrap()), words, "{text}");
        }
    }

    #[test]
    fn an_interval_reads_well() {
        for (milliseconds, words) in [
            (60_000, "every minute"),
            (420_000, "every 7 minutes"),
            (90_000, "every 90 seconds"),
            (86_400_000, "every 24 hours"),
            (604_800_000, "every 7 days"),
            (500, "every 500 ms"),
            (1500, "every 1500 ms"),
        ] {
            assert_eq!(every(Duration::from_millis(milliseconds)), words);
        }
    }
}
