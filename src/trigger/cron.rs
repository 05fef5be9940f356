//! Cron expressions after Vixie: which local times match. How one is found on a zone's clocks is `search`.

mod days;
mod error;
mod field;
mod search;

use std::fmt;

use days::Days;
pub use error::CronError;
use field::{HOUR, MINUTE, MONTH, SECOND};
pub(super) use search::LONGEST_GAP;

/// A cron expression that comes at some time: five fields, or six with seconds first.
#[derive(Debug, Clone)]
pub struct Cron {
    text: String,
    pub(super) seconds: u64,
    pub(super) minutes: u64,
    pub(super) hours: u64,
    /// Bit 1 is January.
    pub(super) months: u64,
    pub(super) days: Days,
    /// True if it follows real time where clocks are changed; else it is a time on the wall and comes once.
    pub(super) real_time: bool,
}

const ALIASES: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

impl Cron {
    /// What an expression looks like, for help texts.
    pub const FORM: &str = "an expression has five fields, minute, hour, day of the month, month and day of the week, \
                            as in “0 3 * * *”, or six with seconds first";

    /// Reads an expression. One whose dates never come is an error too.
    pub fn parse(text: &str) -> Result<Self, CronError> {
        let text = text.trim_ascii();
        error::check_characters(text)?;
        let alias = || ALIASES.iter().find(|(name, _)| text.eq_ignore_ascii_case(name));
        let expanded = match text.starts_with('@') {
            true => alias().map(|(_, fields)| *fields).ok_or_else(|| error::no_alias(text))?,
            false => text,
        };
        let fields: Vec<&str> = expanded.split_ascii_whitespace().collect();
        let (second, [minute, hour, day, month, weekday]) = match fields[..] {
            [minute, hour, day, month, weekday] => ("0", [minute, hour, day, month, weekday]),
            [second, minute, hour, day, month, weekday] => (second, [minute, hour, day, month, weekday]),
            _ => return Err(error::wrong_count(&fields)),
        };
        let with_seconds = |wrong: CronError| if fields.len() == 6 { wrong.of_six(&fields) } else { wrong };
        let cron = Self {
            text: text.to_owned(),
            seconds: field::parse(&SECOND, second).map_err(with_seconds)?,
            minutes: field::parse(&MINUTE, minute).map_err(with_seconds)?,
            hours: field::parse(&HOUR, hour).map_err(with_seconds)?,
            months: field::parse(&MONTH, month).map_err(with_seconds)?,
            days: Days::parse(day, weekday).map_err(with_seconds)?,
            real_time: [second, minute, hour].iter().any(|field| field.starts_with('*')),
        };
        match cron.ever_comes() {
            true => Ok(cron),
            false => Err(error::never(&cron, &fields)),
        }
    }

    /// True if it follows real time where clocks are changed; else it is a time on the wall and comes once.
    pub fn follows_real_time(&self) -> bool {
        self.real_time
    }

    /// The expression as typed, without blanks around it.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The calendar knows 13 lengths of months, each of which begins on each day of the week in some year.
    fn ever_comes(&self) -> bool {
        let longest = |month: u32| match month {
            2 => 29,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        let months = (1..=12).filter(|month| self.months >> month & 1 == 1);
        months
            .flat_map(|month| (0..7).map(move |first| (first, longest(month))))
            .any(|(first, length)| self.days.of(first, length) != 0 || length == 29 && self.days.of(first, 28) != 0)
    }
}

impl PartialEq for Cron {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Cron {}

impl fmt::Display for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::str::FromStr for Cron {
    type Err = CronError;

    fn from_str(text: &str) -> Result<Self, CronError> {
        Self::parse(text)
    }
}

#[cfg(test)]
mod tests;
