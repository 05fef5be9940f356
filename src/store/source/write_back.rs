//! Marks the rows of entries that ended, in the transaction that ends them, and finds the rows that the database
//! refuses to mark.

use super::placeholders::Piece;
use super::{AT_ONCE, Row, TableSource, Writing, catalog, value};
use crate::error::Result;
use crate::store::connection::Connection;
use crate::store::statement::{Bind, Statement, verbatim};

/// An entry that ended, whose row is to be marked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// The entry.
    pub id: i64,
    /// Its key.
    pub key: String,
    /// The attempt that ended it.
    pub attempt: i32,
    /// The row's version as the handler got it.
    pub version: Option<String>,
    /// What went wrong.
    pub error: Option<String>,
}

/// A mark and the texts of its key's columns.
type Keyed<'a> = (&'a Mark, Vec<String>);

#[derive(Clone, Copy)]
struct Task<'a> {
    setting: &'static str,
    writing: Option<&'a Writing>,
    /// True if no row may be pending afterwards.
    must_leave: bool,
}

#[derive(diesel::QueryableByName)]
struct Version {
    #[diesel(sql_type = diesel::sql_types::Text)]
    soloist_row: String,
    #[diesel(sql_type = diesel::sql_types::Nullable<diesel::sql_types::Text>)]
    soloist_version: Option<String>,
}

impl TableSource {
    /// Writes `done` for completed entries; the ids of those refused, with the reason. A row that is gone is fine, one
    /// whose version has changed is left alone. To be called in a transaction, after the fence has held; a passing
    /// fault is an error, and the whole transaction is to be repeated.
    pub fn mark_done(&self, connection: &mut Connection, marks: &[Mark]) -> Result<Vec<(i64, String)>> {
        let task = Task { setting: "done", writing: self.done.as_ref(), must_leave: true };
        let mut keyed = self.keyed(marks);
        if self.version.is_some() {
            keyed = self.unchanged(connection, keyed)?;
        }
        self.mark(connection, &keyed, task)
    }

    /// Writes `failed` for failed entries, in the same way. Their rows may stay pending: the entry holds their key.
    pub fn mark_failed(&self, connection: &mut Connection, marks: &[Mark]) -> Result<Vec<(i64, String)>> {
        if self.failed.is_none() {
            return Ok(Vec::new());
        }
        let task = Task { setting: "failed", writing: self.failed.as_ref(), must_leave: false };
        self.mark(connection, &self.keyed(marks), task)
    }

