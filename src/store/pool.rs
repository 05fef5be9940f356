//! Pools of connections, each for a purpose of its own.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::connection::{self, Connection};
use super::dialect::Dialect;
use super::nodes;
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
    /// Connections of this installation that were found lost.
    losses: Losses,
    /// Why the last attempt to connect failed: r2d2 itself says only that it waited in vain.
    last_error: Arc<Mutex<Option<Error>>>,
}

/// How many connections of all pools were found lost so far: after one the others may be lost too, and are tried before
/// they are lent.
#[derive(Debug, Clone, Default)]
pub(super) struct Losses(Arc<AtomicU64>);

impl Losses {
    fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
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
        let losses = self.losses.count();
        let mut result = self.open();
        if let Ok(connection) = &mut result {
            connection.tried_at = losses;
        }
        *self.last_error.lock().unwrap_or_else(PoisonError::into_inner) = result.as_ref().err().cloned();
        result
    }

    fn is_valid(&self, connection: &mut Connection) -> Result<()> {
        let losses = self.losses.count();
        if connection.tried_at != losses {
            nodes::clock(connection)?;
            connection.tried_at = losses;
        }
        Ok(())
    }

    fn has_broken(&self, connection: &mut Connection) -> bool {
        let broken = connection.is_broken();
        if broken {
            self.losses.0.fetch_add(1, Ordering::Relaxed);
        }
        broken
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
    pub(super) fn new(
        database: &Database,
        purpose: Purpose,
        size: usize,
        queue: Option<&Queue>,
        losses: &Losses,
    ) -> Self {
        // Whoever works tries again by itself; people would see the error.
        let tries = purpose.name == "read";
        let (last_error, name) = (Arc::new(Mutex::new(None)), purpose.name);
        let _ = queue; // only SQLite's writers queue
        let manager = Manager {
            database: database.clone(),
            purpose,
            #[cfg(feature = "sqlite")]
            gate: queue.map(|queue| queue.0.clone()),
            losses: losses.clone(),
            last_error: last_error.clone(),
        };
        let inner = r2d2::Pool::builder()
            .max_size(u32::try_from(size.max(1)).unwrap_or(u32::MAX))
            .min_idle(Some(0))
            .test_on_check_out(tries)
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
