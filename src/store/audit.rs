//! The audit log: who changed what over the API and the command line. A line is written in the transaction of the change
//! that it tells of, and holds neither payloads nor secrets.

mod list;

use std::fmt;

use serde_json::Value;

pub use list::{AuditShape, Sought, list};

use super::connection::Connection;
use super::dialect::Dialect;
use super::prune;
use super::statement::Statement;
use crate::error::Result;
use crate::model::time::SECOND;
use crate::model::{By, Via};

/// How long a line is kept.
const KEPT: i64 = 90 * 86_400 * SECOND;

/// What was changed; as text the path that the API has for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject<'a> {
    /// One entry.
    Entry(i64),
    /// Many entries.
    Entries,
    /// A task.
    Task(&'a str),
    /// A schedule.
    Schedule(&'a str),
    /// All schedules.
    Schedules,
}

impl fmt::Display for Subject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entry(id) => write!(f, "entries/{id}"),
            Self::Entries => f.write_str("entries"),
            Self::Task(name) => write!(f, "tasks/{name}"),
            Self::Schedules => f.write_str("schedules"),
            Self::Schedule(name) => write!(f, "schedules/{name}"),
        }
    }
}

/// Writes a line; its id, or nothing if Soloist itself did it. Belongs into the transaction of the change.
pub fn write(
    connection: &mut Connection,
    by: &By,
    action: &str,
    subject: Subject<'_>,
    detail: &Value,
) -> Result<Option<i64>> {
    if by.via == Via::Itself {
        return Ok(None);
    }
    let dialect = connection.dialect();
    let returning = if dialect == Dialect::Mysql { "" } else { " RETURNING id AS n" };
    let sql = dialect.sql(&format!(
        "INSERT INTO soloist_audit (at, who, role, via, action, subject, detail) \
         VALUES ({{now}}, ?, ?, ?, ?, ?, ?){returning}"
    ));
    let insert = Statement::new(sql)
        .bind(by.short_name())
        .bind(by.role.map(str::to_owned))
        .bind(by.via.word())
        .bind(action)
        .bind(subject.to_string())
        .bind(detail.to_string());
    if dialect == Dialect::Mysql {
        connection.execute(insert)?;
        return connection.number(Statement::new("SELECT CAST(LAST_INSERT_ID() AS SIGNED) AS n")).map(Some);
    }
    connection.number(insert).map(Some)
}

/// Puts another detail in the place of a line's: what it tells of has gone on.
pub fn amend(connection: &mut Connection, id: i64, detail: &Value) -> Result<()> {
    let sql = "UPDATE soloist_audit SET detail = ? WHERE id = ?";
    connection.execute(Statement::new(sql).bind(detail.to_string()).bind(id)).map(|_| ())
}

/// Deletes lines of more than 90 days ago, a chunk at a time; true if there may be more.
pub fn prune(connection: &mut Connection) -> Result<bool> {
    prune::older_than(connection, "soloist_audit", "at", KEPT)
}
