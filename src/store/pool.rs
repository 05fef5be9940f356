//! Pools of connections, each for a purpose of its own.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::connection::{self, Connection};
use super::dialect::Dialect;
use super::setup::{self, Purpose};
#[cfg(feature = "sqlite")]
use super::turn::{Gate, Turn};
use crate::config::{Database, DatabaseUrl};
use crate::error::{Error, Result};
use crate::model::{Spread, time::micros};

/// How long a caller waits for a free or new connection before it hears that there is none.
const CHECKOUT: Duration = Duration::from_secs(5);

/// Opens connections for one purpose.
pub struct Manager {
    database: Database,
    purpose: Purpose,
    /// Where connections that write wait for their turn on SQLite; none for the lease's.
    #[cfg(feature = "sqlite")]
    gate: Option<Arc<Gate>>,
    /// Why the last attempt to connect failed: r2d2 itself says only that it waited in vain.
    last_error: Arc<Mutex<Option<Error>>>,
}

impl Manager {
    fn open(&self) -> Result<Connection> {
        let raw = connection::establish(&self.database.url)?;
        let dialect = match self.database.url {
            DatabaseUrl::Sqlite { .. } => Dialect::Sqlite,
            DatabaseUrl::Postgres(_) => Dialect::Postgres,
            DatabaseUrl::Mysql(_) => Dialect::Mysql,
        };
        let mut connection = Connection::new(
            raw,
            dialect,
            #[cfg(feature = "sqlite")]
            Turn::new(self.gate.clone(), self.purpose.lock),
        );
        setup::apply(&mut connection, &self.database, &self.purpose)?;
        #[cfg(feature = "mysql")]
        if let (DatabaseUrl::Mysql(url), None) = (&self.database.url, self.purpose.statement) {
            connection.end_late_statements(url)?;
        }
        Ok(connection)
    }
}

impl r2d2::ManageConnection for Manager {
    type Connection = Connection;
    type Error = Error;

    fn connect(&self) -> Result<Connection> {
        let result = self.open();
        *self.last_error.lock().unwrap_or_else(PoisonError::into_inner) = result.as_ref().err().cloned();
        result
    }

    fn is_valid(&self, _: &mut Connection) -> Result<()> {
        Ok(())
    }

    fn has_broken(&self, connection: &mut Connection) -> bool {
        connection.is_broken()
    }
}

/// r2d2 logs each failed attempt by default, several times a second; callers report what matters once.
#[derive(Debug)]
struct Quiet;

impl<E> r2d2::HandleError<E> for Quiet {
    fn handle_error(&self, _: E) {}
}

/// Connections for one purpose; cheap to clone. Opens none before it is asked.
#[derive(Clone)]
pub struct Pool {
    inner: r2d2::Pool<Manager>,
    last_error: Arc<Mutex<Option<Error>>>,
    name: &'static str,
    waits: Arc<Mutex<Spread>>,
}

/// How a pool is used.
#[derive(Debug, Clone)]
pub struct PoolUse {
    /// What its connections are for.
    pub name: &'static str,
    /// Connections that are lent.
    pub lent: u32,
    /// Open connections that nobody uses.
    pub idle: u32,
    /// The most that there may be.
    pub max: u32,
    /// How long callers waited for one, those in vain too.
    pub waits: Spread,
}

/// Where the connections of several pools wait for their turn, on a database with one writer.
#[derive(Default)]
pub(super) struct Queue(#[cfg(feature = "sqlite")] Arc<Gate>);

/// A connection lent by a [`Pool`].
pub type Lent = r2d2::PooledConnection<Manager>;

impl Pool {
    /// A pool of at most `size` connections.
    pub(super) fn new(database: &Database, purpose: Purpose, size: usize, queue: Option<&Queue>) -> Self {
        let (last_error, name) = (Arc::new(Mutex::new(None)), purpose.name);
        let _ = queue; // only SQLite's writers queue
        let manager = Manager {
            database: database.clone(),
            purpose,
            #[cfg(feature = "sqlite")]
            gate: queue.map(|queue| queue.0.clone()),
            last_error: last_error.clone(),
        };
        let inner = r2d2::Pool::builder()
            .max_size(u32::try_from(size.max(1)).unwrap_or(u32::MAX))
            .min_idle(Some(0))
            .test_on_check_out(false)
            .connection_timeout(CHECKOUT)
            .idle_timeout(None)
            .max_lifetime(None)
            .error_handler(Box::new(Quiet))
            .build_unchecked(manager);
        Self { inner, last_error, name, waits: Arc::default() }
    }

    /// A connection, new or used; an error that passes if none comes within 5 s.
    pub fn get(&self) -> Result<Lent> {
        let start = Instant::now();
        let lent = self.inner.get();
        self.waits.lock().unwrap_or_else(PoisonError::into_inner).note(micros(start.elapsed()));
        lent.map_err(|_| {
            let last = self.last_error.lock().unwrap_or_else(PoisonError::into_inner).clone();
            last.unwrap_or_else(|| {
                Error::transient(format!("no database connection was free within {} s", CHECKOUT.as_secs()))
            })
        })
    }

    /// How it is used at this moment.
    pub(super) fn used(&self) -> PoolUse {
        let state = self.inner.state();
        PoolUse {
            name: self.name,
            lent: state.connections.saturating_sub(state.idle_connections),
            idle: state.idle_connections,
            max: self.inner.max_size(),
            waits: self.waits.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }
}
