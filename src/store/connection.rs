//! One connection to any of the three backends, and the few verbs that the store needs of it. Holds no SQL of its own.

mod establish;
#[cfg(feature = "postgres")]
mod plans;
mod row;

use diesel::RunQueryDsl;
use diesel::connection::SimpleConnection;
use diesel::deserialize::QueryableByName;

pub(super) use establish::establish;
#[cfg(feature = "postgres")]
pub(super) use plans::Plans;
pub use row::Row;

use super::dialect::Dialect;
use super::fault;
use super::statement::Statement;
#[cfg(feature = "sqlite")]
use super::turn::Turn;
#[cfg(feature = "mysql")]
use crate::error::Error;
use crate::error::Result;

/// A connection to one of the backends.
#[allow(clippy::large_enum_variant)] // a handful exist, each boxed once in its pool
pub(super) enum Raw {
    #[cfg(feature = "sqlite")]
    Sqlite(diesel::sqlite::SqliteConnection),
    #[cfg(feature = "postgres")]
    Postgres(diesel::pg::PgConnection),
    #[cfg(feature = "mysql")]
    Mysql(super::mysql_connection::MysqlConnection),
}

/// Expands one body per backend: the same words, type-checked against each.
macro_rules! on_backend {
    ($raw:expr, $connection:ident => $body:expr) => {
        match $raw {
            #[cfg(feature = "sqlite")]
            Raw::Sqlite($connection) => $body,
            #[cfg(feature = "postgres")]
            Raw::Postgres($connection) => $body,
            #[cfg(feature = "mysql")]
            Raw::Mysql($connection) => crate::store::mysql_connection::patiently(|| $body),
        }
    };
}

// Below the macro, which it uses.
mod transaction;

/// One connection; not to be shared between threads at once.
pub struct Connection {
    raw: Raw,
    dialect: Dialect,
    /// True once an error has shown that the server is no longer at the other end.
    broken: bool,
    /// How many connections had been found lost when this one was last found good.
    pub(super) tried_at: u64,
    /// Whether the plans that the server keeps of this session's statements still fit; none if it keeps none.
    #[cfg(feature = "postgres")]
    plans: Option<plans::Age>,
    /// Ends statements that take too long, where only another connection can.
    #[cfg(feature = "mysql")]
    killer: Option<super::mysql_connection::Killer>,
    /// How it waits for SQLite's lock.
    #[cfg(feature = "sqlite")]
    turn: Turn,
}

impl Connection {
    pub(super) fn new(raw: Raw, dialect: Dialect, #[cfg(feature = "sqlite")] turn: Turn) -> Self {
        Self {
            raw,
            dialect,
            broken: false,
            tried_at: 0,
            #[cfg(feature = "postgres")]
            plans: None,
            #[cfg(feature = "mysql")]
            killer: None,
            #[cfg(feature = "sqlite")]
            turn,
        }
    }

