//! One caller's way to its turn: the database is opened, its schema brought up, the lease asked for.

use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::config::Config;
use crate::error::Result;
use crate::store::Store;
use crate::store::leases::{self, Holder, Standing, Take};
use crate::store::migrate::{self, Schema};

/// Before the name, so that no name is that of another lease.
const KIND: &str = "once:";

/// What is busy or deadlocked is tried again for this long; who cannot connect has waited as long by then.
const PATIENCE: Duration = Duration::from_secs(5);

/// When a name was last run is forgotten after this long, which is longer than any interval.
const MEMORY: Duration = Duration::from_secs(400 * 86_400);

/// What one call asks of the database.
pub(super) struct Turn {
    store: Store,
    /// The lease's name.
    key: String,
    /// Who calls, for people.
    label: String,
    /// How long a lease outlives its last renewal.
    pub(super) lease: Duration,
    /// How long after the last start it may be started again.
    pub(super) rest: Duration,
}

/// A turn that was taken.
pub(super) struct Taken {
    pub(super) term: i64,
    /// Before the database was asked: the lease is counted from here.
    pub(super) asked: Instant,
}

impl Turn {
    pub(super) fn new(config: &Config, name: &str, rest: Duration) -> Self {
        let lease = config.node.lease;
        let store = Store::new(&config.database, lease, 1);
        Self { store, key: format!("{KIND}{name}"), label: config.node.name.clone(), lease, rest }
    }

    /// Takes the turn, or says how the one who has it stands. A fault that passes is waited out for a moment.
    pub(super) fn take(&self) -> Result<Result<Taken, Standing>> {
        let start = Instant::now();
        loop {
            match self.try_to_take() {
                Err(error) if error.is_transient() && start.elapsed() < PATIENCE => {
                    sleep(Duration::from_millis(fastrand::u64(10..100)));
                }
                done => return done,
            }
        }
    }

    fn try_to_take(&self) -> Result<Result<Taken, Standing>> {
        let mut connection = self.store.lease()?;
        if migrate::schema(&mut connection)? == Schema::Old {
            // Says so if the server is too old.
            self.store.server()?;
            migrate::up(&mut *self.store.work()?)?;
        }
        let asked = Instant::now();
        let holder = Holder { node_id: None, label: &self.label };
        Ok(match leases::take(&mut connection, &self.key, holder, self.lease, self.rest)? {
            Take::Taken(term) => Ok(Taken { term, asked }),
            Take::Refused(standing) => Err(standing),
        })
    }

    /// Renews the lease: from when it counts, or `None` if it had ended.
    pub(super) fn renew(&self, term: i64) -> Result<Option<Instant>> {
        let mut connection = self.store.lease()?;
        // Counted from here: a connection that is slow to open must not take from the lease.
        let asked = Instant::now();
        Ok(leases::renew(&mut connection, &self.key, term, self.lease)?.then_some(asked))
    }

    /// Gives up the lease, so that the next can run as soon as the interval allows.
    pub(super) fn resign(&self, term: i64) -> Result<()> {
        let mut connection = self.store.lease()?;
        leases::resign(&mut connection, &self.key, term)?;
        leases::forget(&mut connection, KIND, MEMORY)
    }
}
