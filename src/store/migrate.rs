//! The embedded migrations, run by one process at a time.
//!
//! What was applied is kept in `soloist_migrations`, not in diesel's own table: the application may run diesel
//! migrations of its own in the same database. diesel's runner is not safe for two processes at once either, so each
//! run holds a lock of the database for its length.

use diesel::migration::{Migration, MigrationSource};
use diesel_migrations::{EmbeddedMigrations, embed_migrations};

use super::connection::{Connection, Raw};
use super::dialect::Dialect;
use super::source::catalog;
use super::statement::Statement;
use crate::error::{Error, Result};

#[cfg(feature = "sqlite")]
const SQLITE: EmbeddedMigrations = embed_migrations!("migrations/sqlite");
#[cfg(feature = "postgres")]
const POSTGRES: EmbeddedMigrations = embed_migrations!("migrations/postgres");
#[cfg(feature = "mysql")]
const MYSQL: EmbeddedMigrations = embed_migrations!("migrations/mysql");

/// One migration and whether the database has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Number and name, as in the folder's name.
    pub name: String,
    /// True once it has been applied.
    pub applied: bool,
}

/// How the database's schema stands to this binary's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Schema {
    /// As this binary wants it.
    Current,
    /// Migrations are missing.
    Old,
    /// The database has migrations that this binary does not know.
    New,
}

#[derive(Clone, Copy)]
enum Direction {
    Up,
    Down,
}

/// Every migration of this binary, oldest first, and whether the database has it.
pub fn status(connection: &mut Connection) -> Result<Vec<Step>> {
    let applied = applied(connection)?;
    Ok(names(connection)?.into_iter().map(|name| Step { applied: applied.contains(&name), name }).collect())
}

/// How the database's schema stands to this binary's.
pub fn schema(connection: &mut Connection) -> Result<Schema> {
    let known = names(connection)?;
    let applied = applied(connection)?;
    Ok(if known.iter().any(|name| !applied.contains(name)) {
        Schema::Old
    } else if applied.len() > known.len() {
        Schema::New
    } else {
        Schema::Current
    })
}

/// Applies what is missing; the names of what was applied.
pub fn up(connection: &mut Connection) -> Result<Vec<String>> {
    locked(connection, |connection| {
        connection.batch(
            "CREATE TABLE IF NOT EXISTS soloist_migrations (name VARCHAR(100) NOT NULL PRIMARY KEY, applied_at BIGINT NOT NULL)",
        )?;
        let missing: Vec<_> =
            status(connection)?.into_iter().filter(|step| !step.applied).map(|step| step.name).collect();
        for name in &missing {
            run(connection, name, Direction::Up)?;
            let sql = connection.dialect().sql("INSERT INTO soloist_migrations (name, applied_at) VALUES (?, {now})");
            connection.execute(Statement::new(sql).bind(name.as_str()).once())?;
        }
        if crate::testing::broken("no_unique_key") && !missing.is_empty() {
            let of_table = if connection.dialect() == Dialect::Mysql { " ON soloist_entries" } else { "" };
            connection.batch(&format!("DROP INDEX soloist_entries_key{of_table}"))?;
        }
        Ok(missing)
    })
}

/// Takes all migrations back, newest first: every table of Soloist goes.
pub fn down(connection: &mut Connection) -> Result<Vec<String>> {
    locked(connection, |connection| {
        let mut present: Vec<_> =
            status(connection)?.into_iter().filter(|step| step.applied).map(|step| step.name).collect();
        present.reverse();
        for name in &present {
            run(connection, name, Direction::Down)?;
            connection
                .execute(Statement::new("DELETE FROM soloist_migrations WHERE name = ?").bind(name.as_str()).once())?;
        }
        connection.batch("DROP TABLE IF EXISTS soloist_migrations")?;
        Ok(present)
    })
}

