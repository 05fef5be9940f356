//! What the database says of a table: its columns with their kinds, its unique keys; and how a column is read as text
//! and compared with one. What differs between the databases is in one file each.

#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "sqlite")]
mod sqlite;

use std::borrow::Cow;

use crate::error::{Error, Result};
use crate::store::connection::Connection;
use crate::store::dialect::Dialect;
use crate::store::statement::{Bind, Statement, verbatim};

/// What a column holds, as far as JSON tells values apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Whole numbers.
    Integer,
    /// Numbers with all their digits.
    Decimal,
    /// Floating point.
    Real,
    /// Truth.
    Boolean,
    /// Date and time, with or without a zone.
    Instant,
    /// A day.
    Date,
    /// JSON.
    Json,
    /// Bytes.
    Binary,
    /// UUID.
    Uuid,
    /// All else.
    Text,
}

/// A column of a user's table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name, unquoted.
    pub name: String,
    /// What it holds.
    pub kind: Kind,
    /// Its type in the database's words, to be compared with and cast to.
    pub declared: String,
}

/// A user's table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Its name as a statement writes it: quoted, with its schema if that was named.
    pub quoted: String,
    /// Its columns, in its own order.
    pub columns: Vec<Column>,
    /// The columns of each of its unique keys over all rows, the primary key first.
    pub unique: Vec<Vec<String>>,
    /// True if the database has constraints that may be checked as late as the commit.
    pub deferred: bool,
    /// False if its engine takes nothing back.
    pub transactional: bool,
}

impl Table {
    /// The column of this name; where the database ignores case, so does this.
    pub fn column(&self, dialect: Dialect, name: &str) -> Option<&Column> {
        let exact = self.columns.iter().find(|column| column.name == name);
        exact.or_else(|| match dialect {
            Dialect::Postgres => None,
            _ => self.columns.iter().find(|column| column.name.eq_ignore_ascii_case(name)),
        })
    }
}

/// Runs the function of this name in the file of the dialect.
macro_rules! by_dialect {
    ($dialect:expr, $function:ident ( $($argument:expr),* )) => {
        match $dialect {
            #[cfg(feature = "sqlite")]
            Dialect::Sqlite => sqlite::$function($($argument),*),
            #[cfg(feature = "postgres")]
            Dialect::Postgres => postgres::$function($($argument),*),
            #[cfg(feature = "mysql")]
            Dialect::Mysql => mysql::$function($($argument),*),
            #[allow(unreachable_patterns)]
            _ => unreachable!("a connection is only made by a driver that is compiled in"),
        }
    };
}

/// True if a table of this bare name can be seen without naming its schema.
pub fn has_table(connection: &mut Connection, name: &str) -> Result<bool> {
    let sql = match connection.dialect() {
        Dialect::Sqlite => "SELECT count(*) AS n FROM sqlite_master WHERE type = 'table' AND name = ?",
        Dialect::Postgres => "SELECT count(*) AS n FROM pg_catalog.pg_class WHERE oid = to_regclass(quote_ident(?))",
        Dialect::Mysql => {
            "SELECT count(*) AS n FROM information_schema.tables WHERE table_schema = database() AND table_name = ?"
        }
    };
    Ok(connection.number(Statement::new(sql).bind(name).once())? > 0)
}

/// Looks a table up; `None` if there is none that this role can see.
pub fn table(connection: &mut Connection, schema: Option<&str>, name: &str) -> Result<Option<Table>> {
    let dialect = connection.dialect();
    let mut quoted = verbatim(&dialect.quote(name));
    if let Some(schema) = schema {
        quoted = format!("{}.{quoted}", verbatim(&dialect.quote(schema)));
    }
    by_dialect!(dialect, table(connection, schema, name, quoted))
}

