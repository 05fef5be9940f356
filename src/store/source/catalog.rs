//! What the database says of its own tables.

use crate::error::Result;
use crate::store::connection::Connection;
use crate::store::dialect::Dialect;
use crate::store::statement::Statement;

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
