//! What goes to standard output and standard error. Nothing else in the command line prints.

use std::fmt::Display;
use std::io::{self, ErrorKind, IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicU8, Ordering};

use serde::Serialize;

use super::ask::Asked;
use crate::error::{Error, Result};

/// True if colours may be used on standard output.
pub(super) fn takes_colours() -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
        || std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    !refused && is_terminal()
}

/// True if a person reads standard output.
pub(super) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// How the command ends if the reader of its output goes away.
static ENDS_WITH: AtomicU8 = AtomicU8::new(0);

/// From now on the command ends with this code, also if the reader of its output goes away.
pub(super) fn ends_with(code: u8) {
    ENDS_WITH.store(code, Ordering::Relaxed);
}

/// Prints a line. A reader that has gone away, as `head` does, ends the command quietly.
pub(super) fn line(text: impl Display) -> Result<()> {
    raw(format_args!("{text}\n"))
}

/// Prints just this.
pub(super) fn raw(text: impl Display) -> Result<()> {
    let mut out = io::stdout().lock();
    match write!(out, "{text}").and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {
            std::process::exit(ENDS_WITH.load(Ordering::Relaxed).into())
        }
        Err(error) => Err(Error::transient(format!("standard output cannot be written: {error}"))),
    }
}

/// Prints a value as JSON: on a terminal spread over lines, else on one.
pub(super) fn json(value: &impl Serialize) -> Result<()> {
    let text = if is_terminal() { serde_json::to_string_pretty(value) } else { serde_json::to_string(value) };
    line(text.map_err(Error::internal)?)
}

/// A remark that is no result.
pub(super) fn note(text: impl Display) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Why the command failed.
pub(super) fn error(asked: &Asked, error: &Error) {
    let text = error.to_string();
    if asked.json {
        let mut body = serde_json::json!({ "code": error.code(), "message": text });
        if let Some(id) = error.entry_id() {
            body["entry_id"] = id.into();
        }
        note(body);
    } else if text.trim_start_matches("\u{1b}[1m").trim_start_matches("\u{1b}[31m").starts_with("error") {
        // Errors of the configuration are laid out already, perhaps in colour.
        note(text);
    } else {
        note(format!("error: {text}"));
    }
}
