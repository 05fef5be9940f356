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
        let found = catalog::table(connection, source.schema.as_deref(), &source.table)?;
        if found.as_ref().is_none_or(|table| table.unique.is_empty())
            && catalog::is_view(connection, source.schema.as_deref(), &source.table)?
        {
            let at = &looking.at;
            return Err(Error::usage(format!(
                "{at}.table: {label} is a view, and a source is a table with a key: name the table behind it"
            )));
        }
        let Some(table) = found else {
            let names = catalog::table_names(connection)?;
            let nearest = nearest(&label, names.iter().map(String::as_str));
            let at = &looking.at;
            return Err(Error::usage(format!("{at}.table: there is no table {label} that this role can see{nearest}")));
        };
        let mut faults = Faults::default();
        let key = faults.keep_all(&source.key, |name| {
            let mut column = looking.column(&table, "key", name)?;
            looking.fit_for_key(&mut column)?;
            Ok(column)
        });
        let index_order = if faults.0.is_empty() { faults.keep(looking.unique(&table, &key)) } else { None };
        let columns = match &source.columns {
            Some(names) => faults.keep_all(names, |name| looking.column(&table, "columns", name)),
            None => table.columns.clone(),
        };
        let version = source.version.as_ref().map(|name| looking.column(&table, "version", name));
        let version = version.and_then(|version| faults.keep(version));
        let order = source.order.as_ref().map(|name| {
            looking.column(&table, "order", name).and_then(|column| looking.fit_for_order(&column).map(|()| column))
        });
        let order = order.and_then(|order| faults.keep(order));
        let mut writing = |setting, text: &Option<WriteBack>| {
            text.as_ref().and_then(|text| faults.keep(looking.writing(setting, text, &key)))
        };
        let (done, failed) = (writing("done", &source.done), writing("failed", &source.failed));
        faults.end()?;
        let index_order = index_order.unwrap_or_default();
        // A comment at its end would swallow the bracket.
        let end = if source.pending.contains(['-', '#']) { "\n" } else { "" };
        let pending = format!("({}{end})", verbatim(&source.pending));
        Ok(Self { dialect, label, table, key, index_order, columns, version, order, pending, done, failed })
    }
}

/// What is wrong, all of it.
#[derive(Default)]
struct Faults(Vec<Error>);

impl Faults {
    fn keep<T>(&mut self, result: Result<T>) -> Option<T> {
        result.map_err(|error| self.0.push(error)).ok()
    }

    fn keep_all<T>(&mut self, names: &[String], find: impl Fn(&str) -> Result<T>) -> Vec<T> {
        names.iter().filter_map(|name| self.keep(find(name))).collect()
    }

    /// One error, a line for each.
    fn end(mut self) -> Result<()> {
        match self.0.len() {
            0 => Ok(()),
            1 => Err(self.0.remove(0)),
            _ => Err(Error::usage(self.0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))),
        }
    }
}

/// Where an error is said to be.
struct Looking<'a> {
    dialect: Dialect,
    at: String,
    label: &'a str,
}

impl Looking<'_> {
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
