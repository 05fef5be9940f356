//! How far the demo is: a bar on a terminal, plain lines elsewhere, nothing where the result is JSON.

use std::cell::Cell;
use std::io::IsTerminal as _;

use indicatif::{ProgressBar, ProgressStyle};

use super::summary::number;
use crate::cli::output;

/// The progress of one demo.
pub(super) struct Progress {
    rows: u64,
    bar: Option<ProgressBar>,
    quiet: bool,
    /// Tenths that have been told in plain lines.
    told: Cell<u64>,
}

impl Progress {
    pub(super) fn new(rows: u64, quiet: bool) -> Self {
        let bar = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::new(rows);
            let style = ProgressStyle::with_template("{bar:32} {human_pos} of {human_len}  {msg}");
            if let Ok(style) = style {
                bar.set_style(style.progress_chars("█▌░"));
            }
            bar
        });
        Self { rows, bar, quiet, told: Cell::new(0) }
    }

    /// Something that happened.
    pub(super) fn say(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| output::note(text)),
            None if self.quiet => {}
            None => output::note(text),
        }
    }

    /// So many calls are in the log.
    pub(super) fn set(&self, calls: u64) {
        if let Some(bar) = &self.bar {
            bar.set_position(calls);
            bar.set_message(format!("{}/s", number(bar.per_sec() as u64)));
            return;
        }
        let tenth = (calls * 10 / self.rows).min(10);
        if tenth > self.told.get() {
            self.told.set(tenth);
            self.say(&format!("{} of {}", number(calls), number(self.rows)));
        }
    }

    /// Leaves the lines, takes the bar away.
    pub(super) fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
