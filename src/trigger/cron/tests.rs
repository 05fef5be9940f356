//! Reading of expressions.
#![allow(clippy::unwrap_used)]
use super::*;

fn bits(numbers: &[u32]) -> u64 {
    numbers.iter().fold(0, |set, number| set | 1 << number)
}

#[test]
fn fields_are_sets() {
    let minutes = |text: &str| Cron::parse(&format!("{text} * * * *")).unwrap().minutes;
    assert_eq!(minutes("50-10/5"), bits(&[50, 55, 0, 5, 10]));
    assert_eq!(minutes("10-30/10,45"), bits(&[10, 20, 30, 45]));
    assert_eq!(minutes("57/2"), bits(&[57, 59]));
    assert_eq!(minutes("*/59"), bits(&[0, 59]));
    assert_eq!(minutes("05"), bits(&[5]));
    let months = |text: &str| Cron::parse(&format!("0 0 1 {text} *")).unwrap().months;
    assert_eq!(months("nov-Feb"), bits(&[11, 12, 1, 2]));
    assert_eq!(months("*/5"), bits(&[1, 6, 11]));
    let weekdays = |text: &str| Cron::parse(&format!("0 0 * * {text}")).unwrap().days.weekdays;
    assert_eq!(weekdays("FRI-MON"), bits(&[5, 6, 0, 1]));
    assert_eq!(weekdays("fri-sun"), bits(&[5, 6, 0]));
    assert_eq!(weekdays("5-7"), bits(&[5, 6, 0]));
    assert_eq!(weekdays("7-1"), bits(&[0, 1]));
    assert_eq!(weekdays("7-0"), bits(&[0]));
    assert_eq!(weekdays("7,0,SUN"), bits(&[0]));
    assert_eq!(weekdays("*/7"), bits(&[0]));
    assert_eq!(weekdays("1/2"), bits(&[1, 3, 5, 0]));
}

#[test]
fn a_month_has_the_days_that_are_named() {
    let of = |day: &str, weekday: &str, first, length| {
        Cron::parse(&format!("0 0 {day} * {weekday}")).unwrap().days.of(first, length)
    };
    // A month of 30 days that begins on a Sunday, as June 2025.
    assert_eq!(of("L", "*", 0, 30), bits(&[30]));
    assert_eq!(of("LW", "*", 0, 30), bits(&[30]));
    assert_eq!(of("15W,1W,31W", "*", 0, 30), bits(&[16, 2]));
    assert_eq!(of("*", "1#1,MON#5", 0, 30), bits(&[2, 30]));
    assert_eq!(of("*", "5L,0L", 0, 30), bits(&[27, 29]));
    assert_eq!(of("*", "friL", 0, 28), bits(&[27]));
    assert_eq!(of("1-7", "?", 0, 30), bits(&[1, 2, 3, 4, 5, 6, 7]));
    assert_eq!(of("1-7", "*/7", 0, 30), bits(&[1]));
    assert_eq!(of("13", "5", 0, 30), bits(&[13, 6, 20, 27]));
    // Ends on a Saturday, ends on a Sunday, begins on a Saturday.
    assert_eq!(of("LW,31W", "*", 4, 31), bits(&[30]));
    assert_eq!(of("LW,31W", "*", 5, 31), bits(&[29]));
    assert_eq!(of("1W", "*", 6, 31), bits(&[3]));
}

#[test]
fn errors_name_the_field_and_what_is_right() {
    for (text, words) in [
        ("", "the expression is empty; an expression has five fields"),
        ("* * * *", "there are 4 fields; an expression has five fields"),
        ("0 0 1 1 * * 2027", "there are 7 fields; an expression has five"),
        ("0 0 1 1 * 2027", "the day of the week “2027” is out of range; a year cannot be given"),
        ("0 9 * * * /usr/bin/true", "the day of the week “/usr/bin/true” has no step that can be read"),
        ("60 * * * *", "the minute “60” is out of range; a minute is 0-59"),
        ("0 24 * * *", "the hour “24” is out of range; an hour is 0-23"),
        ("-1 * * * *", "the minute “-1” is negative"),
        ("1- * * * *", "the minute “1-” is a range without an end"),
        ("1-2-3 * * * *", "the minute “1-2-3” is a range of three"),
        ("1,,2 * * * *", "the minute “1,,2” has an empty list item; take the extra comma out"),
        ("*/ * * * *", "the minute “*/” has no step"),
        ("*/0 * * * *", "the minute “*/0” has a step of 0"),
        ("*/-5 * * * *", "the minute “*/-5” has no step that can be read"),
        ("*/60 * * * *", "and is no interval: an interval is written 60m, in a file every = \"60m\""),
        ("0 0 * * MONDAY", "the day of the week “MONDAY” cannot be read; a day of the week is 0-7"),
        ("0 0 * * 1#6", "the day of the week “1#6” is in no month"),
        ("? * * * *", "the minute “?” cannot be read"),
        ("L * * * *", "the minute “L” cannot be read"),
        ("0 0 W * *", "the day of the month “W” cannot be read"),
        ("0 0 1-5W * *", "the day of the month “1-5W” cannot be read"),
        ("0 0 * * L", "the day of the week “L” cannot be read"),
        ("@dailyy", "“@dailyy” is not known; there are @yearly"),
        ("@every 5m", "“@every 5m” is not known; an interval is written without it"),
        ("٥ * * * *", "there is the character U+0665, which no expression has"),
        ("0 0 30 2 *", "never comes: February has no day 30; the last day of February is “0 0 L 2 *”"),
        ("0 0 31W 4,6 *", "never comes: no date is in all"),
        ("0 0 1 * */8", "the day of the week “*/8” has a step that is larger"),
        ("0 0 */31 * 5#3", "never comes: no date"),
    ] {
        let said = Cron::parse(text).map(|cron| cron.to_string()).unwrap_err().to_string();
        assert!(said.contains(words), "{text}: {said}");
    }
    assert_eq!(Cron::parse("60 * * * *").unwrap_err().field(), Some("minute"));
}

#[test]
fn what_comes_seldom_is_no_error() {
    for text in ["0 0 29 2 *", "0 0 30 2 1", "0 0 29W 2 *", "0 0 * 2 MON#5", "0 0 29 2 */7", "0 0 31 2,3 *"] {
        assert!(Cron::parse(text).is_ok(), "{text}");
    }
}

#[test]
fn the_text_stays_as_typed() {
    let cron = Cron::parse("  0   9\t* * mon  ").unwrap();
    assert_eq!((cron.as_str(), cron.to_string()), ("0   9\t* * mon", "0   9\t* * mon".to_owned()));
    assert_eq!("@Daily".parse::<Cron>().unwrap().as_str(), "@Daily");
}
