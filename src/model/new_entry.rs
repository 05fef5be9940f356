//! What somebody wants done: an entry before the database has it, and whether it may become one.
//!
//! The one place where the input of CLI, API and crate is checked; the text of an error names the field.

use serde_json::value::RawValue;

use super::time::Micros;
use super::trace::Trace;
use crate::error::{Error, Result};

/// The longest key, in characters.
pub const LONGEST_KEY: usize = 255;
/// The deepest payload: what every handler and every database still reads.
pub const DEEPEST_PAYLOAD: usize = 100;
/// The longest name of a task or schedule, in characters.
pub const LONGEST_NAME: usize = 100;

/// When an entry may start first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RunAt {
    /// As soon as it is accepted.
    #[default]
    Now,
    /// At this instant.
    At(Micros),
    /// This long after it is accepted, on the database's clock.
    In(Micros),
}

impl From<Option<Micros>> for RunAt {
    fn from(at: Option<Micros>) -> Self {
        at.map_or(Self::Now, Self::At)
    }
}

/// An entry to be accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEntry {
    /// The task that will work it.
    pub task: String,
    /// JSON, kept digit for digit.
    pub payload: String,
    /// Unique per task among entries that are not final.
    pub key: Option<String>,
    /// When it may start first.
    pub run_at: RunAt,
    /// -9 to 9, lower first.
    pub priority: i32,
    /// The trace that it belongs to.
    pub trace: Option<Trace>,
}

impl NewEntry {
    /// An entry that may start at once.
    pub fn new(task: impl Into<String>, payload: impl Into<String>) -> Self {
        Self { task: task.into(), payload: payload.into(), key: None, run_at: RunAt::Now, priority: 0, trace: None }
    }

    /// Whether it may become an entry; the error names the field.
    pub fn check(&self) -> Result<(), FieldError> {
        check_name("task", &self.task)?;
        check_payload(&self.payload)?;
        if let Some(key) = &self.key {
            check_key(key)?;
        }
        check_priority(self.priority.into())?;
        if matches!(self.run_at, RunAt::In(..0)) {
            return Err(FieldError::new("run_at", "the span must not be negative"));
        }
        Ok(())
    }
}

/// Which field is wrong and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// The field, as CLI and API name it.
    pub field: &'static str,
    /// What is wrong and what would be right.
    pub message: String,
}

impl FieldError {
    /// An error of a field.
    pub(crate) fn new(field: &'static str, message: impl Into<String>) -> Self {
        Self { field, message: message.into() }
    }
}

impl std::fmt::Display for FieldError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.field, self.message)
    }
}

impl From<FieldError> for Error {
    fn from(error: FieldError) -> Self {
        Self::usage(error)
    }
}

/// A name of a task or schedule: `[A-Za-z0-9_.-]{1,100}`.
pub fn check_name(field: &'static str, name: &str) -> Result<(), FieldError> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    if name.is_empty() {
        return Err(FieldError::new(field, "a name is wanted: letters, digits, _ . - and at most 100 of them"));
    }
    if let Some(wrong) = name.chars().find(|c| !allowed(*c)) {
        let message = format!("{wrong:?} cannot be in the name {name:?}: letters, digits, _ . - can");
        return Err(FieldError::new(field, message));
    }
    if name.len() > LONGEST_NAME {
        return Err(FieldError::new(
            field,
            format!("a name has at most {LONGEST_NAME} characters, this has {}", name.len()),
        ));
    }
    Ok(())
}

/// A payload: one JSON value.
pub fn check_payload(payload: &str) -> Result<(), FieldError> {
    match serde_json::from_str::<&RawValue>(payload) {
        Ok(_) if depth(payload) > DEEPEST_PAYLOAD => {
            let message = format!("it is nested deeper than {DEEPEST_PAYLOAD} levels");
            Err(FieldError::new("payload", message))
        }
        Ok(_) => Ok(()),
        Err(error) => {
            let help = "text goes in double quotes, as in {\"id\": 7}";
            Err(FieldError::new("payload", format!("it is not JSON: {error}; {help}")))
        }
    }
}

/// How many arrays and objects of a JSON text stand in one another.
fn depth(json: &str) -> usize {
    let (mut depth, mut deepest, mut in_text, mut escaped) = (0_usize, 0, false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'[' | b'{' if !in_text => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// A key: up to 255 characters, any but NUL.
pub fn check_key(key: &str) -> Result<(), FieldError> {
    let length = key.chars().count();
    if length > LONGEST_KEY {
        return Err(FieldError::new("key", format!("a key has at most {LONGEST_KEY} characters, this has {length}")));
    }
    if key.contains('\0') {
        return Err(FieldError::new("key", "a key cannot hold the character NUL"));
    }
    Ok(())
}

/// A priority: -9 to 9.
pub fn check_priority(priority: i64) -> Result<(), FieldError> {
    if (-9..=9).contains(&priority) {
        return Ok(());
    }
    Err(FieldError::new("priority", format!("it is from -9 (first) to 9 (last), not {priority}")))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn wrong(change: impl FnOnce(&mut NewEntry)) -> (&'static str, String) {
        let mut entry = NewEntry::new("mail", "{}");
        change(&mut entry);
        let error = entry.check().unwrap_err();
        (error.field, error.message)
    }

    #[test]
    fn what_is_right_passes() {
        for payload in ["null", "123456789012345678901234567890.10", " {\"a\": [\"\\ud800\"]} ", "\"\\u0000\""] {
            let mut entry = NewEntry::new("a_B.c-9", payload);
            entry.key = Some("ä".repeat(255));
            entry.priority = -9;
            assert_eq!(entry.check(), Ok(()), "{payload}");
        }
    }

    #[test]
    fn an_error_names_the_field() {
        assert_eq!(wrong(|e| e.task = String::new()).0, "task");
        assert_eq!(wrong(|e| e.task = "a b".into()).0, "task");
        assert_eq!(wrong(|e| e.task = "a".repeat(101)).0, "task");
        for payload in ["", "{", "{} {}", "{'id': 7}", "NaN", "\u{1}"] {
            assert_eq!(wrong(|e| e.payload = payload.into()).0, "payload", "{payload}");
        }
        let deep = |levels: usize| format!("{}\"[\\\"[\"{}", "[".repeat(levels), "]".repeat(levels));
        assert_eq!(wrong(|e| e.payload = deep(101)).0, "payload");
        assert_eq!(check_payload(&deep(100)), Ok(()));
        assert_eq!(wrong(|e| e.key = Some("ä".repeat(256))).0, "key");
        assert_eq!(wrong(|e| e.key = Some("a\0".into())).0, "key");
        assert_eq!(wrong(|e| e.priority = 10), ("priority", "it is from -9 (first) to 9 (last), not 10".into()));
        assert_eq!(wrong(|e| e.run_at = RunAt::In(-1)).0, "run_at");
    }
}
