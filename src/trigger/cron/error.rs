//! What is wrong with a cron expression, and what would be right.

use std::fmt;

use super::{ALIASES, Cron};
use crate::trigger::words::MONTHS;

/// Why a text is no cron expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CronError {
    field: Option<&'static str>,
    message: String,
    help: String,
}

impl CronError {
    pub(super) fn new(field: Option<&'static str>, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { field, message: message.into(), help: help.into() }
    }

    /// The field that is wrong, such as `minute`; `None` if it is the whole.
    pub fn field(&self) -> Option<&'static str> {
        self.field
    }

    /// What is wrong, in the words of the expression.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What would be right.
    pub fn help(&self) -> &str {
        &self.help
    }

    /// With six fields, who did not mean seconds added something to five.
    pub(super) fn of_six(self, fields: &[&str]) -> Self {
        let last = fields.last().copied().unwrap_or_default();
        let help = match last.len() == 4 && last.bytes().all(|byte| byte.is_ascii_digit()) {
            true => "a year cannot be given: use `start` and `end` of the schedule".to_owned(),
            false => format!("{}; of six fields the first is the second, and a command is none of them", self.help),
        };
        Self { help, ..self }
    }
}

impl fmt::Display for CronError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.message, self.help)
    }
}

impl std::error::Error for CronError {}

/// A part of an expression as a message shows it. Only characters that `check_characters` let pass come here.
pub(super) fn quoted(text: &str) -> String {
    match text.get(..40) {
        Some(start) if text.len() > 40 => format!("“{start}…”"),
        _ => format!("“{text}”"),
    }
}

pub(super) fn check_characters(text: &str) -> Result<(), CronError> {
    if text.is_empty() {
        return Err(CronError::new(None, "the expression is empty", Cron::FORM));
    }
    let strange = text.chars().find(|c| !c.is_ascii_graphic() && !c.is_ascii_whitespace());
    let Some(strange) = strange else { return Ok(()) };
    let message = format!("there is the character U+{:04X}, which no expression has", u32::from(strange));
    Err(CronError::new(None, message, "fields are of digits, Latin letters and * , - / # ?, with blanks between"))
}

pub(super) fn no_alias(text: &str) -> CronError {
    let typed = text.to_ascii_lowercase();
    let help = match typed.split_ascii_whitespace().next() {
        Some("@every") => "an interval is written without it: 5m, in a file every = \"5m\"".to_owned(),
        Some("@reboot") => "a schedule fires at times, not at starts".to_owned(),
        _ => format!("there are {}", ALIASES.map(|(name, _)| name).join(", ")),
    };
    CronError::new(None, format!("{} is not known", quoted(text)), help)
}

pub(super) fn wrong_count(fields: &[&str]) -> CronError {
    let (count, form) = (fields.len(), Cron::FORM);
    let message = format!("there {} {count} field{}", if count == 1 { "is" } else { "are" }, plural(count));
    let help = match count {
        7 => format!("{form}; a year cannot be given: use `start` and `end` of the schedule"),
        8.. => format!("{form}; a command is none of them"),
        _ => form.to_owned(),
    };
    CronError::new(None, message, help)
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// The same expression for the last day of its month.
fn with_last_day(fields: &[&str]) -> String {
    let day = fields.len().saturating_sub(3);
    let fields: Vec<&str> = (0..).zip(fields).map(|(at, field)| if at == day { "L" } else { *field }).collect();
    fields.join(" ")
}

/// Dates that are in no year, such as the 30th of February.
pub(super) fn never(cron: &Cron, fields: &[&str]) -> CronError {
    let named: Vec<_> = (1..).zip(MONTHS).filter(|(month, _)| cron.months >> month & 1 == 1).collect();
    let [.., day, _, weekday] = fields else { return wrong_count(fields) };
    let any_weekday = weekday.starts_with(['*', '?']) && !weekday.contains('/');
    let (message, help) = match named[..] {
        [(_, month)] if any_weekday => (
            format!("{} never comes: {month} has no day {day}", quoted(&cron.text)),
            format!("the last day of {month} is “{}”", with_last_day(fields)),
        ),
        _ => (
            format!("{} never comes: no date is in all of its fields for days and months", quoted(&cron.text)),
            "to name days by date or by weekday, begin neither field with *".to_owned(),
        ),
    };
    CronError::new(None, message, help)
}
