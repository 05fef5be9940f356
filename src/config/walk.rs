//! Walks the parsed tree of a file and collects everything that is wrong with it.
//!
//! Owns which keys a section may hold and where an error stands. What a value must look like is `value`.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::environment::Environment;
use super::nearest::{enumerate, nearest};

/// One walk over one file.
pub(super) struct Walk<'a> {
    pub(super) text: &'a str,
    pub(super) environment: &'a Environment,
    /// Relative names of secret files begin here.
    pub(super) directory: &'a Path,
    found: RefCell<Vec<Found>>,
    secrets: RefCell<Vec<Range<usize>>>,
    /// Names of the environment variables that held secrets.
    pub(super) secret_variables: RefCell<BTreeSet<String>>,
}

/// Something wrong, before its line is looked up.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) span: Option<Range<usize>>,
    pub(super) key: String,
    pub(super) message: String,
    pub(super) help: Option<String>,
    /// True if something is missing: not to be believed where the file could not be read in full.
    pub(super) absence: bool,
}

/// A table of the file with the keys that it may hold; empty if the file does not have it.
#[derive(Clone)]
pub(super) struct Section<'w> {
    pub(super) walk: &'w Walk<'w>,
    pub(super) path: String,
    table: Option<&'w DeTable<'w>>,
    span: Range<usize>,
}

/// A value of the file with its key.
#[derive(Clone)]
pub(super) struct Item<'w> {
    pub(super) walk: &'w Walk<'w>,
    pub(super) path: String,
    /// The last part of the path.
    pub(super) key: String,
    pub(super) value: &'w DeValue<'w>,
    pub(super) span: Range<usize>,
    pub(super) key_span: Range<usize>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(text: &'a str, environment: &'a Environment, directory: &'a Path) -> Self {
        Self {
            text,
            environment,
            directory,
            found: RefCell::default(),
            secrets: RefCell::default(),
            secret_variables: RefCell::default(),
        }
    }

    pub(super) fn add(&self, found: Found) {
        self.found.borrow_mut().push(found);
    }

    /// Keeps a part of the file out of what is shown.
    pub(super) fn hide(&self, span: Range<usize>) {
        self.secrets.borrow_mut().push(span);
    }

    pub(super) fn finish(self) -> (Vec<Found>, Vec<Range<usize>>) {
        (self.found.into_inner(), self.secrets.into_inner())
    }
}

impl<'w> Section<'w> {
    /// A table whose keys the user makes up, such as `[tasks]`.
    pub(super) fn open(walk: &'w Walk<'w>, path: &str, table: &'w DeTable<'w>, span: Range<usize>) -> Self {
        Self { walk, path: path.to_owned(), table: Some(table), span }
    }

    /// A table with the keys that it may hold; each other key is an error. `kind` is how help texts call it.
    pub(super) fn closed(self, kind: &str, keys: &[&str]) -> Self {
        for item in self.items() {
            if keys.contains(&item.key.as_str()) {
                continue;
            }
            let help = match (nearest(&item.key, keys.iter().copied()), super::load::home_of(&item.key)) {
                (_, Some(home)) if !home.contains(kind) => format!("“{}” is a key of {home}", item.key),
                (Some(near), _) => format!("the nearest key of {kind} is “{near}”"),
                (None, _) => format!("the keys of {kind} are {}", enumerate(keys.iter().copied(), "and")),
            };
            let message = match self.path.as_str() {
                "" => format!("unknown section “{}”", item.key),
                path => format!("unknown key “{}” in [{path}]", item.key),
            };
            self.walk.add(Found {
                span: Some(item.key_span.clone()),
                key: item.path.clone(),
                message,
                help: Some(help),
                absence: false,
            });
        }
        self
    }

    fn none(walk: &'w Walk<'w>, path: String) -> Self {
        Self { walk, path, table: None, span: 0..0 }
    }

    /// The keys and values, in the order of the file.
    pub(super) fn items(&self) -> Vec<Item<'w>> {
        let entries = self.table.into_iter().flat_map(|table| table.iter());
        let mut items: Vec<Item<'w>> =
            entries.map(|(key, value)| self.item(key.get_ref(), key.span(), value)).collect();
        items.sort_by_key(|item| item.key_span.start);
        items
    }

    fn item(&self, key: &str, key_span: Range<usize>, value: &'w Spanned<DeValue<'w>>) -> Item<'w> {
        let path = if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) };
        Item { walk: self.walk, path, key: key.to_owned(), value: value.get_ref(), span: value.span(), key_span }
    }

    /// The value of a key.
    pub(super) fn get(&self, key: &str) -> Option<Item<'w>> {
        let (found, value) = self.table?.get_key_value(key)?;
        Some(self.item(key, found.span(), value))
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.table.is_some_and(|table| table.contains_key(key))
    }

    /// A table inside this one; empty if it is not there.
    pub(super) fn section(&self, key: &str) -> Section<'w> {
        let inside = self.get(key).and_then(|item| item.table());
        inside.unwrap_or_else(|| Self::none(self.walk, key.to_owned()))
    }

    /// Says that the section lacks something.
    pub(super) fn lacks(&self, message: &str, help: impl Into<String>) {
        self.walk.add(Found {
            span: (self.span != (0..0)).then(|| self.span.clone()),
            key: self.path.clone(),
            message: format!("{}: {message}", self.path),
            help: Some(help.into()),
            absence: true,
        });
    }
}

impl<'w> Item<'w> {
    /// Says what is wrong with the value.
    pub(super) fn wrong(&self, message: impl AsRef<str>, help: impl Into<String>) {
        self.add(self.span.clone(), message.as_ref(), help.into(), false);
    }

    /// Says that what the value names is not there.
    pub(super) fn wrong_absent(&self, message: impl AsRef<str>, help: impl Into<String>) {
        self.add(self.span.clone(), message.as_ref(), help.into(), true);
    }

    /// Says what is wrong with the key.
    pub(super) fn wrong_key(&self, message: impl AsRef<str>, help: impl Into<String>) {
        self.add(self.key_span.clone(), message.as_ref(), help.into(), false);
    }

    fn add(&self, span: Range<usize>, message: &str, help: String, absence: bool) {
        let message = format!("{}: {message}", self.path);
        let found = Found { span: Some(span), key: self.path.clone(), message, help: Some(help), absence };
        self.walk.add(found);
    }

    /// The value as a table, whose title is the key.
    pub(super) fn table(&self) -> Option<Section<'w>> {
        let DeValue::Table(table) = self.value else {
            self.wrong(format!("is a table, not {}", self.described()), format!("write “{} = {{ … }}”", self.key));
            return None;
        };
        let span = self.key_span.clone();
        Some(Section { walk: self.walk, path: self.path.clone(), table: Some(table), span })
    }

    /// The values of an array; `None` if it is none.
    pub(super) fn array(&self) -> Option<Vec<Item<'w>>> {
        let DeValue::Array(array) = self.value else {
            return None;
        };
        let item = |(index, value): (usize, &'w Spanned<DeValue<'w>>)| Item {
            walk: self.walk,
            path: format!("{}[{index}]", self.path),
            key: self.key.clone(),
            value: value.get_ref(),
            span: value.span(),
            key_span: value.span(),
        };
        Some(array.iter().enumerate().map(item).collect())
    }
}
