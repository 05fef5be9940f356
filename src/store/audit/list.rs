//! Reads the audit log, newest first, a page at a time.

use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Nullable, Text};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::error::Result;
use crate::model::entry;
use crate::model::time::Micros;
use crate::store::connection::Connection;
use crate::store::entries::{Page, in_index_order};
use crate::store::statement::Statement;

/// Lines that one page looks at, at most.
const WALK: i64 = 5_000;

/// Which lines are sought; what is not set does not matter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sought {
    /// Of this token or user.
    pub by: Option<String>,
    /// Of this action.
    pub action: Option<String>,
    /// About this subject.
    pub subject: Option<String>,
}

/// A line as people see it.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = AuditLine)]
pub struct AuditShape {
    /// 64-bit, grows.
    pub id: i64,
    /// When it was done.
    #[serde(serialize_with = "entry::required_time")]
    #[schema(value_type = String, format = DateTime)]
    pub at: Micros,
    /// The token or the user.
    pub by: String,
    /// The role of the token; nothing of a command.
    pub role: Option<String>,
    /// `api` or `cli`.
    pub via: String,
    /// What was done.
    pub action: String,
    /// What it was done to: the path that the API has for it.
    pub subject: String,
    /// What else there is to say.
    #[schema(value_type = Object)]
    pub detail: Box<RawValue>,
}

#[derive(QueryableByName)]
struct Row {
    #[diesel(sql_type = BigInt)]
    id: i64,
    #[diesel(sql_type = BigInt)]
    at: i64,
    #[diesel(sql_type = Text)]
    who: String,
    #[diesel(sql_type = Nullable<Text>)]
    role: Option<String>,
    #[diesel(sql_type = Text)]
    via: String,
    #[diesel(sql_type = Text)]
    action: String,
    #[diesel(sql_type = Text)]
    subject: String,
    #[diesel(sql_type = Text)]
    detail: String,
}

/// Lines below `below`, newest first. A page looks at so many lines and no more: it may hold fewer than `limit`, or none,
/// and still name the next.
pub fn list(
    connection: &mut Connection,
    sought: &Sought,
    limit: usize,
    below: Option<i64>,
) -> Result<Page<AuditShape>> {
    in_index_order(connection, |connection| read(connection, sought, limit, below))
}

fn read(connection: &mut Connection, sought: &Sought, limit: usize, below: Option<i64>) -> Result<Page<AuditShape>> {
    let below = below.unwrap_or(i64::MAX);
    // The rarest first: it is what the walk goes along, by an index of it and `id`.
    let given = [("subject", &sought.subject), ("who", &sought.by), ("action", &sought.action)];
    let mut given: Vec<_> = given.into_iter().filter_map(|(column, text)| Some((column, text.as_deref()?))).collect();
    let along: Vec<_> = given.drain(..given.len().min(1)).collect();
    let with = |mut statement: Statement, columns: &[(&str, &str)]| {
        for (column, text) in columns {
            statement = statement.text(&format!(" AND {column} = ?")).bind(*text);
        }
        statement
    };
    let floor = Statement::new("SELECT id AS n FROM soloist_audit WHERE id < ?").bind(below);
    let floor = with(floor, &along).text(" ORDER BY id DESC LIMIT 1 OFFSET ?").bind(WALK - 1);
    let floor = connection.number(floor)?;

    let sql = "SELECT id, at, who, role, via, action, subject, detail FROM soloist_audit WHERE id < ? AND id >= ?";
    let select = with(with(Statement::new(sql).bind(below).bind(floor), &along), &given);
    let more = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
    let mut rows: Vec<Row> = connection.load(select.text(" ORDER BY id DESC LIMIT ?").bind(more))?;
    let goes_on = rows.len() > limit;
    rows.truncate(limit);
    let next = if goes_on { rows.last().map(|row| row.id) } else { (floor > 0).then_some(floor) };
    Ok(Page { items: rows.into_iter().map(shape).collect(), next_cursor: next.map(|id| id.to_string()) })
}

fn shape(row: Row) -> AuditShape {
    AuditShape {
        id: row.id,
        at: row.at,
        by: row.who,
        role: row.role,
        via: row.via,
        action: row.action,
        subject: row.subject,
        detail: RawValue::from_string(row.detail).unwrap_or_default(),
    }
}
