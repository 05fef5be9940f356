//! The members of a JSON object, taken one by one; what is wrong is gathered, so that all of it is said at once.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::Wrong;
use crate::config::nearest::{enumerate, nearest};

/// An object's members that nobody has taken yet.
pub(super) struct Members<'a> {
    left: BTreeMap<String, &'a RawValue>,
    known: Vec<&'static str>,
    /// What was wrong so far.
    pub wrong: Vec<Wrong>,
}

impl<'a> Members<'a> {
    /// The members of the object that a text holds; the error says what it holds instead.
    pub(super) fn of(text: &'a str) -> Result<Self, String> {
        match text.trim_start().as_bytes().first() {
            Some(b'{') => {
                let left = serde_json::from_str(text).map_err(|error| error.to_string())?;
                Ok(Self { left, known: Vec::new(), wrong: Vec::new() })
            }
            _ => Err(format!("an object is expected, not {}", kind(text))),
        }
    }

    /// A member as it stands, `null` too.
    pub(super) fn raw(&mut self, name: &'static str) -> Option<&'a str> {
        self.known.push(name);
        self.left.remove(name).map(RawValue::get)
    }

    /// The same, nothing for `null`.
    pub(super) fn given(&mut self, name: &'static str) -> Option<&'a str> {
        self.raw(name).filter(|raw| *raw != "null")
    }

    /// A member of a type, nothing for `null`; a wrong one is noted.
    pub(super) fn typed<T: DeserializeOwned>(&mut self, name: &'static str, expected: &str) -> Option<T> {
        let raw = self.given(name)?;
        let read = serde_json::from_str(raw).ok();
        if read.is_none() {
            self.refuse(name, format!("is {expected}, not {}", kind(raw)));
        }
        read
    }

    /// A text, nothing for `null`.
    pub(super) fn text(&mut self, name: &'static str) -> Option<String> {
        self.typed(name, "text")
    }

    /// What stands in a member, unread, of an array or an object.
    pub(super) fn container(&mut self, name: &'static str, open: char) -> Option<&'a str> {
        let raw = self.given(name)?;
        if !raw.starts_with(open) {
            let expected = if open == '[' { "an array" } else { "an object" };
            self.refuse(name, format!("is {expected}, not {}", kind(raw)));
            return None;
        }
        Some(raw)
    }

    /// Notes that a member is wrong.
    pub(super) fn refuse(&mut self, name: impl Into<String>, message: impl Into<String>) {
        self.wrong.push(Wrong::new(name, message));
    }

    /// Takes what is right, or notes what is wrong.
    pub(super) fn note<T>(&mut self, result: Result<T, Wrong>) -> Option<T> {
        result.map_err(|wrong| self.wrong.push(wrong)).ok()
    }

    /// A member that nobody took, as it stands.
    pub(super) fn peek(&self, name: &str) -> Option<&'a str> {
        self.left.get(name).map(|raw| raw.get())
    }

    /// True if there is a member of this name that nobody took.
    pub(super) fn has(&self, name: &str) -> bool {
        self.left.contains_key(name)
    }

    /// Whatever nobody took is wrong; what was taken, if nothing is.
    pub(super) fn finish<T>(mut self, taken: Option<T>) -> Result<T, Vec<Wrong>> {
        for name in std::mem::take(&mut self.left).into_keys() {
            let help = match nearest(&name, self.known.iter().copied()) {
                Some(near) => format!("did you mean “{near}”?"),
                None => format!("known are {}", enumerate(self.known.iter().copied(), "and")),
            };
            self.refuse(name.as_str(), format!("is not known here; {help}"));
        }
        match taken {
            Some(taken) if self.wrong.is_empty() => Ok(taken),
            _ => Err(self.wrong),
        }
    }
}

/// What a value is, for errors.
pub(super) fn kind(raw: &str) -> String {
    match raw.trim_start().as_bytes().first() {
        Some(b'{') => "an object".to_owned(),
        Some(b'[') => "an array".to_owned(),
        _ => raw.trim().chars().take(40).collect(),
    }
}
