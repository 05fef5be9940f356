//! Numbers, ages and times as sentences have them.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::model::time::{Micros, SECOND};

/// 4812 as 4,812.
pub(crate) fn number(n: i64) -> String {
    let digits = n.unsigned_abs().to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3 + 1);
    if n < 0 {
        out.push('-');
    }
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number with its noun: 1 entry, 12 entries.
pub(crate) fn count(n: i64, one: &str, many: &str) -> String {
    format!("{} {}", number(n), if n == 1 { one } else { many })
}

/// The same of a number that may be larger, as nobody has counted all: 10,000+ entries.
pub(crate) fn counted(n: i64, at_least: bool, one: &str, many: &str) -> String {
    if at_least { format!("{}+ {many}", number(n)) } else { count(n, one, many) }
}

/// An age: 0.4 s, 17 s, 19 min, 3 h 5 min, 2 d.
pub(crate) fn age(span: Micros) -> String {
    let seconds = span.max(0) / SECOND;
    match seconds {
        0 => format!("0.{} s", span.max(0) / (SECOND / 10)),
        1..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86_400 if seconds % 3600 < 60 => format!("{} h", seconds / 3600),
        3600..86_400 => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// A moment: the time of day, with the date if it is not that of `now`; always with its zone.
pub(crate) fn moment(at: Micros, now: Micros) -> String {
    let zoned = |at| Timestamp::from_microsecond(at).unwrap_or(Timestamp::UNIX_EPOCH).to_zoned(TimeZone::UTC);
    let (at, now) = (zoned(at), zoned(now));
    let form = if at.date() == now.date() { "%H:%M UTC" } else { "%Y-%m-%d %H:%M UTC" };
    at.strftime(form).to_string()
}

/// Names in a sentence: a, b and c; of many the first three and how many more there are.
pub(crate) fn listed<T: AsRef<str>>(names: &[T]) -> String {
    let words: Vec<_> = names.iter().map(AsRef::as_ref).collect();
    match words.as_slice() {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] if first.len() < 4 => format!("{} and {last}", first.join(", ")),
        [first, second, third, rest @ ..] => format!("{first}, {second}, {third} and {} more", rest.len()),
        _ => words.join(", "),
    }
}

/// The same for names of tasks and schedules.
pub(crate) fn quoted<T: AsRef<str>>(names: &[T]) -> String {
    listed(&names.iter().map(|name| format!("`{}`", name.as_ref())).collect::<Vec<_>>())
}

/// The first line of a text, cut to what a sentence can carry.
pub(crate) fn first_line(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    let mut cut: String = line.chars().take(160).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if line.chars().nth(160).is_some() {
        cut.push('…');
    }
    cut
}

/// An error without its numbers and ids, so that errors of one kind are one.
pub(crate) fn kind(error: &str) -> String {
    let mut out = String::new();
    let mut in_number = false;
    for c in first_line(error).chars() {
        match (c.is_ascii_digit(), in_number) {
            (true, true) => {}
            (true, false) => {
                out.push('N');
                in_number = true;
            }
            (false, _) => {
                out.push(c);
                in_number = false;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_read_well() {
        assert_eq!(
            [0, 999, 1000, 4812, 1_234_567, -1000].map(number),
            ["0", "999", "1,000", "4,812", "1,234,567", "-1,000"]
        );
        assert_eq!(count(1, "entry", "entries"), "1 entry");
        let ages = [400_000, 17 * SECOND, 19 * 60 * SECOND, 3 * 3600 * SECOND, 11_100 * SECOND, 200_000 * SECOND];
        assert_eq!(ages.map(age), ["0.4 s", "17 s", "19 min", "3 h", "3 h 5 min", "2 d"]);
        assert_eq!(moment(0, 3600 * SECOND), "00:00 UTC");
        assert_eq!(moment(0, 86_400 * SECOND), "1970-01-01 00:00 UTC");
        assert_eq!(quoted(&["a", "b", "c"]), "`a`, `b` and `c`");
        assert_eq!(listed(&["a", "b", "c", "d", "e"]), "a, b, c and 2 more");
        assert_eq!(kind("550 mailbox 8123 unavailable\nmore"), "N mailbox N unavailable");
    }
}
