//! How the entries that a filter means are found at a cost that does not grow with the table: newest first, one span at a
//! time, each of at most [`WALK`] rows.
//!
//! A span is either the ids that an index has for the filter, where they are few, or a stretch of the walk: along an index
//! that is in the order of ids, else along the ids themselves. What a filter asks for beside that is looked up row by row.
//! An id never changes, so that rows may move meanwhile: none comes twice, and none that is meant throughout is missed.

use diesel::QueryableByName;
use diesel::sql_types::BigInt;

use super::filter::Filter;
use super::narrow;
use crate::error::Result;
use crate::model::State;
use crate::store::connection::Connection;
use crate::store::dialect::{ColumnKind, Dialect};
use crate::store::statement::{Bind, Statement};

/// Rows that one stretch of the walk looks at.
pub(super) const WALK: i64 = 10_000;

/// Ids that an index may have for a filter, to be taken together.
pub(super) const FEW: i64 = 5_000;

/// Entries to look at next.
pub(super) enum Span {
    /// These, newest first.
    Ids(Vec<i64>),
    /// Those along an index, below one id and not below another.
    Stretch { along: Option<Along>, below: i64, floor: i64 },
}

/// An index in the order of ids: a condition with its bind, and the index's name.
#[derive(Clone)]
pub(super) struct Along {
    condition: &'static str,
    bind: Option<Bind>,
    index: &'static str,
}

/// The next span, and below which id the one after it begins.
pub(super) struct Found {
    pub span: Span,
    pub rest: Option<i64>,
}

#[derive(QueryableByName)]
struct Id {
    #[diesel(sql_type = BigInt)]
    id: i64,
}

/// The span below an id.
pub(super) fn look(connection: &mut Connection, filter: &Filter, below: i64) -> Result<Found> {
    let few = match &filter.ids {
        Some(ids) => Some(ids.clone()),
        None => narrow::few(connection, filter)?,
    };
    if let Some(mut ids) = few {
        ids.retain(|id| *id < below);
        ids.sort_unstable_by(|a, b| b.cmp(a));
        ids.dedup();
        return Ok(Found { span: Span::Ids(ids), rest: None });
    }
    let along = along(connection.dialect(), filter);
    let whole = Span::Stretch { along: along.clone(), below, floor: i64::MIN };
    let last = whole.select(connection.dialect(), "e.id").text(" ORDER BY e.id DESC LIMIT 1 OFFSET ?").bind(WALK - 1);
    let floor = connection.first::<Id>(last)?.map(|row| row.id);
    Ok(Found { span: Span::Stretch { along, below, floor: floor.unwrap_or(i64::MIN) }, rest: floor })
}

/// Does `work` where nothing may be sorted that an index has in order: PostgreSQL takes what it has not analyzed yet for
/// a few rows, and would read and sort all of them.
pub(in crate::store) fn in_index_order<T>(
    connection: &mut Connection,
    work: impl FnOnce(&mut Connection) -> Result<T>,
) -> Result<T> {
    if connection.dialect() != Dialect::Postgres {
        return work(connection);
    }
    connection.transaction(|connection| {
        connection.batch("SET LOCAL enable_sort = off")?;
        work(connection)
    })
}

/// At most `limit` ids below one that the filter means, newest first, and below which id to go on. They may be fewer, or
/// none, and there be more to come.
pub(super) fn find(
    connection: &mut Connection,
    filter: &Filter,
    limit: usize,
    below: i64,
) -> Result<(Vec<i64>, Option<i64>)> {
    in_index_order(connection, |connection| find_in_order(connection, filter, limit, below))
}

fn find_in_order(
    connection: &mut Connection,
    filter: &Filter,
    limit: usize,
    below: i64,
) -> Result<(Vec<i64>, Option<i64>)> {
    let dialect = connection.dialect();
    let Found { span, mut rest } = look(connection, filter, below)?;
    let mut select = filter.add_to(span.select(dialect, "e.id"), dialect);
    if let Span::Stretch { .. } = span {
        let more = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
        select = select.text(" ORDER BY e.id DESC LIMIT ?").bind(more);
    }
    let mut ids: Vec<i64> = connection.load::<Id>(select)?.into_iter().map(|row| row.id).collect();
    ids.sort_unstable_by(|a, b| b.cmp(a));
    if ids.len() > limit {
        ids.truncate(limit);
        rest = ids.last().copied();
    }
    Ok((ids, rest))
}

impl Span {
    /// A `SELECT` of its entries, named `e`, to which ` AND …` may be added.
    pub(super) fn select(&self, dialect: Dialect, columns: &str) -> Statement {
        match self {
            Self::Ids(ids) => {
                let from = from_ids(dialect);
                Statement::new(format!("SELECT {columns} FROM {from} WHERE 1 = 1")).bind(ids_to_join(ids))
            }
            Self::Stretch { along, below, floor } => {
                let index = along.as_ref().map_or("PRIMARY", |along| along.index);
                let force = if dialect == Dialect::Mysql { format!(" FORCE INDEX ({index})") } else { String::new() };
                let mut statement = Statement::new(format!("SELECT {columns} FROM soloist_entries e{force} WHERE "));
                if let Some(along) = along {
                    statement = statement.text(along.condition).text(" AND ");
                    if let Some(bind) = &along.bind {
                        statement = statement.bind(bind.clone());
                    }
                }
                statement.text("e.id < ? AND e.id >= ?").bind(*below).bind(*floor)
            }
        }
    }
}

/// `soloist_entries e` by the ids bound with [`ids_to_join`]; to stand after `FROM`, and more may be joined.
pub(super) fn from_ids(dialect: Dialect) -> String {
    let rows = dialect.rows_of_json("o", &[("id", ColumnKind::Integer)]);
    let force = if dialect == Dialect::Mysql { " FORCE INDEX (PRIMARY)" } else { "" };
    format!("{rows} {join} soloist_entries e{force} ON e.id = o.id", join = join_in_order(dialect))
}

/// A join that reads what stands left of it first, where a planner can be told.
pub(super) fn join_in_order(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Sqlite => "CROSS JOIN",
        Dialect::Postgres => "JOIN",
        Dialect::Mysql => "STRAIGHT_JOIN",
    }
}

/// What [`from_ids`] binds.
pub(super) fn ids_to_join(ids: &[i64]) -> String {
    let rows = ids.iter().map(|id| serde_json::json!({ "id": id })).collect();
    serde_json::Value::Array(rows).to_string()
}

/// The index, in the order of ids, that has fewest rows for the filter; nothing for the ids themselves.
fn along(dialect: Dialect, filter: &Filter) -> Option<Along> {
    let along = |condition, bind: Option<&String>, index| {
        Some(Along { condition, bind: bind.map(|text| text.as_str().into()), index })
    };
    match filter {
        Filter { schedule: Some(schedule), .. } => {
            along("e.schedule = ?", Some(schedule), "soloist_entries_by_schedule")
        }
        _ if dialect == Dialect::Mysql => None,
        // Said twice, so that SQLite finds the index.
        Filter { state: Some(State::Failed), .. } => {
            along("e.state = 'failed' AND e.state IN ('failed', 'cancelled')", None, ENDED_BADLY)
        }
        Filter { state: Some(State::Cancelled), .. } => {
            along("e.state = 'cancelled' AND e.state IN ('failed', 'cancelled')", None, ENDED_BADLY)
        }
        _ => None,
    }
}

const ENDED_BADLY: &str = "soloist_entries_ended_badly";
