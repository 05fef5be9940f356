//! Reads a configuration file, or the environment where there is none, and says all that is wrong at once.
//!
//! Owns the order of reading and which errors are believed. Each section has its reader below; none of them stops at
//! an error.

mod database;
mod handler;
mod http;
mod node;
mod payload;
mod policy;
mod schedule;
mod secrets;
mod source;
mod task;

use std::ops::Range;
use std::path::Path;

use toml::de::DeTable;

use super::errors::{ConfigError, ConfigErrors, Place};
use super::walk::{Found, Section, Walk};
use super::{Config, Environment};

/// The file that is read if none is named.
pub const DEFAULT_FILE: &str = "soloist.toml";

/// Largest file that is read.
const LARGEST: u64 = 8 << 20;

/// What a configuration is read for: a command that runs no handler and serves nobody need not have their secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    /// To speak to the database: secrets of handlers and tokens that are not there are left out.
    Ask,
    /// To run handlers: tokens that are not there are left out. Must not serve.
    Work,
    /// To run a node: every secret must be there.
    Serve,
}

impl Config {
    /// Reads `file`, which must be there; or `soloist.toml` if it is; or `DATABASE_URL`.
    pub fn load(file: Option<&Path>, purpose: Purpose) -> Result<Self, ConfigErrors> {
        Self::load_with(file, purpose, &Environment::process())
    }

    /// As `load`, with another environment.
    pub fn load_with(file: Option<&Path>, purpose: Purpose, environment: &Environment) -> Result<Self, ConfigErrors> {
        let path = match file {
            Some(path) => path,
            None if Path::new(DEFAULT_FILE).exists() => Path::new(DEFAULT_FILE),
            None => return Self::without_file(environment),
        };
        let name = path.display().to_string();
        let unreadable = |why: String, help: &str| ConfigErrors::one(why, help, Some(name.clone()));
        let help = "name another with --config, or write one with “soloist init”";
        let size = std::fs::metadata(path).map(|about| about.len());
        let bytes = match size {
            Ok(size) if size > LARGEST => return Err(unreadable("the file is larger than 8 MiB".into(), help)),
            _ => std::fs::read(path).map_err(|error| {
                unreadable(format!("the configuration cannot be read: {}", secrets::reason(&error)), help)
            })?,
        };
        let text = String::from_utf8(bytes).map_err(|error| {
            let line = error.as_bytes()[..error.utf8_error().valid_up_to()].iter().filter(|b| **b == b'\n').count() + 1;
            unreadable(format!("the file is not UTF-8 (line {line})"), "save it as UTF-8")
        })?;
        Self::read(&name, &text, path.parent().unwrap_or(Path::new("")), purpose, environment)
    }

    /// Reads the text of a file. `name` is how errors call it; relative secret files are looked for in `directory`.
    pub fn read(
        name: &str,
        text: &str,
        directory: &Path,
        purpose: Purpose,
        environment: &Environment,
    ) -> Result<Self, ConfigErrors> {
        let (table, syntax) = DeTable::parse_recoverable(text);
        let walk = Walk::new(text, environment, directory);
        for error in &syntax {
            walk.add(Found {
                span: error.span(),
                key: String::new(),
                message: format!("this is not TOML: {}", error.message()),
                help: None,
                absence: false,
            });
        }
        let root = Section::open(&walk, "", table.get_ref(), 0..0).closed("the file", SECTIONS);
        let tasks = task::read_all(&root, purpose);
        let node = node::read(&root.section("node"));
        let config = Self {
            database: database::read(&root.section("database")),
            http: http::read(&root.section("http"), &node, purpose),
            node,
            schedules: schedule::read_all(&root, &tasks.names),
            tasks: tasks.tasks,
            secret_variables: walk.secret_variables.take(),
        };
        drop(root);
        let (found, secrets) = walk.finish();
        let broken: Vec<Range<usize>> =
            syntax.iter().filter_map(toml::de::Error::span).map(|span| unread(text, span.start)).collect();
        let believed = |(n, f): &(usize, Found)| *n < syntax.len() || holds(f, text, &broken);
        let mut found: Vec<Found> = match syntax.is_empty() {
            true => found,
            false => found.into_iter().enumerate().filter(believed).map(|(_, found)| found).collect(),
        };
        if found.is_empty() {
            return Ok(config);
        }
        // The parser says of one broken value the same several times over.
        found.dedup_by(|a, b| a.span == b.span && a.message == b.message);
        found.sort_by_key(|found| found.span.as_ref().map_or(usize::MAX, |span| span.start));
        let errors = found.into_iter().map(|found| ConfigError {
            place: found.span.map(|span| Place::find(text, &span, &secrets)),
            message: found.message,
            help: found.help,
            key: found.key,
            file: Some(name.to_owned()),
        });
        Err(ConfigErrors::new(errors.collect()))
    }

    fn without_file(environment: &Environment) -> Result<Self, ConfigErrors> {
        let mut config = Self::default();
        match database::from_environment(environment) {
            Ok(url) => config.database.url = url,
            Err(why) => return Err(ConfigErrors::one(why.message, why.help, None)),
        }
        Ok(config)
    }
}

/// After a syntax error the tree lacks what stood there: what is missing, and what stands on the same lines, may be
/// right in truth.
fn holds(found: &Found, text: &str, broken: &[Range<usize>]) -> bool {
    let place = found.span.as_ref().filter(|span| **span != (0..0));
    !found.absence && place.is_some_and(|span| !broken.iter().any(|lines| lines.contains(&line_of(text, span.start))))
}

/// The lines that a syntax error takes along: its own, and after a broken title all up to the next one.
fn unread(text: &str, at: usize) -> Range<usize> {
    let first = line_of(text, at);
    let is_title = |line: &str| line.trim_start().starts_with('[');
    let mut lines = text.lines().skip(first);
    let length = match lines.next().is_some_and(is_title) {
        true => 1 + lines.take_while(|line| !is_title(line)).count(),
        false => 1,
    };
    first..first + length
}

fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count()
}

const SECTIONS: &[&str] = &["database", "node", "http", "tasks", "schedules"];

/// The section that a key belongs to, if it is one and only one.
pub(super) fn home_of(key: &str) -> Option<&'static str> {
    let homes: [(&str, &[&str]); 6] = [
        ("[database]", database::KEYS),
        ("[node]", node::KEYS),
        ("[http]", http::KEYS),
        ("[tasks.*]", task::KEYS),
        ("[tasks.*.source]", source::KEYS),
        ("[schedules.*]", schedule::KEYS),
    ];
    let mut having = homes.iter().filter(|(_, keys)| keys.contains(&key)).map(|(home, _)| *home);
    having.next().filter(|_| having.next().is_none())
}

#[cfg(test)]
mod tests;
