//! Asks the database how it would run a source's statements: whether an index serves them. A small table hides it, since
//! there a scan is cheapest: asked so that the table's size does not count, as far as the database lets one.

use super::{CHUNK, Position, TableSource};
use crate::error::Result;
use crate::store::connection::Connection;
use crate::store::dialect::Dialect;
use crate::store::statement::Statement;

/// True if the database finds pending rows by an index.
pub(super) fn finds_by_index(connection: &mut Connection, source: &TableSource) -> Result<bool> {
    let select = Statement::new(format!("SELECT 1 FROM {} WHERE {}", source.table.quoted, source.pending));
    match connection.dialect() {
        Dialect::Sqlite => {
            let plan = sqlite(connection, select)?;
            let top = plan.first().map(String::as_str).unwrap_or_default();
            Ok(top.starts_with("SEARCH") || top.starts_with("MULTI-INDEX OR") || partial(connection, top)?)
        }
        Dialect::Postgres => {
            let plan = postgres(connection, select)?;
            // A whole index read in its order finds nothing; one with a condition of its own does.
            let says = |word: &str| plan.iter().any(|line| line.trim_start().starts_with(word));
            let scans = plan.iter().any(|line| line.contains("Seq Scan on"));
            Ok(!scans && (says("Index Cond:") || !says("Filter:")))
        }
        Dialect::Mysql => Ok(mysql(connection, select)?.is_some_and(|plan| plan.has_index())),
    }
}

/// True if the database sorts the table to collect rows in the source's order.
pub(super) fn sorts(connection: &mut Connection, source: &TableSource) -> Result<bool> {
    let select = source.collecting(&Position::default(), CHUNK);
    Ok(match connection.dialect() {
        Dialect::Sqlite => sqlite(connection, select)?.iter().any(|line| line.contains("TEMP B-TREE")),
        Dialect::Postgres => postgres(connection, select)?.iter().any(|line| line.contains("Sort Key:")),
        Dialect::Mysql => mysql(connection, select)?.is_some_and(|plan| plan.sorts()),
    })
}

fn explained(words: &str, select: Statement) -> Statement {
    select.after(words).once()
}

fn sqlite(connection: &mut Connection, select: Statement) -> Result<Vec<String>> {
    #[derive(diesel::QueryableByName)]
    struct Plan {
        #[diesel(sql_type = diesel::sql_types::Text)]
        detail: String,
    }
    let plan: Vec<Plan> = connection.load(explained("EXPLAIN QUERY PLAN", select))?;
    Ok(plan.into_iter().map(|row| row.detail).collect())
}

fn postgres(connection: &mut Connection, select: Statement) -> Result<Vec<String>> {
    #[derive(diesel::QueryableByName)]
    struct Plan {
        #[diesel(sql_type = diesel::sql_types::Text, column_name = "QUERY PLAN")]
        line: String,
    }
    connection.begin()?;
    let plan = connection
        .batch("SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off; SET LOCAL enable_bitmapscan = off")
        .and_then(|()| connection.load::<Plan>(explained("EXPLAIN (COSTS off)", select)));
    connection.rollback();
    Ok(plan?.into_iter().map(|row| row.line).collect())
}

#[derive(diesel::QueryableByName)]
struct Plan {
    #[diesel(sql_type = diesel::sql_types::Nullable<diesel::sql_types::Text>)]
    possible_keys: Option<String>,
    #[diesel(sql_type = diesel::sql_types::Nullable<diesel::sql_types::Text>, column_name = "Extra")]
    extra: Option<String>,
}

impl Plan {
    fn has_index(&self) -> bool {
        self.possible_keys.as_deref().is_some_and(|keys| !keys.is_empty())
    }

    fn sorts(&self) -> bool {
        self.extra.as_deref().is_some_and(|extra| extra.contains("filesort"))
    }
}

fn mysql(connection: &mut Connection, select: Statement) -> Result<Option<Plan>> {
    connection.first(explained("EXPLAIN", select))
}

/// True if SQLite reads a partial index: all of it, but it holds pending rows only.
fn partial(connection: &mut Connection, detail: &str) -> Result<bool> {
    let Some((_, index)) = detail.split_once(" INDEX ") else { return Ok(false) };
    let sql = "SELECT count(*) AS n FROM sqlite_master WHERE type = 'index' AND name = ? AND sql LIKE '% WHERE %'";
    Ok(connection.number(Statement::new(sql).bind(index).once())? > 0)
}
