//! The fields of APScheduler's cron trigger, and the cron expression that is due at the same times.
//!
//! Its fields differ from cron's: 0 is Monday, a day of the month and a day of the week must both match, what is less
//! significant than the least significant field that is given begins at its minimum. A year and an ISO week have no
//! place in an expression and are refused.

mod days;
mod field;
mod reverse;

use super::Wrong;
use crate::trigger::Cron;
use field::{Field, KINDS};
pub(super) use field::{MONTHS, PLACES, WEEKDAYS};
pub(super) use reverse::fields_of;

/// The names of the fields, the most significant first.
pub(super) const NAMES: [&str; 8] = ["year", "month", "day", "week", "day_of_week", "hour", "minute", "second"];

const YEAR: usize = 0;
const MONTH: usize = 1;
const DAY: usize = 2;
const WEEK: usize = 3;
const DAY_OF_WEEK: usize = 4;
const HOUR: usize = 5;
const MINUTE: usize = 6;
const SECOND: usize = 7;

/// Where a field begins that stands behind all that are given.
const DEFAULTS: [&str; 8] = ["*", "1", "1", "*", "*", "0", "0", "0"];

/// The fields that are given.
#[derive(Debug, Clone, PartialEq)]
pub struct CronFields([Option<Field>; 8]);

