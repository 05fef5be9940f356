//! Who holds the keys that entries would take again.

use std::collections::HashMap;

use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Nullable};

use super::span::{from_ids, ids_to_join};
use crate::error::Result;
use crate::store::connection::Connection;
use crate::store::dialect::Dialect;
use crate::store::statement::Statement;

#[derive(QueryableByName)]
struct Held {
    #[diesel(sql_type = BigInt)]
    id: i64,
    #[diesel(sql_type = Nullable<BigInt>)]
    holder: Option<i64>,
}

/// The id of the entry that holds the key of the entry `e`, as an expression.
pub(super) fn holder_of_e(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Mysql => {
            "(SELECT h.id FROM soloist_entries h FORCE INDEX (soloist_entries_key) \
             WHERE h.task = e.task AND h.held_key = CAST(e.dedupe_key AS BINARY))"
        }
        Dialect::Sqlite | Dialect::Postgres => {
            "(SELECT h.id FROM soloist_entries h \
             WHERE h.task = e.task AND h.dedupe_key = e.dedupe_key AND h.key_held = 1)"
        }
    }
}

/// For those of these entries whose key an entry holds, that entry.
pub(super) fn of(connection: &mut Connection, ids: &[i64]) -> Result<HashMap<i64, i64>> {
    let dialect = connection.dialect();
    let sql = format!("SELECT e.id, {} AS holder FROM {}", holder_of_e(dialect), from_ids(dialect));
    let rows: Vec<Held> = connection.load(Statement::new(sql).bind(ids_to_join(ids)))?;
    Ok(rows.into_iter().filter_map(|row| Some((row.id, row.holder?))).collect())
}
