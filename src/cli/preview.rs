//! `soloist preview`: when a trigger is due, in words and in times. Needs no database and no configuration.

use std::process::ExitCode;

use clap::Args;
use jiff::Timestamp;

use super::ask::Asked;
use super::due_times::DueTime;
use super::{output, table, time_text};
use crate::config::{duration, plain};
use crate::error::{Error, Result};
use crate::model::time::SECOND;
use crate::trigger::{Cron, Kind, Timer, Zone, words};

const EXAMPLES: &str = "\
Examples:
  soloist preview '30 2 * * *' --tz Europe/Berlin
  soloist preview '0 9 1-7 * MON' --from 2027-01-01T00:00:00Z -n 10
  soloist preview @hourly --json
  soloist preview 7m --start 2027-01-01T00:00:00Z
  soloist preview 2027-01-01T09:00:00+01:00 --tz Europe/Berlin

Fields: minute, hour, day of the month, month, day of the week; six with seconds first.";

/// `soloist preview`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Preview {
    /// A cron expression in quotes, an interval such as 7m, or a moment
    #[arg(allow_hyphen_values = true)]
    trigger: String,
    /// What a shell made of an expression without quotes
    #[arg(hide = true)]
    rest: Vec<String>,
    /// Whose clocks are meant
    #[arg(long, value_name = "Z", default_value = "UTC")]
    tz: String,
    /// Times later than this; default now
    #[arg(long, value_name = "T", value_parser = time_text::instant)]
    from: Option<i64>,
    /// Nothing before this; an interval counts from it, else from --from
    #[arg(long, value_name = "T", value_parser = time_text::instant)]
    start: Option<i64>,
    /// How many
    #[arg(short = 'n', value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    count: u32,
}

impl Preview {
    pub(super) fn run(self, asked: &Asked) -> Result<ExitCode> {
        if self.trigger.starts_with("--") {
            return Err(Error::usage(format!("{} is no option; see soloist preview --help", self.trigger)));
        }
        if !self.rest.is_empty() {
            let message = "a trigger is one argument: put the expression in quotes, as in soloist preview '0 3 * * *'";
            return Err(Error::usage(message));
        }
        let zone = Zone::get(&self.tz).map_err(Error::usage)?;
        let now = Timestamp::now().as_second() * SECOND;
        let from = self.from.unwrap_or(now);
        let kind = self.kind(from, &zone)?;
        let timer = Timer { start: self.start, ..Timer::new(kind) };
        let due = DueTime::next(&timer, &zone, from, self.count as usize);
        if asked.json {
            output::json(&due)?;
        } else {
            output::line(words::timer(&timer))?;
            let (headings, rows) = DueTime::table(due, self.from.is_none().then_some(now));
            let over = match timer.kind {
                Kind::At(_) => "It is not due any more: that moment is over.",
                _ => "It is not due any more: times end with the year 9999.",
            };
            table::print(&headings, rows, over)?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// A text that is one word is a moment or an interval, unless it begins as an expression does.
    fn kind(&self, from: i64, zone: &Zone) -> Result<Kind> {
        let text = self.trigger.trim();
        // What begins with a date is meant for a moment.
        if text.get(4..5) == Some("-") && text.as_bytes().iter().take(4).all(u8::is_ascii_digit) {
            let moment = plain::instant(text).map_err(|wrong| Error::usage(wrong.of(text)))?;
            return Ok(Kind::At(moment.as_microsecond()));
        }
        let anchor = self.start.unwrap_or(from);
        let wrong = match duration::interval(text, anchor) {
            Ok(every) => return Ok(Kind::Every { anchor, every }),
            Err(wrong) => wrong,
        };
        let one_word = !text.contains(char::is_whitespace) && !text.starts_with(['@', '*']);
        if one_word || duration::parse(text).is_ok() {
            let message = format!("{wrong}; {}", Cron::FORM);
            return Err(Error::usage(message));
        }
        let cron = Cron::parse(text).map_err(Error::usage)?;
        Ok(Kind::Cron { cron, zone: zone.clone() })
    }
}
