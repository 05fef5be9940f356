//! Configuration errors as a compiler prints them: the message, the place, the line, what would be right.

use std::fmt::Write as _;
use std::io::IsTerminal as _;

use super::errors::{ConfigError, ConfigErrors};

/// True if standard error takes colours: a terminal, `NO_COLOR` not set.
pub fn stderr_takes_colours() -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
        || std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    !refused && std::io::stderr().is_terminal()
}

struct Paint {
    red: &'static str,
    blue: &'static str,
    bold: &'static str,
    off: &'static str,
}

const COLOURED: Paint = Paint { red: "\x1b[1;31m", blue: "\x1b[1;34m", bold: "\x1b[1m", off: "\x1b[0m" };
const PLAIN: Paint = Paint { red: "", blue: "", bold: "", off: "" };

impl ConfigErrors {
    /// One block an error, then how many there are and `effect`: “2 errors; nothing was started.”
    pub fn render(&self, colours: bool, effect: &str) -> String {
        let paint = if colours { &COLOURED } else { &PLAIN };
        let mut out = String::new();
        for error in self.iter() {
            block(&mut out, error, paint);
        }
        let plural = if self.count() == 1 { "" } else { "s" };
        let _ = write!(out, "{} error{plural}; {effect}.", self.count());
        out
    }
}

fn block(out: &mut String, error: &ConfigError, paint: &Paint) {
    let Paint { red, blue, bold, off } = paint;
    let _ = writeln!(out, "{red}error{off}{bold}: {}{off}", error.message);
    let number = error.place.as_ref().map_or(String::new(), |place| place.line.to_string());
    let width = number.len().max(2);
    match (&error.file, &error.place) {
        (Some(file), Some(place)) => {
            let _ = writeln!(out, "{:width$}{blue}-->{off} {file}:{}:{}", "", place.line, place.column);
            let _ = writeln!(out, "{blue}{number:>width$} |{off} {}", place.excerpt.trim_end());
            let carets = "^".repeat(place.marked.len());
            let _ = writeln!(out, "{:width$} {blue}|{off} {:2$}{red}{carets}{off}", "", "", place.marked.start);
        }
        (Some(file), None) => {
            let _ = writeln!(out, "{:width$}{blue}-->{off} {file}", "");
        }
        (None, _) => {}
    }
    if let Some(help) = &error.help {
        let _ = writeln!(out, "{:width$} {blue}={off} {bold}help{off}: {help}", "");
    }
}