    /// What the backend writes in its own way.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    pub(super) fn raw(&mut self) -> &mut Raw {
        &mut self.raw
    }

    /// From now on [`Connection::patiently`] ends what takes too long by another connection to this URL.
    #[cfg(feature = "mysql")]
    pub(super) fn end_late_statements(&mut self, url: &crate::config::Secret) -> Result<()> {
        let session = self.number(Statement::new("SELECT CAST(connection_id() AS SIGNED) AS n"))?;
        self.killer = Some(super::mysql_connection::Killer::new(url.clone(), session));
        Ok(())
    }

    /// True if the connection must not be used again.
    pub(super) fn is_broken(&mut self) -> bool {
        self.broken
            || on_backend!(&mut self.raw, c => {
                Ok::<_, diesel::result::Error>(transaction::is_broken(c))
            })
            .unwrap_or(true)
    }

    /// True once an open transaction cannot go on: the connection is lost, or the server has undone all of it.
    pub fn is_undone(&self) -> bool {
        self.broken
    }

    /// Runs a statement; the number of rows that it changed (or matched, in an `UPDATE`).
    pub fn execute(&mut self, statement: Statement) -> Result<usize> {
        self.prepare(&statement)?;
        let result = match &mut self.raw {
            #[cfg(feature = "sqlite")]
            Raw::Sqlite(c) => self.turn.write(|| (&statement).execute(c)),
            #[allow(unreachable_patterns)]
            raw => on_backend!(raw, c => statement.execute(c)),
        };
        self.check(result)
    }

    /// Runs a statement and reads its rows.
    pub fn load<R: Row>(&mut self, statement: Statement) -> Result<Vec<R>> {
        self.prepare(&statement)?;
        let result = match &mut self.raw {
            #[cfg(feature = "sqlite")]
            Raw::Sqlite(c) => self.turn.patiently(|| (&statement).load::<R>(c)),
            #[allow(unreachable_patterns)]
            raw => on_backend!(raw, c => statement.load::<R>(c)),
        };
        self.check(result)
    }

    /// Before each statement.
    fn prepare(&mut self, statement: &Statement) -> Result<()> {
        crate::testing::ran(statement);
        #[cfg(feature = "postgres")]
        if self.plans.as_ref().is_some_and(plans::Age::is_due) && !crate::testing::broken("keep_plans") {
            self.look_at_plans()?;
        }
        Ok(())
    }

    /// From now on plans that no longer fit are forgotten.
    #[cfg(feature = "postgres")]
    pub(super) fn keep_plans(&mut self, plans: Plans) {
        self.plans = Some(plans::Age::new(plans));
    }

    #[cfg(feature = "postgres")]
    fn look_at_plans(&mut self) -> Result<()> {
        let Some(mut age) = self.plans.take() else { return Ok(()) };
        // Meanwhile this session keeps no plans, so that it does not look while it looks.
        let size = if age.asks_size() { self.number(Statement::new(plans::SIZE)) } else { Ok(0) };
        let stale = size.map(|size| age.looked(size));
        self.plans = Some(age);
        if stale? { self.batch("DISCARD PLANS") } else { Ok(()) }
    }

    /// The first row, if there is one.
    pub fn first<R: Row>(&mut self, statement: Statement) -> Result<Option<R>> {
        Ok(self.load(statement)?.into_iter().next())
    }

    /// The one number that a statement gives in its column `n`; 0 without a row.
    pub fn number(&mut self, statement: Statement) -> Result<i64> {
        #[derive(QueryableByName)]
        struct Number {
            #[diesel(sql_type = diesel::sql_types::BigInt)]
            n: i64,
        }
        Ok(self.first::<Number>(statement)?.map_or(0, |row| row.n))
    }

    /// Runs several statements without binds.
    pub fn batch(&mut self, sql: &str) -> Result<()> {
        let result = match &mut self.raw {
            #[cfg(feature = "sqlite")]
            Raw::Sqlite(c) => self.turn.patiently(|| c.batch_execute(sql)),
            #[allow(unreachable_patterns)]
            raw => on_backend!(raw, c => c.batch_execute(sql)),
        };
        self.check(result)
    }

    /// Runs `work` with answers waited for as long as `patience`, where the driver itself has a limit; what takes longer
    /// is ended on the server.
    pub fn patiently<T>(
        &mut self,
        patience: std::time::Duration,
        work: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        #[cfg(feature = "mysql")]
        return {
            use super::mysql_connection::{ending_late, with_patience};
            let killer = self.killer.clone();
            let (result, ended) = ending_late(killer, || with_patience(patience, || work(self)));
            // What was ended half-way may call itself done.
            if ended { result.and(Err(Error::transient("the statement was ended at its time-out"))) } else { result }
        };
        #[cfg(not(feature = "mysql"))]
        return {
            let _ = patience;
            work(self)
        };
    }

    fn check<T>(&mut self, result: diesel::QueryResult<T>) -> Result<T> {
        result.map_err(|error| {
            let fault = fault::classify(&error);
            self.broken |= fault.is_lost();
            fault.into_error(&error)
        })
    }
}
