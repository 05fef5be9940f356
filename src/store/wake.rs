//! PostgreSQL's trigger that wakes listening nodes when entries are inserted, by whomever.

use super::connection::Connection;
use super::dialect::Dialect;
use super::statement::Statement;
use crate::error::Result;

/// The channel of NOTIFY.
pub const CHANNEL: &str = "soloist_wake";

/// Puts the trigger there, or takes it away: NOTIFY serialises commits, which some would rather not have.
pub fn set_trigger(connection: &mut Connection, wanted: bool) -> Result<()> {
    if connection.dialect() != Dialect::Postgres {
        return Ok(());
    }
    match (is_set(connection)?, wanted) {
        (false, true) => {
            let create = connection.batch(
                "CREATE TRIGGER soloist_wake AFTER INSERT ON soloist_entries \
                 FOR EACH STATEMENT EXECUTE FUNCTION soloist_wake()",
            );
            // Another node may have been first.
            if create.is_err() && is_set(connection)? { Ok(()) } else { create }
        }
        (true, false) => connection.batch("DROP TRIGGER IF EXISTS soloist_wake ON soloist_entries"),
        _ => Ok(()),
    }
}

/// True if the trigger is there; never on other databases.
pub fn is_set(connection: &mut Connection) -> Result<bool> {
    if connection.dialect() != Dialect::Postgres {
        return Ok(false);
    }
    let sql = "SELECT count(*) AS n FROM pg_catalog.pg_trigger \
               WHERE tgrelid = to_regclass('soloist_entries') AND tgname = 'soloist_wake'";
    Ok(connection.number(Statement::new(sql))? > 0)
}
