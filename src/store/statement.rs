//! A statement of our own over diesel: SQL text with `?` for each bind, the same text on every backend.
//!
//! Unlike `diesel::sql_query`, a `Statement` is kept prepared on its connection, by its text. Only text whose
//! shape is fixed may become one; text that a user wrote goes through [`verbatim`].

use diesel::backend::Backend;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::result::QueryResult;
use diesel::serialize::ToSql;
use diesel::sql_types::{self, HasSqlType, Untyped};

/// Stands for a `?` that is no bind. No SQL that a user types holds it.
const QUESTION_MARK: char = '\u{1}';

/// SQL that a user wrote, to be put into a statement's text: its `?` are no binds.
pub fn verbatim(sql: &str) -> String {
    sql.replace('?', &QUESTION_MARK.to_string())
}

/// A value bound to a statement.
#[derive(Debug, Clone, PartialEq)]
pub enum Bind {
    /// 64-bit integer, or NULL.
    Integer(Option<i64>),
    /// Double.
    Double(f64),
    /// Boolean.
    Boolean(bool),
    /// Text, or NULL.
    Text(Option<String>),
    /// A PostgreSQL array of integers.
    Integers(Vec<i64>),
    /// A PostgreSQL array of texts.
    Texts(Vec<String>),
}

impl From<i64> for Bind {
    fn from(value: i64) -> Self {
        Self::Integer(Some(value))
    }
}

impl From<i32> for Bind {
    fn from(value: i32) -> Self {
        Self::Integer(Some(value.into()))
    }
}

impl From<Option<i64>> for Bind {
    fn from(value: Option<i64>) -> Self {
        Self::Integer(value)
    }
}

impl From<&str> for Bind {
    fn from(value: &str) -> Self {
        Self::Text(Some(value.to_owned()))
    }
}

impl From<String> for Bind {
    fn from(value: String) -> Self {
        Self::Text(Some(value))
    }
}

impl From<Option<String>> for Bind {
    fn from(value: Option<String>) -> Self {
        Self::Text(value)
    }
}

/// SQL text and its binds, in order.
#[derive(Debug, Clone)]
pub struct Statement {
    sql: String,
    binds: Vec<Bind>,
    cached: bool,
}

impl Statement {
    /// A statement whose text holds one `?` for each bind to come.
    pub fn new(sql: impl Into<String>) -> Self {
        Self { sql: sql.into(), binds: Vec::new(), cached: true }
    }

    /// Adds the value of the next `?`.
    #[must_use]
    pub fn bind(mut self, value: impl Into<Bind>) -> Self {
        self.binds.push(value.into());
        self
    }

    /// Adds further text, with further `?`.
    #[must_use]
    pub fn text(mut self, sql: &str) -> Self {
        self.sql.push_str(sql);
        self
    }

    /// Puts text without a `?` before it: `EXPLAIN`.
    #[must_use]
    pub fn after(mut self, sql: &str) -> Self {
        self.sql = format!("{sql} {}", self.sql);
        self
    }

    /// Not to be kept prepared: its text is not one of a fixed few.
    #[must_use]
    pub fn once(mut self) -> Self {
        self.cached = false;
        self
    }

    /// The text, for a person to read.
    pub fn sql(&self) -> String {
        self.sql.replace(QUESTION_MARK, "?")
    }

    /// What is bound, in order.
    pub fn binds(&self) -> &[Bind] {
        &self.binds
    }
}

impl QueryId for Statement {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl Query for Statement {
    type SqlType = Untyped;
}

impl<C> diesel::RunQueryDsl<C> for Statement {}
impl<C> diesel::RunQueryDsl<C> for &Statement {}

/// What differs between backends in binding: only PostgreSQL has arrays.
#[allow(clippy::ptr_arg)] // diesel binds a reference to a sized value
trait BindArrays: Backend {
    fn integers<'b>(out: &mut AstPass<'_, 'b, Self>, values: &'b Vec<i64>) -> QueryResult<()>;
    fn texts<'b>(out: &mut AstPass<'_, 'b, Self>, values: &'b Vec<String>) -> QueryResult<()>;
}

