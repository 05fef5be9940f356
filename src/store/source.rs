//! Rows of a user's own table: what a source reads, collects and writes back.
//!
//! The only place that touches tables that are not Soloist's. Each piece of SQL that a user wrote stands in brackets or
//! at the end of a line of its own, so that a comment in it ends with it. No table is given an alias, so that a
//! predicate may name its columns by the table.

pub mod catalog;
mod collect;
mod inspect;
pub mod placeholders;
mod plan;
mod read;
mod resolve;
mod value;
mod write_back;

pub use collect::{CHUNK, Collected, Position};
pub use inspect::{Inspection, Trial, inspect};
pub use read::SourceRow;
pub use write_back::Mark;

use super::dialect::Dialect;
use super::statement::{Statement, verbatim};
use catalog::{Column, Kind, Table};
use placeholders::Piece;

/// How many keys one statement names, where the database has no arrays.
const AT_ONCE: usize = 200;

/// A source resolved against the database: columns with kinds, and the parts of its statements.
#[derive(Debug, Clone)]
pub struct TableSource {
    dialect: Dialect,
    /// The table as the configuration names it.
    label: String,
    table: Table,
    /// In the configuration's order, which is that of the entry's key.
    key: Vec<Column>,
    /// Places in `key`, in the order of the index that makes it unique.
    index_order: Vec<usize>,
    /// The payload's.
    columns: Vec<Column>,
    version: Option<Column>,
    order: Option<Column>,
    /// The predicate in brackets.
    pending: String,
    done: Option<Writing>,
    failed: Option<Writing>,
}

/// How a row is marked.
#[derive(Debug, Clone)]
enum Writing {
    Set(Vec<Piece>),
    Delete,
}

/// Rows that are one JSON array of texts each.
#[derive(diesel::QueryableByName)]
struct Row {
    #[diesel(sql_type = diesel::sql_types::Text)]
    soloist_row: String,
}

impl TableSource {
    /// The table as the configuration names it.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// The names of the columns that leave in the payload.
    pub fn column_names(&self) -> Vec<&str> {
        self.columns.iter().map(|column| column.name.as_str()).collect()
    }

    /// SQL for the key's columns as an array of texts.
    fn key_array(&self) -> String {
        let texts: Vec<_> = self.key.iter().map(|column| catalog::exact(self.dialect, column)).collect();
        catalog::array(self.dialect, &texts)
    }

    /// Adds the condition that the row's key is one of these; whether the text is one of a fixed few.
    fn among(&self, statement: Statement, keys: &[&[String]]) -> Statement {
        if let [column] = &self.key[..] {
            return self.among_one(statement, column, keys);
        }
        let mut statement = statement.text("(").once();
        for (position, texts) in keys.iter().enumerate() {
            statement = statement.text(if position > 0 { " OR (" } else { "(" });
            for (place, (column, text)) in self.key.iter().zip(*texts).enumerate() {
                let and = if place > 0 { " AND " } else { "" };
                let name = catalog::quoted(self.dialect, column);
                let compared = catalog::compared(self.dialect, column);
                statement = statement.text(&format!("{and}{name} = {compared}"));
                statement = statement.bind(catalog::bind(self.dialect, column, text));
                if self.compares_bytes(column) {
                    statement =
                        statement.text(&format!(" AND {} = CAST(? AS BINARY)", bytes(&name))).bind(text.as_str());
                }
            }
            statement = statement.text(")");
        }
        statement.text(")")
    }

    fn among_one(&self, mut statement: Statement, column: &Column, keys: &[&[String]]) -> Statement {
        let name = catalog::quoted(self.dialect, column);
        let texts: Vec<&str> = keys.iter().filter_map(|texts| texts.first()).map(String::as_str).collect();
        if self.dialect == Dialect::Postgres {
            let array = format!("CAST(? AS {}[])", verbatim(&column.declared));
            return statement.text(&format!("{name} = ANY({array})")).bind(self.dialect.texts(&texts));
        }
        let compared = catalog::compared(self.dialect, column);
        statement = statement.text(&format!("{name} IN ({})", vec![compared; texts.len()].join(", ")));
        for text in &texts {
            statement = statement.bind(catalog::bind(self.dialect, column, text));
        }
        if self.compares_bytes(column) {
            let list = vec!["CAST(? AS BINARY)"; texts.len()].join(", ");
            statement = statement.text(&format!(" AND {} IN ({list})", bytes(&name)));
            for text in &texts {
                statement = statement.bind(*text);
            }
        }
        if texts.len() == 1 { statement } else { statement.once() }
    }

    /// MySQL's collations take different texts for one.
    fn compares_bytes(&self, column: &Column) -> bool {
        self.dialect == Dialect::Mysql && column.kind == Kind::Text
    }
}

fn bytes(name: &str) -> String {
    format!("CAST(CONVERT({name} USING utf8mb4) AS BINARY)")
}
