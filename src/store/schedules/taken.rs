//! Names that people took before nodes declared them: what people made stays until they remove it.

use diesel::QueryableByName;
use diesel::sql_types::Text;

use super::read::Origin;
use crate::error::Result;
use crate::store::connection::Connection;
use crate::store::statement::Statement;

/// Schedules that living nodes declare and that are in force as people made them, at most `limit`.
pub fn taken(connection: &mut Connection, limit: usize) -> Result<Vec<(String, Origin)>> {
    #[derive(QueryableByName)]
    struct Taken {
        #[diesel(sql_type = Text)]
        name: String,
        #[diesel(sql_type = Text)]
        origin: String,
    }
    let sql = connection.dialect().sql(
        "SELECT DISTINCT s.name, s.origin FROM soloist_nodes n \
         JOIN soloist_declarations d ON d.node_id = n.id AND d.kind = 'schedule' \
         JOIN soloist_schedules s ON s.name = d.name \
         WHERE n.lease_until > {now} AND n.stopped_at IS NULL AND s.origin <> 'config' ORDER BY s.name LIMIT ?",
    );
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows: Vec<Taken> = connection.load(Statement::new(sql).bind(limit))?;
    Ok(rows.into_iter().map(|row| (row.name, Origin::read(&row.origin))).collect())
}