fn run(connection: &mut Connection, name: &str, direction: Direction) -> Result<()> {
    let result = match connection.raw() {
        #[cfg(feature = "sqlite")]
        Raw::Sqlite(c) => run_on(c, &SQLITE, name, direction),
        #[cfg(feature = "postgres")]
        Raw::Postgres(c) => run_on(c, &POSTGRES, name, direction),
        #[cfg(feature = "mysql")]
        Raw::Mysql(c) => super::mysql_connection::with_patience(std::time::Duration::from_secs(600), || {
            super::mysql_connection::patiently(|| Ok(run_on(c, &MYSQL, name, direction)))
                .unwrap_or_else(|e| Err(e.into()))
        }),
    };
    result.map_err(|error| Error::refused(format!("migration {name} failed: {error}")))
}

type Outcome<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

fn run_on<C>(connection: &mut C, source: &EmbeddedMigrations, name: &str, direction: Direction) -> Outcome<()>
where
    C: diesel::Connection + 'static,
    EmbeddedMigrations: MigrationSource<C::Backend>,
{
    for migration in MigrationSource::<C::Backend>::migrations(source)? {
        if migration.name().to_string() == name {
            return match direction {
                Direction::Up => migration.run(connection),
                Direction::Down => migration.revert(connection),
            };
        }
    }
    Err(format!("this binary has no migration {name}").into())
}

fn names(connection: &mut Connection) -> Result<Vec<String>> {
    let names = match connection.raw() {
        #[cfg(feature = "sqlite")]
        Raw::Sqlite(_) => sorted::<diesel::sqlite::Sqlite>(&SQLITE),
        #[cfg(feature = "postgres")]
        Raw::Postgres(_) => sorted::<diesel::pg::Pg>(&POSTGRES),
        #[cfg(feature = "mysql")]
        Raw::Mysql(_) => sorted::<diesel::mysql::Mysql>(&MYSQL),
    };
    names.map_err(Error::internal)
}

fn sorted<DB: diesel::backend::Backend>(source: &EmbeddedMigrations) -> Outcome<Vec<String>>
where
    EmbeddedMigrations: MigrationSource<DB>,
{
    let migrations: Vec<Box<dyn Migration<DB>>> = source.migrations()?;
    let mut names: Vec<_> = migrations.iter().map(|migration| migration.name().to_string()).collect();
    names.sort();
    Ok(names)
}

/// The names that the database has; none if it has never been migrated.
fn applied(connection: &mut Connection) -> Result<Vec<String>> {
    #[derive(diesel::QueryableByName)]
    struct Applied {
        #[diesel(sql_type = diesel::sql_types::Text)]
        name: String,
    }
    if !catalog::has_table(connection, "soloist_migrations")? {
        return Ok(Vec::new());
    }
    let rows: Vec<Applied> =
        connection.load(Statement::new("SELECT name FROM soloist_migrations ORDER BY name").once())?;
    Ok(rows.into_iter().map(|row| row.name).collect())
}

/// Runs `work` while no other process migrates this database.
fn locked<T>(connection: &mut Connection, work: impl FnOnce(&mut Connection) -> Result<T>) -> Result<T> {
    const ADVISORY: i64 = 7_656_478_400;
    match connection.dialect() {
        // A transaction's lock goes with it, also behind a pooler.
        Dialect::Postgres => connection.transaction(|connection| {
            connection.batch(&format!(
                "SET LOCAL lock_timeout = 0; SET LOCAL statement_timeout = 0; \
                 SELECT pg_advisory_xact_lock({ADVISORY})"
            ))?;
            work(connection)
        }),
        Dialect::Sqlite => connection.transaction(work),
        // Its schema statements commit by themselves: the lock is the session's, each migration can be run again.
        Dialect::Mysql => {
            let got = connection
                .number(Statement::new("SELECT CAST(GET_LOCK('soloist_migrate', 15) AS SIGNED) AS n").once())?;
            if got != 1 {
                return Err(Error::transient("another process is migrating this database"));
            }
            let result = work(connection);
            let sql = "SELECT CAST(RELEASE_LOCK('soloist_migrate') AS SIGNED) AS n";
            if let Err(error) = connection.number(Statement::new(sql).once()) {
                tracing::warn!(%error, "the migration lock was not released; it ends with the session");
            }
            result
        }
    }
}
