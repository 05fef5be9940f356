//! What a demo came to, in words and as JSON. All of it was counted from the log.

use std::time::Duration;

use serde_json::json;

use super::place::Place;
use crate::cli::output;
use crate::error::Result;
use crate::store::demo::{Beat, Counted};

/// What a demo came to.
pub(super) struct Summary {
    pub rows: u64,
    pub nodes: u16,
    pub kills: usize,
    pub duration: Duration,
    pub counted: Counted,
    pub beat: Beat,
    /// True if it was given up, since nothing went on.
    pub still: bool,
}

impl Summary {
    /// True if the log holds each row once and no row twice, and each due time of the schedule fired once.
    pub(super) fn is_exactly_once(&self) -> bool {
        let Counted { calls, doubled, lost } = self.counted;
        calls == self.rows && doubled == 0 && lost == 0 && !self.still && self.beat.is_exactly_once()
    }

    pub(super) fn print(&self, as_json: bool, place: &Place, keep: bool) -> Result<()> {
        let kept = place.kept();
        let seconds = (self.duration.as_secs_f64() * 10.0).round() / 10.0;
        let Counted { calls, doubled, lost } = self.counted;
        if as_json {
            return output::json(&json!({
                "exactly_once": self.is_exactly_once(), "rows": self.rows, "nodes": self.nodes, "kills": self.kills,
                "seconds": seconds, "calls": calls, "doubled": doubled, "lost": lost,
                "firings": { "due": self.beat.due, "fired": self.beat.fired, "calls": self.beat.calls,
                             "doubled": self.beat.doubled, "latest_ms": self.beat.latest / 1000 },
                "directory": kept.map(|path| path.display().to_string()),
            }));
        }
        let nodes = plural(self.nodes.into(), "node", "nodes");
        let kills = match self.kills {
            0 => String::new(),
            1 => ", once kill -9".to_owned(),
            times => format!(", {times} times kill -9"),
        };
        output::line(format!("{}, {nodes}{kills}, {seconds:.1} s", plural(self.rows, "row", "rows")))?;
        if self.still {
            output::line("Given up: nothing went on for a minute.")?;
        }
        let once = calls == self.rows && doubled == 0 && lost == 0;
        let calls = plural(calls, "handler call", "handler calls");
        output::line(match once {
            true => format!("{calls} in the log: every row exactly once"),
            false => format!(
                "{calls} in the log: NOT exactly once; {} more than once, {} not at all",
                plural(doubled, "row", "rows"),
                plural(lost, "row", "rows")
            ),
        })?;
        output::line(self.firings())?;
        let left = match (kept, keep) {
            (Some(directory), _) => format!(
                "Kept: {}; look at it with soloist --config {} entries list",
                directory.display(),
                place.config().display()
            ),
            (None, true) => format!("Kept: the tables {} and {}.", place.names.orders, place.names.log),
            (None, false) => "All of it removed; --keep leaves it to be looked at.".to_owned(),
        };
        output::line(left)?;
        output::line("Next, in your application's directory: soloist init")
    }
}

impl Summary {
    /// What the schedule came to.
    fn firings(&self) -> String {
        let Beat { due, fired, calls, doubled, latest } = self.beat;
        if due == 0 {
            return "no firing was due in so short a time".to_owned();
        }
        let due = plural(due.unsigned_abs(), "firing was due", "firings were due");
        if self.beat.is_exactly_once() {
            format!("{due}, {fired} fired, none twice; the latest was {} ms late", latest / 1000)
        } else {
            format!("{due}, {fired} fired, {calls} handler calls, {doubled} of them doubled: NOT once each")
        }
    }
}

/// A number with its word.
pub(super) fn plural(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", number(count), if count == 1 { one } else { many })
}

/// A number as people write it: 10,000.
pub(super) fn number(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        let shown: Vec<_> = [0, 7, 999, 1_000, 10_000, 1_234_567].into_iter().map(number).collect();
        assert_eq!(shown, ["0", "7", "999", "1,000", "10,000", "1,234,567"]);
    }

    #[test]
    fn only_each_row_once_is_exactly_once() {
        let of = |calls, doubled, lost, still| {
            let counted = Counted { calls, doubled, lost };
            let beat = Beat::default();
            let summary = Summary { rows: 5, nodes: 1, kills: 0, duration: Duration::ZERO, counted, beat, still };
            summary.is_exactly_once()
        };
        assert!(of(5, 0, 0, false));
        assert!(!of(6, 1, 0, false) && !of(4, 0, 1, false) && !of(5, 1, 1, false) && !of(5, 0, 0, true));
    }
}
