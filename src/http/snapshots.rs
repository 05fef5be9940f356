//! One look at the state of the whole for all who ask: status, metrics and events.
//!
//! However many ask, one of them reads the database, and the others get what it found. A write over this node's API
//! makes what was read before it old, so that whoever wrote sees it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use actix_web::rt::task::spawn_blocking;
use actix_web::web::Bytes;
use tokio::sync::watch;

use crate::actor::guard;
use crate::actor::reports::{LEASE, Reports};
use crate::error::{Error, Result};
use crate::store::Store;
use crate::store::status::{LastSeen, Status};

/// What one look found.
#[derive(Debug)]
pub struct Snapshot {
    began: Instant,
    /// How many writes it has seen.
    writes: u64,
    found: Result<Found>,
}

#[derive(Debug)]
struct Found {
    status: Status,
    json: Bytes,
}

impl Snapshot {
    /// The state of the whole, or why it could not be read.
    pub fn status(&self) -> Result<&Status, &Error> {
        self.found.as_ref().map(|found| &found.status)
    }

    /// The same as the API shows it.
    pub fn json(&self) -> Result<Bytes, &Error> {
        self.found.as_ref().map(|found| found.json.clone())
    }

    /// How long ago it was begun.
    pub fn age(&self) -> Duration {
        self.began.elapsed()
    }
}

struct Shared {
    seen: LastSeen,
    reports: Reports,
    reading: AtomicBool,
    writes: AtomicU64,
    latest: watch::Sender<Option<Arc<Snapshot>>>,
}

/// The way to the newest snapshot; cheap to clone.
#[derive(Clone)]
pub struct Snapshots(Arc<Shared>);

impl Snapshots {
    /// Looks at this database, when somebody asks; `reports` are those of this node's own duties.
    pub fn new(store: Store, reports: Reports) -> Self {
        let (reading, writes) = (AtomicBool::new(false), AtomicU64::new(0));
        let seen = LastSeen::new(store);
        Self(Arc::new(Shared { seen, reports, reading, writes, latest: watch::Sender::new(None) }))
    }

    /// What was read before this moment is old.
    pub fn written(&self) {
        self.0.writes.fetch_add(1, Ordering::SeqCst);
    }

    /// A snapshot that is no older than this. An error is one too: those who ask wait for no second try.
    pub async fn get(&self, oldest: Duration) -> Arc<Snapshot> {
        let (asked, writes) = (Instant::now(), self.0.writes.load(Ordering::SeqCst));
        let mut latest = self.0.latest.subscribe();
        loop {
            let seen = latest.borrow_and_update().clone();
            if let Some(seen) = seen
                && seen.writes >= writes
                && asked.saturating_duration_since(seen.began) <= oldest
            {
                return seen;
            }
            self.read();
            // The sender is in `self`: it cannot be gone.
            let _ = latest.changed().await;
        }
    }

    /// The newest, however old.
    pub fn latest(&self) -> Option<Arc<Snapshot>> {
        self.0.latest.borrow().clone()
    }

    /// Reads, unless somebody does.
    fn read(&self) {
        if self.0.reading.swap(true, Ordering::SeqCst) {
            return;
        }
        let shared = self.0.clone();
        spawn_blocking(move || {
            let (began, writes) = (Instant::now(), shared.writes.load(Ordering::SeqCst));
            let found = guard::catch("reading the status", || look(&shared));
            // First, so that whoever is told of a snapshot that is too old for him finds nobody reading.
            shared.reading.store(false, Ordering::SeqCst);
            shared.latest.send_replace(Some(Arc::new(Snapshot { began, writes, found })));
        });
    }
}

fn look(shared: &Shared) -> Result<Found> {
    let status = shared.seen.look(shared.reports.error_of(LEASE).as_deref())?;
    let json = serde_json::to_vec(&status).map_err(Error::internal)?.into();
    Ok(Found { status, json })
}

impl fmt::Debug for Snapshots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Snapshots").field(&self.latest()).finish()
    }
}