    /// In one order of keys, so that two nodes that write back the same rows do not wait for each other in a circle.
    fn keyed<'a>(&self, marks: &'a [Mark]) -> Vec<Keyed<'a>> {
        let mut keyed: Vec<_> =
            marks.iter().filter_map(|mark| Some((mark, value::key_texts(&self.key, &mark.key)?))).collect();
        keyed.sort_by(|(one, _), (other, _)| one.key.cmp(&other.key));
        keyed
    }

    /// Those whose row has the version that the handler got; their rows are locked.
    fn unchanged<'a>(&self, connection: &mut Connection, keyed: Vec<Keyed<'a>>) -> Result<Vec<Keyed<'a>>> {
        let mut versions = std::collections::HashMap::new();
        for keyed in keyed.chunks(AT_ONCE) {
            let sql = format!(
                "SELECT {} AS soloist_row, {} AS soloist_version FROM {} WHERE ",
                self.key_array(),
                self.version_text(),
                self.table.quoted
            );
            let statement = self.among(Statement::new(sql), &texts(keyed)).text(self.dialect.for_update());
            for row in connection.load::<Version>(statement)? {
                let key = value::key(self.dialect, &self.key, &catalog::texts(&row.soloist_row)?);
                versions.insert(key, row.soloist_version);
            }
        }
        let same = |mark: &Mark| versions.get(&Some(mark.key.clone())).is_some_and(|version| *version == mark.version);
        Ok(keyed.into_iter().filter(|(mark, _)| same(mark)).collect())
    }

    /// All at once; if the database refuses, one by one, to find the rows that it refuses.
    fn mark(&self, connection: &mut Connection, keyed: &[Keyed<'_>], task: Task<'_>) -> Result<Vec<(i64, String)>> {
        if keyed.is_empty() {
            return Ok(Vec::new());
        }
        let Some(reason) = self.attempt(connection, keyed, task)? else { return Ok(Vec::new()) };
        if let [(mark, _)] = keyed {
            return Ok(vec![(mark.id, reason)]);
        }
        let mut refused = Vec::new();
        for one in keyed {
            if let Some(reason) = self.attempt(connection, std::slice::from_ref(one), task)? {
                refused.push((one.0.id, reason));
            }
        }
        Ok(refused)
    }

    /// At a savepoint of its own; why it was undone, if it was.
    fn attempt(&self, connection: &mut Connection, keyed: &[Keyed<'_>], task: Task<'_>) -> Result<Option<String>> {
        connection.begin()?;
        let (label, setting) = (&self.label, task.setting);
        let reason = match self.write(connection, keyed, task) {
            Ok(None) => {
                connection.commit()?;
                return Ok(None);
            }
            Ok(Some(key)) => match task.writing {
                Some(_) => format!(
                    "the row {key} of {label} still meets `pending` after `{setting}`, which was undone: let `{setting}` \
                     set what `pending` asks for"
                ),
                None => {
                    format!("the row {key} of {label} still meets `pending`, and there is no `{setting}` to change it")
                }
            },
            Err(error) if error.is_transient() => {
                connection.rollback();
                return Err(error);
            }
            Err(error) => {
                let key = &keyed[0].0.key;
                format!("the database refused `{setting}` for the row {key} of {label}: {error}")
            }
        };
        connection.rollback();
        Ok(Some(reason))
    }

    /// The key of a row that is still pending and must not be, if there is one.
    fn write(&self, connection: &mut Connection, keyed: &[Keyed<'_>], task: Task<'_>) -> Result<Option<String>> {
        for keyed in keyed.chunks(AT_ONCE) {
            match task.writing {
                Some(Writing::Set(pieces)) if pieces.iter().any(|piece| matches!(piece, Piece::Name(_))) => {
                    for one in keyed {
                        connection.execute(self.setting(pieces, std::slice::from_ref(one)))?;
                    }
                }
                Some(Writing::Set(pieces)) => {
                    connection.execute(self.setting(pieces, keyed))?;
                }
                Some(Writing::Delete) => {
                    let sql = format!("DELETE FROM {} WHERE ", self.table.quoted);
                    connection.execute(self.among(Statement::new(sql), &texts(keyed)))?;
                }
                None => {}
            }
        }
        if self.table.deferred {
            connection.batch("SET CONSTRAINTS ALL IMMEDIATE")?;
        }
        if task.must_leave {
            for keyed in keyed.chunks(AT_ONCE) {
                let sql = format!(
                    "SELECT {} AS soloist_row FROM {} WHERE {} AND ",
                    self.key_array(),
                    self.table.quoted,
                    self.pending
                );
                let statement = self.among(Statement::new(sql), &texts(keyed));
                if let Some(row) = connection.first::<Row>(statement)? {
                    return Ok(value::key(self.dialect, &self.key, &catalog::texts(&row.soloist_row)?));
                }
            }
        }
        Ok(None)
    }

    /// The `UPDATE`; with placeholders it is for one row, whose values they get.
    fn setting(&self, pieces: &[Piece], keyed: &[Keyed<'_>]) -> Statement {
        let mut statement = Statement::new(format!("UPDATE {} SET ", self.table.quoted));
        for piece in pieces {
            statement = match (piece, keyed.first()) {
                (Piece::Name(name), Some((mark, texts))) => {
                    let (sql, bind) = self.value_of(name, mark, texts);
                    statement.text(&sql).bind(bind)
                }
                (Piece::Name(name), None) => statement.text(&format!(":{name}")),
                (Piece::Text(text), _) => statement.text(&verbatim(text)),
            };
        }
        self.among(statement.text("\nWHERE "), &texts(keyed))
    }

    /// For an SQL handler: SQL and bind of `:key` or of a key's column, as a value of the column's type.
    pub fn key_parameter(&self, key: &str, name: &str) -> Option<(String, Bind)> {
        let texts = value::key_texts(&self.key, key)?;
        let place = match name {
            "key" if self.key.len() == 1 => 0,
            name => self.key.iter().position(|column| column.name == name)?,
        };
        let column = &self.key[place];
        Some((catalog::compared(self.dialect, column), catalog::bind(self.dialect, column, &texts[place])))
    }

    fn value_of(&self, name: &str, mark: &Mark, texts: &[String]) -> (String, Bind) {
        let column = |place: usize| {
            let column = &self.key[place];
            (catalog::compared(self.dialect, column), catalog::bind(self.dialect, column, &texts[place]))
        };
        match name {
            "key" if self.key.len() == 1 => column(0),
            "key" => ("?".to_owned(), mark.key.as_str().into()),
            "entry_id" => ("?".to_owned(), mark.id.into()),
            "attempt" => ("?".to_owned(), mark.attempt.into()),
            "error" => ("?".to_owned(), mark.error.clone().into()),
            name => match self.key.iter().position(|column| column.name == name) {
                Some(place) => column(place),
                None => ("?".to_owned(), Bind::Text(None)),
            },
        }
    }

    /// The statement that marks a row, for a person to read.
    pub(super) fn marking(&self, done: bool, mark: &Mark) -> Option<Statement> {
        let texts = value::key_texts(&self.key, &mark.key)?;
        let writing = if done { self.done.as_ref() } else { self.failed.as_ref() };
        match writing? {
            Writing::Set(pieces) => Some(self.setting(pieces, &[(mark, texts)])),
            Writing::Delete => {
                let sql = format!("DELETE FROM {} WHERE ", self.table.quoted);
                Some(self.among(Statement::new(sql), &[texts.as_slice()]))
            }
        }
    }
}

fn texts<'a>(keyed: &'a [Keyed<'_>]) -> Vec<&'a [String]> {
    keyed.iter().map(|(_, texts)| texts.as_slice()).collect()
}
