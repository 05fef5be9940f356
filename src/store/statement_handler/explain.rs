//! Whether the database would run an SQL handler: it is asked for its plan, and nothing is run.

use crate::error::{Error, Result};
use crate::store::connection::Connection;
use crate::store::dialect::Dialect;
use crate::store::source::placeholders::{self, Piece};
use crate::store::statement::{Statement, verbatim};

/// How statements begin that have a plan.
const PLANNED: [&str; 7] = ["select", "insert", "update", "delete", "with", "replace", "merge"];

/// How others begin that a handler may run; what they do cannot be asked without doing it.
const OTHERS: [&str; 18] = [
    "call", "do", "values", "table", "execute", "exec", "refresh", "truncate", "create", "drop", "alter", "analyze",
    "optimize", "vacuum", "notify", "lock", "copy", "set",
];

/// An error if the database would not run the statement, or if it is none. What the payload will hold is not known, so
/// each name in it stands for NULL.
pub fn explain(connection: &mut Connection, sql: &str) -> Result<()> {
    let dialect = connection.dialect();
    let text: String = placeholders::parse(sql, dialect)
        .into_iter()
        .map(|piece| match piece {
            Piece::Text(text) => verbatim(&text),
            Piece::Name(name) if name == "entry_id" || name == "attempt" => "1".to_owned(),
            Piece::Name(_) => "NULL".to_owned(),
        })
        .collect();
    let first = first_word(&text);
    if !PLANNED.contains(&first.as_str()) {
        return match first.as_str() {
            // Behind a comment or a bracket may be anything.
            "" => Ok(()),
            word if OTHERS.contains(&word) => Ok(()),
            word => Err(Error::usage(format!("no SQL statement begins with {word:?}"))),
        };
    }
    if first == "replace" && dialect == Dialect::Postgres {
        return Err(Error::usage("PostgreSQL has no REPLACE"));
    }
    let explained = Statement::new(format!("EXPLAIN {text}")).once();
    connection
        .transaction(|connection| connection.execute(explained).map(|_| ()))
        .map_err(|error| if error.is_transient() { error } else { Error::usage(error.to_string()) })
}

fn first_word(sql: &str) -> String {
    let word = sql.trim_start().chars().take_while(char::is_ascii_alphabetic);
    word.collect::<String>().to_ascii_lowercase()
}
