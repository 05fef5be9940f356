//! `soloist enqueue`: accepts one entry, or one for each line of a file.

use std::io::IsTerminal as _;
use std::process::ExitCode;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use super::ask::Asked;
use super::{output, payload, time_text};
use crate::error::{Error, Result};
use crate::model::{NewEntry, RunAt, Trace};
use crate::store::Lent;
use crate::store::entries;
use crate::store::tasks::declared;

/// `soloist enqueue`
#[derive(Debug, Args)]
pub(super) struct Enqueue {
    /// The task that will work it
    task: String,
    /// JSON, @FILE, or - for standard input; with --lines standard input is the default, else null
    #[arg(long, value_name = "JSON|@FILE|-")]
    payload: Option<String>,
    /// Refused while another entry of the task with this key is not final
    #[arg(long, conflicts_with = "lines")]
    key: Option<String>,
    /// Not before this instant, such as 2027-01-01T03:00:00Z
    #[arg(long, value_name = "T", conflicts_with = "after", value_parser = time_text::instant)]
    at: Option<i64>,
    /// Not before this much time has passed, such as 5m
    #[arg(long = "in", id = "after", value_name = "D", value_parser = time_text::span)]
    after: Option<i64>,
    /// -9 to 9, lower first
    #[arg(long, default_value_t = 0, allow_negative_numbers = true, value_parser = clap::value_parser!(i32).range(-9..=9))]
    priority: i32,
    /// One entry for each line, all or none
    #[arg(long)]
    lines: bool,
}

impl Enqueue {
    pub(super) fn run(self, asked: &Asked) -> Result<ExitCode> {
        let input = self.input()?;
        let new = if self.lines { self.of_lines(&input)? } else { vec![self.entry(input)?] };
        let mut connection = asked.connect()?;
        let bar = progress(if self.lines { new.len() } else { 0 });
        let inserted = entries::insert_watched(&mut connection, &new, |done| bar.set_position(done as u64));
        bar.finish_and_clear();
        let ids = inserted?;
        remark(&mut connection, &self.task);
        if asked.json && self.lines {
            output::json(&json!({ "entries": ids }))?;
        } else if asked.json {
            output::json(&json!({ "id": ids.first() }))?;
        } else {
            let text: Vec<_> = ids.iter().map(i64::to_string).collect();
            if !text.is_empty() {
                output::line(text.join("\n"))?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    fn entry(&self, payload: String) -> Result<NewEntry> {
        let run_at = match (self.at, self.after) {
            (Some(at), _) => RunAt::At(at),
            (None, Some(after)) => RunAt::In(after),
            (None, None) => RunAt::Now,
        };
        let trace = std::env::var("TRACEPARENT").ok().as_deref().and_then(Trace::parse);
        let (task, key, priority) = (self.task.clone(), self.key.clone(), self.priority);
        let entry = NewEntry { task, payload, key, run_at, priority, trace };
        entry.check()?;
        Ok(entry)
    }

    fn of_lines(&self, input: &str) -> Result<Vec<NewEntry>> {
        let lines = input.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        lines
            .map(|(number, line)| {
                let wrong = |error: Error| error.context(format!("line {}, nothing was accepted", number + 1));
                self.entry(line.trim().to_owned()).map_err(wrong)
            })
            .collect()
    }

    /// The text of the payload, or of all of them.
    fn input(&self) -> Result<String> {
        match self.payload.as_deref() {
            Some(typed) => payload::read(typed),
            None if self.lines => payload::standard_input(),
            None => Ok("null".to_owned()),
        }
    }
}

/// A bar on a terminal; nothing elsewhere, and nothing for few.
pub(super) fn progress(length: usize) -> ProgressBar {
    if length < 2 || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(length as u64);
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {human_pos} of {human_len}, {per_sec}") {
        bar.set_style(style);
    }
    bar
}

/// Says so where the task looks mistyped: some node lives, and none declares it.
fn remark(connection: &mut Lent, task: &str) {
    let Ok(declared) = declared::living(connection) else { return };
    if declared.tasks.is_empty() || declared.tasks.contains_key(task) {
        return;
    }
    let nearest = declared.nearest(task).map(|near| format!("; the nearest is “{near}”")).unwrap_or_default();
    output::note(format!("note: no living node declares the task “{task}”{nearest}. The entry waits."));
}
