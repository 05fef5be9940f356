//! Whole files, right and wrong, against what is read or said.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod printed;
mod right;
mod secret;
mod wrong;

use std::path::Path;

use super::Purpose;
use crate::config::{Config, ConfigErrors, Environment};

fn read_for(text: &str, variables: &[(&str, &str)], purpose: Purpose) -> Result<Config, ConfigErrors> {
    Config::read("soloist.toml", text, Path::new(""), purpose, &Environment::of(variables.iter().copied()))
}

fn read(text: &str, variables: &[(&str, &str)]) -> Result<Config, ConfigErrors> {
    read_for(text, variables, Purpose::Serve)
}

fn right(text: &str) -> Config {
    read(text, &[]).unwrap_or_else(|errors| panic!("{text}\n{errors}"))
}

/// Each error as `LINE:COLUMN KEY | MESSAGE | HELP`.
fn said(text: &str, variables: &[(&str, &str)]) -> Vec<String> {
    let errors = match read(text, variables) {
        Ok(_) => return Vec::new(),
        Err(errors) => errors,
    };
    let place = |error: &crate::config::ConfigError| {
        error.place.as_ref().map_or("-".to_owned(), |place| format!("{}:{}", place.line, place.column))
    };
    errors
        .iter()
        .map(|e| format!("{} {} | {} | {}", place(e), e.key, e.message, e.help.as_deref().unwrap_or_default()))
        .collect()
}
