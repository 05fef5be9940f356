//! Looks up what a source's configuration names, and says what is wrong with it in the user's words.

use super::catalog::{self, Column, Kind, Table};
use super::placeholders::{self, Piece};
use super::{TableSource, Writing};
use crate::config;
use crate::config::source::WriteBack;
use crate::error::{Error, Result};
use crate::store::connection::Connection;
use crate::store::dialect::Dialect;
use crate::store::statement::verbatim;

impl TableSource {
    /// Looks the table up. Errors name the task's key, what is wrong, and the nearest name.
    pub fn resolve(connection: &mut Connection, task: &str, source: &config::Source) -> Result<Self> {
        let dialect = connection.dialect();
        let label = match &source.schema {
            Some(schema) => format!("{schema}.{}", source.table),
            None => source.table.clone(),
        };
        let looking = Looking { dialect, at: format!("tasks.{task}.source"), label: &label };
        let Some(table) = catalog::table(connection, source.schema.as_deref(), &source.table)? else {
            let names = catalog::table_names(connection)?;
            let nearest = nearest(&label, names.iter().map(String::as_str));
            let at = &looking.at;
            return Err(Error::usage(format!("{at}.table: there is no table {label} that this role can see{nearest}")));
        };
        let mut key = looking.columns(&table, "key", &source.key)?;
        for column in &mut key {
            looking.fit_for_key(column)?;
        }
        let index_order = looking.unique(&table, &key)?;
        let columns = match &source.columns {
            Some(names) => looking.columns(&table, "columns", names)?,
            None => table.columns.clone(),
        };
        let version = source.version.as_ref().map(|name| looking.column(&table, "version", name)).transpose()?;
        let order = source.order.as_ref().map(|name| looking.column(&table, "order", name)).transpose()?;
        if let Some(column) = &order {
            looking.fit_for_order(column)?;
        }
        let done = source.done.as_ref().map(|done| looking.writing("done", done, &key)).transpose()?;
        let failed = source.failed.as_ref().map(|failed| looking.writing("failed", failed, &key)).transpose()?;
        // A comment at its end would swallow the bracket.
        let end = if source.pending.contains(['-', '#']) { "\n" } else { "" };
        let pending = format!("({}{end})", verbatim(&source.pending));
        Ok(Self { dialect, label, table, key, index_order, columns, version, order, pending, done, failed })
    }
}

/// Where an error is said to be.
struct Looking<'a> {
    dialect: Dialect,
    at: String,
    label: &'a str,
}

impl Looking<'_> {
    fn columns(&self, table: &Table, setting: &str, names: &[String]) -> Result<Vec<Column>> {
        names.iter().map(|name| self.column(table, setting, name)).collect()
    }

    fn column(&self, table: &Table, setting: &str, name: &str) -> Result<Column> {
        table.column(self.dialect, name).cloned().ok_or_else(|| {
            let nearest = nearest(name, table.columns.iter().map(|column| column.name.as_str()));
            let (at, label) = (&self.at, self.label);
            Error::usage(format!("{at}.{setting}: the table {label} has no column {name}{nearest}"))
        })
    }

    fn fit_for_key(&self, column: &mut Column) -> Result<()> {
        if self.dialect == Dialect::Mysql && column.declared == "binary(16)" {
            column.kind = Kind::Uuid;
        }
        let fits = matches!(column.kind, Kind::Integer | Kind::Text | Kind::Uuid) && !self.is_enum(column);
        if fits {
            return Ok(());
        }
        let (at, label, name) = (&self.at, self.label, &column.name);
        let declared = if column.declared.is_empty() { "without a type" } else { &column.declared };
        Err(Error::usage(format!(
            "{at}.key: the column {name} of {label} is {declared}; a key is made of integers, texts or UUIDs"
        )))
    }

    fn fit_for_order(&self, column: &Column) -> Result<()> {
        if !matches!(column.kind, Kind::Json | Kind::Binary) && !self.is_enum(column) {
            return Ok(());
        }
        let (at, label, name, declared) = (&self.at, self.label, &column.name, &column.declared);
        Err(Error::usage(format!(
            "{at}.order: the column {name} of {label} is {declared}; rows are ordered by numbers, times, texts or UUIDs"
        )))
    }

    /// MySQL sorts these by number and compares them as texts.
    fn is_enum(&self, column: &Column) -> bool {
        self.dialect == Dialect::Mysql && (column.declared.starts_with("enum(") || column.declared.starts_with("set("))
    }

    /// The places in `key` of the columns of an index that makes it unique, in the index's order, then the rest.
    fn unique(&self, table: &Table, key: &[Column]) -> Result<Vec<usize>> {
        let place = |name: &String| key.iter().position(|column| column.name == *name);
        let covering = table.unique.iter().find_map(|unique| unique.iter().map(place).collect::<Option<Vec<_>>>());
        if let Some(mut places) = covering {
            places.extend((0..key.len()).filter(|place| !places.contains(place)).collect::<Vec<_>>());
            return Ok(places);
        }
        let (at, label) = (&self.at, self.label);
        let names: Vec<_> = key.iter().map(|column| column.name.as_str()).collect();
        let known: Vec<_> = table.unique.iter().map(|columns| format!("({})", columns.join(", "))).collect();
        let known = match known.len() {
            0 => "it has none: give it one".to_owned(),
            _ => format!("it has {}", known.join(", ")),
        };
        Err(Error::usage(format!("{at}.key: ({}) is no primary or unique key of {label}; {known}", names.join(", "))))
    }

    fn writing(&self, setting: &str, text: &WriteBack, key: &[Column]) -> Result<Writing> {
        let WriteBack::Set(sql) = text else { return Ok(Writing::Delete) };
        let pieces = placeholders::parse(sql, self.dialect);
        let mut known = vec!["key", "entry_id", "attempt", "error"];
        if key.len() > 1 {
            known.extend(key.iter().map(|column| column.name.as_str()));
        }
        for piece in &pieces {
            if let Piece::Name(name) = piece
                && !known.contains(&name.as_str())
            {
                let (at, known) =
                    (&self.at, known.iter().map(|name| format!(":{name}")).collect::<Vec<_>>().join(", "));
                return Err(Error::usage(format!("{at}.{setting}: :{name} is not known there; {known} are")));
            }
        }
        Ok(Writing::Set(pieces))
    }
}

/// "; did you mean …?", if a name is near enough.
fn nearest<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    config::nearest::nearest(wanted, names).map(|name| format!("; did you mean {name}?")).unwrap_or_default()
}
