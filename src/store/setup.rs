//! What each new connection is told before it is used: time-outs, isolation, journal.
//!
//! Sessions keep the zone and search path that the role gets from the server, since predicates and write-backs of the
//! user run in them; the drivers' own settings are taken back.

use std::time::Duration;

#[cfg(feature = "postgres")]
use super::connection::Plans;
use super::connection::{Connection, Raw};
use crate::config::Database;
#[cfg(feature = "sqlite")]
use crate::config::Synchronous;
use crate::error::Result;

/// What a connection is for: how long its statements may take.
#[derive(Debug, Clone, Copy)]
// Not every database has a setting for each; a binary for one database reads fewer.
#[cfg_attr(not(all(feature = "postgres", feature = "mysql")), allow(dead_code))]
pub struct Purpose {
    /// The longest that one statement may run; `None` for statements that a user wrote, which end by their task's
    /// own time-out.
    pub statement: Option<Duration>,
    /// The longest that a statement waits for another's lock.
    pub lock: Duration,
    /// A session that is silent inside a transaction for longer is ended by the server.
    pub silent: Duration,
    /// Shown by the server in its list of sessions.
    pub name: &'static str,
    /// What PostgreSQL plans a statement for.
    #[cfg(feature = "postgres")]
    pub plans: Plans,
}

/// Tells a new connection what it is for.
pub(super) fn apply(connection: &mut Connection, database: &Database, purpose: &Purpose) -> Result<()> {
    let _ = database; // MySQL has nothing to read there
    match connection.raw() {
        #[cfg(feature = "sqlite")]
        Raw::Sqlite(_) => sqlite(connection, database, purpose),
        #[cfg(feature = "postgres")]
        Raw::Postgres(c) => {
            postgres(c, database, purpose)?;
            if !database.pooler {
                connection.keep_plans(purpose.plans);
            }
            Ok(())
        }
        #[cfg(feature = "mysql")]
        Raw::Mysql(_) => mysql(connection, purpose),
    }
}

#[cfg(feature = "sqlite")]
fn sqlite(connection: &mut Connection, database: &Database, purpose: &Purpose) -> Result<()> {
    let synchronous = match database.synchronous {
        Synchronous::Full => "FULL",
        Synchronous::Normal => "NORMAL",
    };
    // The busy time-out first: turning the journal to WAL may itself have to wait. It is taken back at the end, since
    // `turn` does the waiting. The limit keeps the journal's file from staying as large as it once grew.
    connection.batch(&format!(
        "PRAGMA busy_timeout = {}; PRAGMA journal_mode = WAL; PRAGMA synchronous = {synchronous}; \
         PRAGMA journal_size_limit = 67108864; PRAGMA foreign_keys = ON; PRAGMA cache_size = -16000; \
         PRAGMA busy_timeout = 0;",
        purpose.lock.as_millis()
    ))
}

#[cfg(feature = "postgres")]
fn postgres(c: &mut diesel::pg::PgConnection, database: &Database, purpose: &Purpose) -> Result<()> {
    use super::fault;
    use diesel::connection::{CacheSize, Connection as _, SimpleConnection};

    // Behind a transaction pooler a SET would stay with whoever gets the server's connection next.
    let sql = if database.pooler {
        c.set_prepared_statement_cache_size(CacheSize::Disabled);
        String::new()
    } else {
        let statement = purpose.statement.map_or(0, |span| span.as_millis());
        format!(
            "RESET TimeZone; SET statement_timeout = {statement}; SET lock_timeout = {}; \
             SET idle_in_transaction_session_timeout = {}; SET application_name = 'soloist {}'; \
             SET default_transaction_isolation = 'read committed'{}",
            purpose.lock.as_millis(),
            purpose.silent.as_millis(),
            purpose.name,
            // For each value anew it takes longer to plan what is due than to look.
            if purpose.plans == Plans::Generic {
                "; SET plan_cache_mode = force_generic_plan; SET jit = off"
            } else {
                ""
            }
        )
    };
    // A query without a word is one that diesel refuses.
    if !sql.is_empty() {
        c.batch_execute(&sql).map_err(|error| fault::classify(&error).into_error(&error))?;
    }
    if purpose.statement.is_none() && !database.pooler {
        // PostgreSQL 14 and later, on most systems: what a dead node's statement does and locks ends soon after it.
        let _ = c.batch_execute(
            "SELECT set_config(name, '1s', false) FROM pg_catalog.pg_settings \
             WHERE name = 'client_connection_check_interval'",
        );
    }
    Ok(())
}

#[cfg(feature = "mysql")]
fn mysql(connection: &mut Connection, purpose: &Purpose) -> Result<()> {
    // READ COMMITTED: the gap locks of REPEATABLE READ let one claim stop all others. A silent transaction is ended by
    // MariaDB's own setting where it exists, else by the session's time-out.
    let silent = purpose.silent.as_secs().max(1);
    connection.batch(&format!(
        "SET SESSION time_zone = @@global.time_zone; SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED; \
         SET SESSION innodb_lock_wait_timeout = {}",
        purpose.lock.as_secs().max(1)
    ))?;
    if connection.batch(&format!("SET SESSION idle_transaction_timeout = {silent}")).is_err() {
        connection.batch(&format!("SET SESSION wait_timeout = {}", silent.max(60)))?;
    }
    Ok(())
}
