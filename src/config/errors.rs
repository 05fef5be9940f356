//! What is wrong with a configuration: every error of a file, each with its place.
//!
//! How they are shown is `print`.

use std::fmt;
use std::ops::Range;

use super::mask;
use crate::Error;

/// All that is wrong with a configuration, in the order of the file. Never empty.
#[derive(Debug, Clone)]
pub struct ConfigErrors {
    errors: Vec<ConfigError>,
}

/// One thing that is wrong. No text in it holds a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// What is wrong, beginning with the key.
    pub message: String,
    /// What would be right.
    pub help: Option<String>,
    /// The key with its section, such as `tasks.thumbnail.timeout`; empty for what is wrong with the file as a whole.
    pub key: String,
    /// The place in the file; `None` without a file or without a place in it.
    pub place: Option<Place>,
    /// The file's name as it was given; `None` if the value came from the environment.
    pub file: Option<String>,
}

/// Where something is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The line as typed, with what may be secret taken out.
    pub excerpt: String,
    /// The characters of `excerpt` that are meant.
    pub marked: Range<usize>,
}

impl ConfigErrors {
    pub(super) fn new(errors: Vec<ConfigError>) -> Self {
        Self { errors }
    }

    pub(super) fn one(message: impl Into<String>, help: impl Into<String>, file: Option<String>) -> Self {
        let (message, help) = (message.into(), Some(help.into()));
        Self::new(vec![ConfigError { message, help, key: String::new(), place: None, file }])
    }

    /// The errors, in the order of the file.
    pub fn iter(&self) -> std::slice::Iter<'_, ConfigError> {
        self.errors.iter()
    }

    /// The same as text for programs: an array of `{code, message, help, key, file, line, column}`.
    pub fn json(&self) -> serde_json::Value {
        let one = |error: &ConfigError| {
            serde_json::json!({
                "code": "configuration",
                "message": error.message,
                "help": error.help,
                "key": error.key,
                "file": error.file,
                "line": error.place.as_ref().map(|place| place.line),
                "column": error.place.as_ref().map(|place| place.column),
            })
        };
        self.iter().map(one).collect()
    }

    /// How many there are; at least one.
    pub fn count(&self) -> usize {
        self.errors.len()
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false, "nothing was started"))
    }
}

impl std::error::Error for ConfigErrors {}

impl From<ConfigErrors> for Error {
    fn from(errors: ConfigErrors) -> Self {
        Error::usage(errors)
    }
}

impl Place {
    /// The place of `span` in `text`. `secrets` are the parts of the text that must not be shown.
    pub(super) fn find(text: &str, span: &Range<usize>, secrets: &[Range<usize>]) -> Self {
        let start = floor(text, span.start.min(text.len()));
        let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = text[line_start..].find('\n').map_or(text.len(), |at| line_start + at);
        let line_text = text[line_start..line_end].trim_end_matches('\r');
        let mut hidden = mask::secrets(line_text);
        hidden.extend(secrets.iter().map(|secret| {
            secret.start.saturating_sub(line_start).min(line_text.len())
                ..secret.end.saturating_sub(line_start).min(line_text.len())
        }));
        let shown = mask::cut(line_text, &hidden);
        let from = start - line_start;
        let to = span.end.saturating_sub(line_start).min(line_text.len()).max(from + 1);
        let first = shown.iter().position(|(at, _)| *at >= from).unwrap_or(shown.len());
        let past = shown.iter().position(|(at, _)| *at >= to).unwrap_or(shown.len()).max(first + 1);
        let (excerpt, marked) = crop(&shown, first..past);
        let line = text[..line_start].matches('\n').count() + 1;
        Self { line, column: text[line_start..start].chars().count() + 1, excerpt, marked }
    }
}

const WIDEST: usize = 140;

/// Keeps a line to what fits on a screen, and control characters out of the terminal.
fn crop(shown: &[(usize, char)], marked: Range<usize>) -> (String, Range<usize>) {
    let skipped = if shown.len() > WIDEST { marked.start.saturating_sub(40).min(shown.len() - WIDEST) } else { 0 };
    let plain = |character: char| match character {
        '\t' => ' ',
        other if other.is_control() => '\u{fffd}',
        other => other,
    };
    let excerpt = shown.iter().skip(skipped).take(WIDEST).map(|(_, character)| plain(*character)).collect();
    let end = (marked.end - skipped).min(WIDEST).max(marked.start - skipped + 1);
    (excerpt, marked.start - skipped..end)
}

fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
