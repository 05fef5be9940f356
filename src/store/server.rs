//! Which servers are new enough, and which claim they allow: decided from the version's text alone.

use super::dialect::Dialect;
use crate::config::ClaimChoice;
use crate::error::{Error, Result};

/// How entries are claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strategy {
    /// `FOR UPDATE SKIP LOCKED`; on SQLite the one writer's turn.
    SkipLocked,
    /// A conditional `UPDATE` whose affected rows say who won.
    AtomicUpdate,
}

/// A server that is new enough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// What people call it, with its version: `PostgreSQL 15.18`.
    pub name: String,
    /// True for MariaDB.
    pub mariadb: bool,
}

/// Reads a server's own version text; an error that names version and minimum if it is too old.
pub fn recognise(dialect: Dialect, version: &str) -> Result<Server> {
    let mariadb = version.to_lowercase().contains("mariadb");
    // MariaDB behind an old replication protocol calls itself 5.5.5-10.11.2-MariaDB.
    let digits = if mariadb { version.trim_start_matches("5.5.5-") } else { version };
    let number = numbers(digits);
    let (product, minimum) = match dialect {
        Dialect::Sqlite => ("SQLite", [3, 35, 0]),
        Dialect::Postgres => ("PostgreSQL", [12, 0, 0]),
        Dialect::Mysql if mariadb => ("MariaDB", [10, 6, 0]),
        Dialect::Mysql => ("MySQL", [8, 0, 16]),
    };
    if number < minimum {
        let [major, minor, patch] = minimum;
        let minimum = if patch > 0 { format!("{major}.{minor}.{patch}") } else { format!("{major}.{minor}") };
        return Err(Error::usage(format!(
            "{product} {} is too old: Soloist needs {product} {minimum} or newer",
            digits.split_whitespace().next().unwrap_or(digits)
        )));
    }
    let short: String = digits.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    Ok(Server { name: format!("{product} {}", short.trim_end_matches('.')), mariadb })
}

/// The strategy for a choice. Every server that [`recognise`] lets in has SKIP LOCKED.
pub fn strategy(choice: ClaimChoice) -> Strategy {
    match choice {
        ClaimChoice::Auto | ClaimChoice::SkipLocked => Strategy::SkipLocked,
        ClaimChoice::AtomicUpdate => Strategy::AtomicUpdate,
    }
}

fn numbers(version: &str) -> [u32; 3] {
    let mut parts = version.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok());
    [parts.next().unwrap_or(0), parts.next().unwrap_or(0), parts.next().unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn old_servers_are_refused_with_version_and_minimum() {
        for (dialect, version, minimum) in [
            (Dialect::Mysql, "5.7.44-log", "8.0.16"),
            (Dialect::Mysql, "8.0.12", "8.0.16"),
            (Dialect::Mysql, "10.5.23-MariaDB", "10.6"),
            (Dialect::Mysql, "5.5.5-10.5.12-MariaDB-log", "10.6"),
            (Dialect::Postgres, "11.22 (Debian 11.22-1)", "12.0"),
            (Dialect::Sqlite, "3.34.1", "3.35"),
        ] {
            let error = recognise(dialect, version).unwrap_err();
            assert!(error.is_usage());
            let text = error.to_string();
            let number: String =
                version.trim_start_matches("5.5.5-").chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
            assert!(text.contains(minimum) && text.contains(&number), "{version}: {text}");
        }
    }

    #[test]
    fn new_servers_are_let_in() {
        for (dialect, version, name) in [
            (Dialect::Mysql, "8.0.16", "MySQL 8.0.16"),
            (Dialect::Mysql, "9.4.0", "MySQL 9.4.0"),
            (Dialect::Mysql, "10.6.18-MariaDB", "MariaDB 10.6.18"),
            (Dialect::Mysql, "5.5.5-10.11.2-MariaDB", "MariaDB 10.11.2"),
            (Dialect::Mysql, "11.4.2-MariaDB-ubu2404", "MariaDB 11.4.2"),
            (Dialect::Postgres, "12.22", "PostgreSQL 12.22"),
            (Dialect::Postgres, "15.18 (Debian 15.18-0+deb12u1)", "PostgreSQL 15.18"),
            (Dialect::Postgres, "18beta1", "PostgreSQL 18"),
            (Dialect::Sqlite, "3.53.2", "SQLite 3.53.2"),
        ] {
            assert_eq!(recognise(dialect, version).unwrap().name, name);
        }
    }
}
