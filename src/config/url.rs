//! Database URLs as people have them, turned into what each driver takes.
//!
//! Owns the schemes and what all URLs share; each database has its own file. An error never holds a part of the URL
//! that may be secret.

mod mysql;
mod postgres;
mod sqlite;

use super::nearest::nearest;
use super::{DatabaseUrl, mask};
use crate::{Error, Result};

pub use postgres::for_tokio_postgres;

/// Why a URL is refused.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) message: String,
    pub(super) help: String,
}

/// What a URL looks like, for help texts.
const FORMS: &str = "such as postgres://app@db/app, mysql://app@db/app or sqlite:soloist.db";

const SCHEMES: [&str; 6] = ["sqlite", "postgres", "postgresql", "mysql", "mysql2", "mariadb"];

fn refuse<T>(message: impl Into<String>, help: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal { message: message.into(), help: help.into() })
}

impl DatabaseUrl {
    /// Reads a URL; see the contract for the forms that are known.
    pub fn parse(text: &str) -> Result<Self> {
        parse(text).map_err(|why| Error::usage(format!("the database URL {}; {}", why.message, why.help)))
    }

    /// A database in memory that every connection of one `Soloist` shares; each call makes another.
    pub fn memory() -> Self {
        sqlite::memory()
    }

    /// The URL without secrets, for people: `postgres://…@db/app`.
    pub fn shown(&self) -> String {
        match self {
            Self::Sqlite { memory: true, .. } => "sqlite::memory:".into(),
            Self::Sqlite { path, .. } => format!("sqlite:{path}"),
            Self::Postgres(text) | Self::Mysql(text) => {
                let text = text.expose();
                mask::masked(text.split_once('?').map_or(text, |(before, _)| before))
            }
        }
    }

    /// True if both name the same database: two in memory are alike.
    pub fn is_alike(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Sqlite { memory: true, .. }, Self::Sqlite { memory: true, .. }) => true,
            _ => self == other,
        }
    }
}

pub(super) fn parse(text: &str) -> Result<DatabaseUrl, Refusal> {
    let text = text.trim();
    if text.is_empty() {
        return refuse("is empty", format!("a database URL {FORMS}"));
    }
    if text.chars().any(char::is_control) {
        return refuse("holds a control character", format!("a database URL {FORMS}, in one line"));
    }
    let Some((scheme, rest)) = text.split_once(':').filter(|(scheme, _)| is_scheme(scheme)) else {
        return refuse("has no scheme", format!("a database URL {FORMS}"));
    };
    let scheme = scheme.to_ascii_lowercase();
    let (scheme, _driver) = scheme.split_once('+').unwrap_or((scheme.as_str(), ""));
    match scheme {
        "sqlite" | "sqlite3" => built(cfg!(feature = "sqlite"), "sqlite").and_then(|()| sqlite::parse(rest)),
        "postgres" | "postgresql" => {
            built(cfg!(feature = "postgres"), "postgres").and_then(|()| postgres::parse(authority(scheme, rest)?))
        }
        "mysql" | "mysql2" | "mariadb" => {
            built(cfg!(feature = "mysql"), "mysql").and_then(|()| mysql::parse(authority(scheme, rest)?))
        }
        other => {
            let near = nearest(other, SCHEMES).map(|near| format!("the nearest is “{near}:”; "));
            refuse(
                format!("has the scheme “{other}:”, which is not known"),
                format!("{}{FORMS}", near.unwrap_or_default()),
            )
        }
    }
}

fn is_scheme(scheme: &str) -> bool {
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-._".contains(c))
}

fn authority<'a>(scheme: &str, rest: &'a str) -> Result<&'a str, Refusal> {
    match rest.strip_prefix("//") {
        Some(rest) => Ok(rest),
        None => refuse(format!("has no “//” after “{scheme}:”"), format!("write {scheme}://user@host/database")),
    }
}

fn built(with: bool, feature: &str) -> Result<(), Refusal> {
    if with {
        return Ok(());
    }
    refuse("needs a database that this binary was built without", format!("build it with the feature “{feature}”"))
}

/// The parameters after `?`, as typed.
fn parameters(query: &str) -> Vec<(&str, &str)> {
    query.split('&').filter(|pair| !pair.is_empty()).map(|pair| pair.split_once('=').unwrap_or((pair, ""))).collect()
}

/// `sslmode=…` of libpq.
fn tls_is_wanted(mode: &str) -> bool {
    matches!(mode, "require" | "verify-ca" | "verify-full")
}

/// True if the name is one of those in the text.
fn listed(names: &str, name: &str) -> bool {
    names.split_whitespace().any(|listed| listed == name)
}

fn unknown_parameter<T>(name: &str, known: &str, database: &str) -> Result<T, Refusal> {
    let help = match nearest(name, known.split_whitespace()) {
        Some(near) => format!("the nearest parameter is “{near}”"),
        None => "take it out".to_owned(),
    };
    refuse(format!("has the parameter “{name}”, which means nothing to {database}"), help)
}