fn walk<'b, DB>(statement: &'b Statement, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()>
where
    DB: BindArrays
        + HasSqlType<sql_types::BigInt>
        + HasSqlType<sql_types::Double>
        + HasSqlType<sql_types::Bool>
        + HasSqlType<sql_types::Text>,
    i64: ToSql<sql_types::BigInt, DB>,
    f64: ToSql<sql_types::Double, DB>,
    bool: ToSql<sql_types::Bool, DB>,
    Option<i64>: ToSql<sql_types::Nullable<sql_types::BigInt>, DB>,
    Option<String>: ToSql<sql_types::Nullable<sql_types::Text>, DB>,
{
    if !statement.cached {
        out.unsafe_to_cache_prepared();
    }
    let mut binds = statement.binds.iter();
    for (position, piece) in statement.sql.split('?').enumerate() {
        if position > 0 {
            match binds.next() {
                Some(Bind::Integer(value)) => {
                    out.push_bind_param::<sql_types::Nullable<sql_types::BigInt>, _>(value)?;
                }
                Some(Bind::Double(value)) => out.push_bind_param::<sql_types::Double, _>(value)?,
                Some(Bind::Boolean(value)) => out.push_bind_param::<sql_types::Bool, _>(value)?,
                Some(Bind::Text(value)) => out.push_bind_param::<sql_types::Nullable<sql_types::Text>, _>(value)?,
                Some(Bind::Integers(values)) => DB::integers(&mut out, values)?,
                Some(Bind::Texts(values)) => DB::texts(&mut out, values)?,
                None => {
                    let message = format!("a bind is missing in: {}", statement.sql);
                    return Err(diesel::result::Error::QueryBuilderError(message.into()));
                }
            }
        }
        let mut parts = piece.split(QUESTION_MARK);
        out.push_sql(parts.next().unwrap_or_default());
        for part in parts {
            out.push_sql("?");
            out.push_sql(part);
        }
    }
    Ok(())
}

macro_rules! walk_on {
    ($feature:literal, $backend:ty) => {
        #[cfg(feature = $feature)]
        impl QueryFragment<$backend> for Statement {
            fn walk_ast<'b>(&'b self, out: AstPass<'_, 'b, $backend>) -> QueryResult<()> {
                walk(self, out)
            }
        }
    };
}

macro_rules! no_arrays_on {
    ($feature:literal, $backend:ty) => {
        #[cfg(feature = $feature)]
        impl BindArrays for $backend {
            fn integers<'b>(_: &mut AstPass<'_, 'b, Self>, _: &'b Vec<i64>) -> QueryResult<()> {
                Err(diesel::result::Error::QueryBuilderError("this database has no arrays".into()))
            }
            fn texts<'b>(_: &mut AstPass<'_, 'b, Self>, _: &'b Vec<String>) -> QueryResult<()> {
                Err(diesel::result::Error::QueryBuilderError("this database has no arrays".into()))
            }
        }
    };
}

walk_on!("sqlite", diesel::sqlite::Sqlite);
walk_on!("postgres", diesel::pg::Pg);
walk_on!("mysql", diesel::mysql::Mysql);
no_arrays_on!("sqlite", diesel::sqlite::Sqlite);
no_arrays_on!("mysql", diesel::mysql::Mysql);

#[cfg(feature = "postgres")]
impl BindArrays for diesel::pg::Pg {
    fn integers<'b>(out: &mut AstPass<'_, 'b, Self>, values: &'b Vec<i64>) -> QueryResult<()> {
        out.push_bind_param::<sql_types::Array<sql_types::BigInt>, _>(values)
    }
    fn texts<'b>(out: &mut AstPass<'_, 'b, Self>, values: &'b Vec<String>) -> QueryResult<()> {
        out.push_bind_param::<sql_types::Array<sql_types::Text>, _>(values)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[cfg(feature = "postgres")]
    #[test]
    fn a_users_question_mark_is_no_bind() {
        let statement =
            Statement::new(format!("SELECT ? WHERE {} AND ?", verbatim("tags ? 'a'"))).bind(1_i64).bind("x");
        let sql = diesel::debug_query::<diesel::pg::Pg, _>(&statement).to_string();
        assert!(sql.starts_with("SELECT $1 WHERE tags ? 'a' AND $2"), "{sql}");
    }
}
