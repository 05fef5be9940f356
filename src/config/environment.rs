//! The environment, and what `${NAME}` in a value becomes.
//!
//! Owns expansion. What it expands to is never part of an error: it may be a secret.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fmt;

/// Where variables come from: the process, or a table in tests.
pub struct Environment(Source);

enum Source {
    Process,
    Table(HashMap<String, String>),
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Environment(…)")
    }
}

/// Why a value could not be expanded.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unexpanded {
    pub(super) message: String,
    pub(super) help: String,
}

/// A value after expansion.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Expanded {
    pub(super) text: String,
    /// True if the value was one `${…}` and nothing else: it may stand for a number.
    pub(super) whole: bool,
}

impl Environment {
    /// The environment of this process.
    pub fn process() -> Self {
        Self(Source::Process)
    }

    /// An environment of its own.
    pub fn of<'a>(variables: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        Self(Source::Table(variables.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()))
    }

    /// The variable, `None` if it is not set; the error if it is not UTF-8.
    pub(super) fn get(&self, name: &str) -> Result<Option<String>, Unexpanded> {
        let value: Option<OsString> = match &self.0 {
            Source::Process => std::env::var_os(name),
            Source::Table(table) => table.get(name).map(OsString::from),
        };
        value.map(OsString::into_string).transpose().map_err(|_| Unexpanded {
            message: format!("the environment variable {name} is not valid UTF-8"),
            help: format!("set {name} to a text in UTF-8"),
        })
    }

    /// Replaces `${NAME}` and `${NAME:-default}` and turns `$${` into `${`. As in a shell, a default also stands in
    /// for a variable that is set but empty.
    pub(super) fn expand(&self, typed: &str) -> Result<Expanded, Unexpanded> {
        let mut text = String::with_capacity(typed.len());
        let mut rest = typed;
        let mut whole = false;
        while let Some(dollar) = rest.find('$') {
            let (before, from) = rest.split_at(dollar);
            text.push_str(before);
            if let Some(after) = from.strip_prefix("$${") {
                text.push_str("${");
                rest = after;
            } else if let Some(after) = from.strip_prefix("${") {
                let Some(end) = after.find('}') else {
                    return Err(Unexpanded {
                        message: "“${” has no “}” after it".into(),
                        help: "close it, or write “$${” for a plain “${”".into(),
                    });
                };
                text.push_str(&self.variable(&after[..end])?);
                rest = &after[end + 1..];
                whole = from.len() == typed.len() && rest.is_empty();
            } else {
                text.push('$');
                rest = &from[1..];
            }
        }
        text.push_str(rest);
        Ok(Expanded { text, whole })
    }

    fn variable(&self, inside: &str) -> Result<String, Unexpanded> {
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
        if !is_name(name) {
            return Err(Unexpanded {
                message: "what stands between “${” and “}” is not the name of an environment variable".into(),
                help: "write “${NAME}” or “${NAME:-default}”, or “$${” for a plain “${”".into(),
            });
        }
        if default.is_some_and(|default| default.contains("${")) {
            return Err(Unexpanded {
                message: format!("the default of “${{{name}:-…}}” holds a “${{”"),
                help: "a default is plain text".into(),
            });
        }
        match (self.get(name)?, default) {
            (Some(value), None) => Ok(value),
            (Some(value), Some(_)) if !value.is_empty() => Ok(value),
            (_, Some(default)) => Ok(default.to_owned()),
            (None, None) => Err(Unexpanded {
                message: format!("the environment variable {name} is not set"),
                help: format!("set {name}, or give a default: “${{{name}:-…}}”"),
            }),
        }
    }
}

/// True for what a shell takes as the name of a variable.
pub(super) fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn variables_are_put_in_and_plain_dollars_stay() {
        let environment = Environment::of([("A", "1"), ("EMPTY", ""), ("LOOKS", "${A}")]);
        for (typed, text, whole) in [
            ("${A}", "1", true),
            ("x${A}y${A}", "x1y1", false),
            ("${A} ", "1 ", false),
            ("${NONE:-2}", "2", true),
            ("${EMPTY:-3}", "3", true),
            ("${EMPTY}", "", true),
            ("${NONE:-}", "", true),
            ("${NONE:-a:-b}", "a:-b", true),
            ("$${A}", "${A}", false),
            ("$$${A}", "$${A}", false),
            ("cost $5 $A $", "cost $5 $A $", false),
            ("${LOOKS}", "${A}", true),
            ("grün ${A} ü", "grün 1 ü", false),
        ] {
            assert_eq!(environment.expand(typed).unwrap(), Expanded { text: text.into(), whole }, "{typed}");
        }
    }

    #[test]
    fn what_cannot_be_expanded_says_why() {
        let environment = Environment::of([]);
        for (typed, message) in [
            ("${NONE}", "NONE is not set"),
            ("${A", "has no “}”"),
            ("${}", "not the name"),
            ("${a b}", "not the name"),
            ("${1A}", "not the name"),
            ("${A:-${B}}", "holds a “${”"),
        ] {
            let error = environment.expand(typed).unwrap_err();
            assert!(error.message.contains(message), "{typed}: {}", error.message);
        }
    }
}