impl CronFields {
    /// Reads those fields for which `text` has something; all that is wrong.
    pub(super) fn read(mut text: impl FnMut(&'static str) -> Option<String>) -> Result<Self, Vec<Wrong>> {
        let mut wrong = Vec::new();
        let fields = std::array::from_fn(|index| {
            let read = Field::parse(&KINDS[index], &text(NAMES[index])?);
            read.map_err(|message| wrong.push(Wrong::new(NAMES[index], message))).ok()
        });
        if wrong.is_empty() { Ok(Self(fields)) } else { Err(wrong) }
    }

    /// The fields that were given, as the original shows them.
    pub(super) fn shown(&self) -> impl Iterator<Item = (&'static str, String)> {
        NAMES.into_iter().zip(&self.0).filter_map(|(name, field)| Some((name, field.as_ref()?.text())))
    }

    /// The expression that is due at the same times.
    pub(super) fn expression(&self) -> Result<Cron, Wrong> {
        let fields = self.whole();
        if !fields[YEAR].is_all() {
            let help = "a schedule has no year: bound it with start_date and end_date, or use the trigger “date”";
            return Err(Wrong::new("year", help));
        }
        if !fields[WEEK].is_all() {
            return Err(Wrong::new("week", "a schedule has no ISO week: name days and months"));
        }
        let (day, weekday) = days::expression(&fields[DAY], &fields[DAY_OF_WEEK])?;
        let [month, hour, minute, second] = [MONTH, HOUR, MINUTE, SECOND].map(|index| fields[index].expression());
        let seconds = if second == "0" { String::new() } else { format!("{second} ") };
        let text = format!("{seconds}{minute} {hour} {day} {month} {weekday}");
        Cron::parse(&text).map_err(|error| Wrong::new("trigger", format!("as the expression “{text}” {error}")))
    }

    /// All fields, those not given at their defaults.
    fn whole(&self) -> [Field; 8] {
        let last = self.0.iter().rposition(Option::is_some).unwrap_or(self.0.len());
        std::array::from_fn(|index| match &self.0[index] {
            Some(field) => field.clone(),
            None if index > last => Field::parse(&KINDS[index], DEFAULTS[index]).unwrap_or_default(),
            None => Field::default(),
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;

    fn fields(given: &str) -> Result<CronFields, Vec<Wrong>> {
        let given: Vec<_> = given.split("; ").filter_map(|field| field.split_once('=')).collect();
        CronFields::read(|name| given.iter().find(|(field, _)| *field == name).map(|(_, text)| (*text).to_owned()))
    }

    #[test]
    fn fields_become_an_expression() {
        for (given, expression) in [
            ("hour=3", "0 3 * * *"),
            ("minute=*/5", "*/5 * * * *"),
            ("day_of_week=mon-fri; hour=9; minute=30", "30 9 * * 1-5"),
            ("day_of_week=0,6", "0 0 * * 1,0"),
            ("day_of_week=*/2", "0 0 * * 1,3,5,0"),
            ("day_of_week=4/1", "0 0 * * 5,6,0"),
            ("month=3", "0 0 1 3 *"),
            ("month=jan-mar,7/2", "0 0 1 1-3,7/2 *"),
            ("month=*; hour=1", "0 1 * * *"),
            ("day=last", "0 0 L * *"),
            ("day=1,15", "0 0 1,15 * *"),
            ("day=1st mon", "0 0 * * 1#1"),
            ("day=last fri,2nd sun", "0 0 * * 5L,0#2"),
            ("day=3rd tue,10", "0 0 10 * 2#3"),
            ("day=3rd tue,*/15", "0 0 1,16,31 * 2#3"),
            ("day=1-7; day_of_week=mon", "0 0 * * 1#1"),
            ("day=1-14; day_of_week=mon,sun", "0 0 1-14 * */7,1"),
            ("day=15,1; day_of_week=mon-fri", "0 0 */31,15 * 1-5"),
            ("day=*/2; day_of_week=fri", "0 0 */2 * 5"),
            ("day=last; day_of_week=sun", "0 0 L * */7"),
            ("day=1st mon,1st tue; day_of_week=tue", "0 0 * * 2#1"),
            ("day=*; day_of_week=fri", "0 0 * * 5"),
            ("second=*/10", "*/10 * * * * *"),
            ("hour=*; second=30", "30 * * * * *"),
            ("year=*; minute=1-10/3", "1-10/3 * * * *"),
            ("", "* * * * * *"),
        ] {
            let made = fields(given).unwrap().expression().map(|cron| cron.to_string());
            assert_eq!(made.as_deref(), Ok(expression), "{given}");
        }
    }

    #[test]
    fn what_has_no_expression_is_refused_by_name() {
        for (given, field, words) in [
            ("year=2028", "year", "no year"),
            ("week=3", "week", "no ISO week"),
            ("day=13; day_of_week=fri", "day", "both must match"),
            ("day=10,1st mon; day_of_week=fri", "day", "both must match"),
            ("day=1st mon; day_of_week=fri", "day", "never"),
            ("day=30; month=2", "trigger", "never comes"),
        ] {
            let wrong = fields(given).unwrap().expression().unwrap_err();
            assert!(wrong.field == field && wrong.message.contains(words), "{given}: {wrong}");
        }
        for (given, words) in [
            ("hour=24", "0-23"),
            ("minute=*/60", "step"),
            ("minute=5-1", "begins after its end"),
            ("minute=1-5/9", "step"),
            ("minute=*/0", "step"),
            ("day_of_week=7", "0-6"),
            ("day_of_week=monday", "mon"),
            ("month=jan/2", "jan"),
            ("day=6th mon", "cannot be read"),
            ("day=last,", "empty"),
            ("hour=", "empty"),
            ("hour=3.0", "cannot be read"),
            ("second=-1", "cannot be read"),
            ("day=0", "1-31"),
        ] {
            let wrong = fields(given).unwrap_err();
            assert!(wrong.len() == 1 && wrong[0].message.contains(words), "{given}: {wrong:?}");
        }
        assert_eq!(fields("hour=24; minute=60; day=1").unwrap_err().len(), 2, "all at once");
    }

    #[test]
    fn fields_are_shown_as_the_original_shows_them() {
        let shown = fields("day_of_week=MON-Fri,6; hour=03; day=1ST mon,last; minute=5-5; month=JAN").unwrap();
        let shown: Vec<_> = shown.shown().collect();
        let expected =
            [("month", "jan"), ("day", "1st mon,last"), ("day_of_week", "mon-fri,6"), ("hour", "3"), ("minute", "5")];
        assert_eq!(shown, expected.map(|(name, text)| (name, text.to_owned())));
    }
}
