//! Durations as people write them: a whole number and a unit. Pure; what a length is good for is the reader's duty.

use std::time::Duration;

use crate::model::time::Micros;
use crate::trigger;

/// What a duration looks like, for help texts.
pub const FORM: &str = "a duration is a whole number and a unit: 500ms, 30s, 5m, 4h, 1d, 2w";

/// The longest duration that is taken for anything but an interval: 100 years.
pub const LONGEST: Duration = Duration::from_secs(36_500 * 86_400);

const UNITS: [(&str, u64); 6] =
    [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000), ("w", 604_800_000)];

/// Reads `500ms`, `30s`, `5m`, `4h`, `1d`, `2w`. The error is what is wrong with the text, to be put after it:
/// “5x” *has no unit that is known*.
pub fn parse(text: &str) -> Result<Duration, &'static str> {
    let text = text.trim();
    if text.is_empty() {
        return Err("is empty");
    }
    if text.starts_with('-') {
        return Err("is negative");
    }
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    if number.is_empty() {
        return Err("is not a duration");
    }
    if unit.starts_with(['.', ',']) {
        return Err("is not a whole number of its unit");
    }
    let unit = unit.trim_start();
    if unit.is_empty() {
        return Err("has no unit");
    }
    let Some((_, each)) = UNITS.iter().find(|(name, _)| *name == unit) else {
        return Err("has a unit that is not known");
    };
    let milliseconds = number.parse::<u64>().ok().and_then(|n| n.checked_mul(*each)).ok_or("is too long")?;
    Ok(Duration::from_millis(milliseconds))
}

/// Reads the interval of a schedule that counts from `anchor`: at least 100 ms, and due again by the year 9999. The error
/// is a sentence.
pub fn interval(text: &str, anchor: Micros) -> Result<Duration, String> {
    let quoted = || {
        let short: String = text.trim().escape_debug().take(60).collect();
        format!("“{short}”")
    };
    let every = parse(text).map_err(|wrong| format!("{} {wrong}: {FORM}", quoted()))?;
    if every < trigger::SHORTEST {
        return Err(format!("{} is too short: the shortest interval is {}", quoted(), format(trigger::SHORTEST)));
    }
    match trigger::interval::next(anchor, every, anchor) {
        Some(_) => Ok(every),
        None => Err(format!("{} is too long: it would be due again after the year 9999", quoted())),
    }
}

/// The shortest way to write a duration that `parse` reads; what is finer than a millisecond is cut.
pub fn format(span: Duration) -> String {
    let milliseconds = span.as_millis();
    if milliseconds == 0 {
        return "0s".into();
    }
    let fitting = UNITS.iter().rev().find(|(_, each)| milliseconds.is_multiple_of(u128::from(*each)));
    let (unit, each) = fitting.unwrap_or(&("ms", 1));
    format!("{}{unit}", milliseconds / u128::from(*each))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn what_is_written_is_read_and_written_again() {
        for (text, milliseconds) in [
            ("500ms", 500),
            ("30s", 30_000),
            ("5m", 300_000),
            ("4h", 14_400_000),
            ("1d", 86_400_000),
            ("2w", 1_209_600_000),
            ("0s", 0),
            ("90m", 5_400_000),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_millis(milliseconds)), "{text}");
            assert_eq!(format(Duration::from_millis(milliseconds)), text);
        }
        assert_eq!(parse(" 5 m "), Ok(Duration::from_secs(300)));
    }

    #[test]
    fn an_interval_has_bounds() {
        assert_eq!(interval("100ms", 0), Ok(trigger::SHORTEST));
        assert_eq!(interval("2w", 0), Ok(Duration::from_secs(14 * 86_400)));
        for (text, words) in [
            ("0s", "“0s” is too short: the shortest interval is 100ms"),
            ("99ms", "too short"),
            ("-5m", "“-5m” is negative: a duration is"),
            ("", "“” is empty"),
            ("99999999999d", "“99999999999d” is too long: it would be due again after the year 9999"),
            ("9223372036854775807s", "is too long"),
            ("18446744073709551616s", "is too long"),
        ] {
            let said = interval(text, 1_800_000_000_000_000).unwrap_err();
            assert!(said.contains(words), "{text}: {said}");
        }
    }

    #[test]
    fn what_is_no_duration_is_refused_with_the_reason() {
        for (text, reason) in [
            ("", "is empty"),
            ("  ", "is empty"),
            ("-5m", "is negative"),
            ("5", "has no unit"),
            ("5x", "has a unit that is not known"),
            ("5M", "has a unit that is not known"),
            ("1h30m", "has a unit that is not known"),
            ("NaNs", "is not a duration"),
            ("infs", "is not a duration"),
            ("s", "is not a duration"),
            ("+5s", "is not a duration"),
            ("1e400s", "has a unit that is not known"),
            ("1.5h", "is not a whole number of its unit"),
            ("18446744073709551616s", "is too long"),
            ("18446744073709551615w", "is too long"),
            ("٣s", "is not a duration"),
        ] {
            assert_eq!(parse(text), Err(reason), "{text}");
        }
    }
}
