//! What `soloist check` says of schedules: each trigger in words, with its next due times.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::cli::due_times::DueTime;
use crate::cli::output;
use crate::config::{Config, Schedule, Trigger};
use crate::error::Result;
use crate::trigger::words;

const SHOWN: usize = 3;

pub(super) fn print(config: &Config) -> Result<()> {
    for schedule in config.schedules.values() {
        let (words, due) = read(schedule);
        output::line(format!("\nSchedule {}: {words}", schedule.name))?;
        if due.is_empty() && !counts_from_first_seen(schedule) {
            let note = match schedule.trigger {
                Trigger::At(_) => "it is past: unless it has fired, it is missed, and fires once if misfire lets it",
                _ => "it is not due any more",
            };
            output::line(format!("  note      {note}"))?;
        }
        for (index, due) in due.iter().enumerate() {
            output::line(format!("  {:9} {}", if index == 0 { "next" } else { "" }, due.line()))?;
        }
    }
    Ok(())
}

pub(super) fn json(config: &Config) -> Value {
    let one = |schedule: &Schedule| {
        let (words, due) = read(schedule);
        json!({ "schedule": schedule.name, "words": words, "next": due })
    };
    config.schedules.values().map(one).collect()
}

/// The reading, and the next due times as far as the file alone tells them.
fn read(schedule: &Schedule) -> (String, Vec<DueTime>) {
    let now = Timestamp::now().as_microsecond();
    let timer = schedule.timer(now);
    let words = words::timer(&timer);
    if counts_from_first_seen(schedule) {
        return (format!("{words}, counted from when a node first sees it"), Vec::new());
    }
    (words, DueTime::next(&timer, &schedule.timezone, now, SHOWN))
}

/// The phase of such an interval is in the database.
fn counts_from_first_seen(schedule: &Schedule) -> bool {
    matches!(schedule.trigger, Trigger::Every(_)) && schedule.start.is_none()
}
