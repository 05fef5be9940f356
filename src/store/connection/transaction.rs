//! Transactions of a connection, and savepoints in them. Holds no SQL of its own but their words.

#[cfg(any(feature = "sqlite", feature = "postgres"))]
use diesel::connection::AnsiTransactionManager;
use diesel::connection::{Connection as Driver, TransactionManager};
use diesel::result::QueryResult;

use super::{Connection, Raw};
use crate::error::{Error, Result};

impl Connection {
    /// Runs `work` in one transaction that may write, or at a savepoint if one is open: SQLite takes its write lock at
    /// once, since a reader that turns into a writer cannot wait for it.
    pub fn transaction<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.atomically(work)
    }

    /// The same for work whose errors are of another kind.
    pub fn atomically<T, E: From<Error>>(&mut self, work: impl FnOnce(&mut Self) -> Result<T, E>) -> Result<T, E> {
        self.begin()?;
        match work(self) {
            Ok(value) => {
                self.commit()?;
                Ok(value)
            }
            Err(error) => {
                self.rollback();
                Err(error)
            }
        }
    }

    /// Opens a transaction, or a savepoint in the open one.
    pub fn begin(&mut self) -> Result<()> {
        if self.broken {
            // MySQL would take a savepoint where no transaction is open any more, and commit each statement after it.
            return Err(Error::transient("the transaction was undone by the server: nothing of it stands"));
        }
        let result = match &mut self.raw {
            #[cfg(feature = "sqlite")]
            Raw::Sqlite(c) if self.turn.is_open() => self.turn.begin(|| AnsiTransactionManager::begin_transaction(c)),
            #[cfg(feature = "sqlite")]
            Raw::Sqlite(c) => self.turn.begin(|| AnsiTransactionManager::begin_transaction_sql(c, "BEGIN IMMEDIATE")),
            #[cfg(feature = "postgres")]
            Raw::Postgres(c) => begin_read_committed(c),
            #[allow(unreachable_patterns)]
            raw => on_backend!(raw, c => begin(c)),
        };
        self.check(result)
    }

    /// Commits the innermost transaction or savepoint.
    pub fn commit(&mut self) -> Result<()> {
        let result = on_backend!(&mut self.raw, c => commit(c));
        match result {
            Ok(()) => self.ended(),
            Err(_) => self.rollback(),
        }
        self.check(result)
    }

    /// Undoes the innermost transaction or savepoint. A failure to do so makes the connection unusable, which undoes
    /// it too.
    pub fn rollback(&mut self) {
        let result = on_backend!(&mut self.raw, c => rollback(c));
        if result.is_err() {
            self.broken = true;
        }
        self.ended();
    }

    fn ended(&mut self) {
        #[cfg(feature = "sqlite")]
        self.turn.ended();
    }
}

fn begin<C: Driver>(c: &mut C) -> QueryResult<()> {
    C::TransactionManager::begin_transaction(c)
}

/// Says the isolation each time, since a session behind a pooler cannot be told it once: claims count on READ COMMITTED,
/// and the server's own default may be another.
#[cfg(feature = "postgres")]
fn begin_read_committed(c: &mut diesel::pg::PgConnection) -> QueryResult<()> {
    let status =
        <AnsiTransactionManager as TransactionManager<diesel::pg::PgConnection>>::transaction_manager_status_mut(c);
    if status.transaction_depth()?.is_some() {
        return begin(c);
    }
    AnsiTransactionManager::begin_transaction_sql(c, "BEGIN ISOLATION LEVEL READ COMMITTED")
}

fn commit<C: Driver>(c: &mut C) -> QueryResult<()> {
    C::TransactionManager::commit_transaction(c)
}

fn rollback<C: Driver>(c: &mut C) -> QueryResult<()> {
    C::TransactionManager::rollback_transaction(c)
}

pub(super) fn is_broken<C: Driver>(c: &mut C) -> bool {
    C::TransactionManager::is_broken_transaction_manager(c)
}
