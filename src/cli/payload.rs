//! A payload as people type it: JSON, `@FILE`, or `-` for standard input.

use std::io::Read as _;

use crate::error::{Error, Result};

/// The text that is meant; whether it is JSON is seen by whoever takes it.
pub(super) fn read(typed: &str) -> Result<String> {
    match (typed, typed.strip_prefix('@')) {
        ("-", _) => standard_input(),
        (_, Some(file)) => std::fs::read_to_string(file)
            .map_err(|error| Error::usage(format!("payload: {file} cannot be read: {error}"))),
        (text, None) => Ok(text.to_owned()),
    }
}

/// All of standard input.
pub(super) fn standard_input() -> Result<String> {
    let mut text = String::new();
    std::io::stdin()
        .read_to_string(&mut text)
        .map_err(|error| Error::usage(format!("payload: standard input cannot be read: {error}")))?;
    Ok(text)
}
