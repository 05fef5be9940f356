//! Everything that speaks SQL: the only part of Soloist that does.
//!
//! A [`Store`] hands out connections by purpose; the modules below hold one group of statements each. What differs
//! between backends is in `dialect` and in `claim`. No clock but the database's, no rule but what a statement needs.

pub mod attempts;
pub mod audit;
pub mod bench;
pub mod claim;
mod connection;
pub mod demo;
pub mod dialect;
pub mod duties;
pub mod entries;
mod fault;
pub mod firings;
pub mod holds;
pub mod leases;
pub mod migrate;
pub mod minutes;
#[cfg(feature = "mysql")]
mod mysql_connection;
pub mod node_list;
pub mod nodes;
pub mod outside;
pub mod plan;
mod pool;
pub mod prune;
pub mod requests;
pub mod rescue;
pub mod runs;
pub mod schedules;
pub mod server;
pub mod settle;
mod setup;
pub mod source;
pub mod statement;
pub mod statement_handler;
pub mod status;
pub mod sweeps;
pub mod tasks;
#[cfg(feature = "sqlite")]
mod turn;
pub mod wake;

use std::time::Duration;

pub use connection::Connection;
pub use pool::{Lent, Pool, PoolUse};
use pool::{Losses, Queue};
use setup::Purpose;
use statement::Statement;

use crate::config;
use crate::error::Result;
use dialect::Dialect;
use server::{Server, Strategy};

/// How long a firing pass may be silent inside its transaction.
const SILENT_FIRING: Duration = Duration::from_secs(1);

/// The database of an installation; cheap to clone. Opens no connection before one is asked for.
#[derive(Clone)]
pub struct Store {
    /// What the configuration says of it.
    pub database: config::Database,
    /// How entries are claimed.
    pub strategy: Strategy,
    /// For claims, results and duties.
    work: Pool,
    /// For sweeps: predicates of users over ranges of keys.
    sweep: Pool,
    /// For firings.
    firing: Pool,
    /// For the lease alone, so that nothing is ever before it in a queue.
    lease: Pool,
    /// For reads of the admin API and the CLI.
    read: Pool,
    /// For statements that a user wrote, which may run long.
    handler: Pool,
}

impl Store {
    /// The database that a configuration names; `sql_handlers` is how many statements of users run at once, `lease` how
    /// long a session may be silent inside a transaction.
    pub fn new(database: &config::Database, lease: Duration, sql_handlers: usize) -> Self {
        let bounded = |name, seconds, lock| Purpose {
            statement: Some(Duration::from_secs(seconds)),
            lock: Duration::from_millis(lock),
            silent: lease,
            name,
            #[cfg(feature = "postgres")]
            plans: connection::Plans::OfUsers,
        };
        let unbounded = Purpose { statement: None, ..bounded("handler", 0, 10_000) };
        let work = Purpose {
            #[cfg(feature = "postgres")]
            plans: connection::Plans::Generic,
            ..bounded("work", 30, 10_000)
        };
        // A node that is paused within a pass holds the schedules of that pass: others must have them soon.
        let firing = Purpose { name: "firing", silent: lease.min(SILENT_FIRING), ..work };
        // A renewal comes before all else, and waits as long as it can: whatever writes will end.
        let renewal = if matches!(database.url, config::DatabaseUrl::Sqlite { .. }) { 5_000 } else { 2_000 };
        let (queue, losses) = (Queue::default(), Losses::default());
        let pool = |purpose, size, queue| Pool::new(database, purpose, size, queue, &losses);
        Self {
            database: database.clone(),
            strategy: server::strategy(database.claim),
            // One more than the actors: duties run beside claims and results.
            work: pool(work, database.connections + 1, Some(&queue)),
            sweep: pool(bounded("sweep", 30, 10_000), 1, Some(&queue)),
            firing: pool(firing, 1, Some(&queue)),
            lease: pool(bounded("lease", 5, renewal), 1, None),
            read: pool(bounded("read", 15, 5_000), 4, Some(&queue)),
            handler: pool(unbounded, sql_handlers.max(1), Some(&queue)),
        }
    }

    /// A connection for claims, results and duties.
    pub fn work(&self) -> Result<Lent> {
        self.work.get()
    }

    /// A connection for sweeps.
    pub fn sweep(&self) -> Result<Lent> {
        self.sweep.get()
    }

    /// The connection of firings.
    pub fn firing(&self) -> Result<Lent> {
        self.firing.get()
    }

    /// The connection of the lease.
    pub fn lease(&self) -> Result<Lent> {
        self.lease.get()
    }

    /// A connection for reads and single writes of people.
    pub fn read(&self) -> Result<Lent> {
        self.read.get()
    }

    /// A connection for statements that a user wrote.
    pub fn handler(&self) -> Result<Lent> {
        self.handler.get()
    }

    /// How each pool is used at this moment.
    pub fn pools(&self) -> [PoolUse; 6] {
        [&self.work, &self.sweep, &self.firing, &self.lease, &self.read, &self.handler].map(Pool::used)
    }

    /// What the server calls itself; an error that names version and minimum if it is too old.
    pub fn server(&self) -> Result<Server> {
        #[derive(diesel::QueryableByName)]
        struct Version {
            #[diesel(sql_type = diesel::sql_types::Text)]
            version: String,
        }
        let mut connection = self.read()?;
        let dialect = connection.dialect();
        let sql = match dialect {
            Dialect::Sqlite => "SELECT sqlite_version() AS version",
            Dialect::Postgres => "SELECT current_setting('server_version') AS version",
            Dialect::Mysql => "SELECT version() AS version",
        };
        let row: Option<Version> = connection.first(Statement::new(sql))?;
        server::recognise(dialect, &row.map(|row| row.version).unwrap_or_default())
    }
}