/// True if what bears this name is a view.
pub fn is_view(connection: &mut Connection, schema: Option<&str>, name: &str) -> Result<bool> {
    let sql = match connection.dialect() {
        Dialect::Sqlite => {
            "SELECT count(*) AS n FROM pragma_table_list WHERE schema = COALESCE(?, 'main') COLLATE NOCASE \
             AND name = ? COLLATE NOCASE AND type = 'view'"
        }
        Dialect::Postgres => {
            "SELECT count(*) AS n FROM pg_catalog.pg_class WHERE relkind IN ('v', 'm') \
             AND oid = to_regclass(COALESCE(quote_ident(?) || '.', '') || quote_ident(?))"
        }
        Dialect::Mysql => {
            "SELECT count(*) AS n FROM information_schema.views \
             WHERE table_schema = COALESCE(?, database()) AND table_name = ?"
        }
    };
    Ok(connection.number(Statement::new(sql).bind(schema.map(str::to_owned)).bind(name).once())? > 0)
}

/// The names of tables that this role can see, as a configuration writes them; none of Soloist's own.
pub fn table_names(connection: &mut Connection) -> Result<Vec<String>> {
    let mut names = by_dialect!(connection.dialect(), table_names(connection))?;
    names.retain(|name| !name.starts_with("soloist_"));
    Ok(names)
}

/// SQL for a column as the text from which a payload's value is made.
pub fn shown(dialect: Dialect, column: &Column) -> String {
    by_dialect!(dialect, shown(column))
}

/// SQL for a column as text that [`compared`] takes back without loss: for keys, versions and positions.
pub fn exact(dialect: Dialect, column: &Column) -> String {
    by_dialect!(dialect, exact(column))
}

/// SQL with one `?`, bound by [`bind`]: a text as a value of the column's type.
pub fn compared(dialect: Dialect, column: &Column) -> String {
    by_dialect!(dialect, compared(column))
}

/// A text in the form that [`compared`] binds.
pub fn bind(dialect: Dialect, column: &Column, text: &str) -> Bind {
    by_dialect!(dialect, bind(column, text))
}

/// The same for a text that [`exact`] gave.
pub fn bind_exact(dialect: Dialect, column: &Column, text: &str) -> Bind {
    match dialect {
        #[cfg(feature = "sqlite")]
        Dialect::Sqlite => sqlite::bind_exact(text),
        _ => bind(dialect, column, text),
    }
}

/// What a text that [`shown`] or [`exact`] gave is, and its bare text.
pub fn decode<'a>(dialect: Dialect, column: &Column, text: &'a str) -> (Kind, Cow<'a, str>) {
    match dialect {
        #[cfg(feature = "sqlite")]
        Dialect::Sqlite => sqlite::decode(column, text),
        #[cfg(feature = "mysql")]
        Dialect::Mysql => mysql::decode(column, text),
        _ => (column.kind, Cow::Borrowed(text)),
    }
}

/// SQL for texts as one JSON array.
pub fn array(dialect: Dialect, texts: &[String]) -> String {
    let texts = texts.join(", ");
    match dialect {
        Dialect::Sqlite => format!("json_array({texts})"),
        // Of one argument: a function takes no more than 100.
        Dialect::Postgres => format!("CAST(array_to_json(CAST(ARRAY[{texts}] AS text[])) AS text)"),
        Dialect::Mysql => format!("CONVERT(JSON_ARRAY({texts}) USING utf8mb4)"),
    }
}

/// The texts of an [`array()`].
pub fn texts(array: &str) -> Result<Vec<Option<String>>> {
    serde_json::from_str(array)
        .map_err(|error| Error::internal(format!("the database gave no array of texts: {error}")))
}

/// A column's name in a statement.
pub fn quoted(dialect: Dialect, column: &Column) -> String {
    verbatim(&dialect.quote(&column.name))
}

/// One row of a look-up: a name, a type and what else is said of it.
#[derive(diesel::QueryableByName)]
struct Said {
    #[diesel(sql_type = diesel::sql_types::Text)]
    name: String,
    #[diesel(sql_type = diesel::sql_types::Text)]
    said: String,
}

/// Groups (key, column) rows, in their order, into keys.
fn grouped(rows: Vec<Said>) -> Vec<Vec<String>> {
    let mut keys: Vec<(String, Vec<String>)> = Vec::new();
    for row in rows {
        match keys.last_mut() {
            Some((name, columns)) if *name == row.name => columns.push(row.said),
            _ => keys.push((row.name, vec![row.said])),
        }
    }
    keys.into_iter().map(|(_, columns)| columns).collect()
}
