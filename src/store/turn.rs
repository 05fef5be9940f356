//! SQLite's one writer: how a connection waits for its turn.
//!
//! SQLite keeps no queue. Whoever asks in the moment when the lock is free has it, and its own way of waiting asks ever
//! more seldom, ten times a second at last: under load a heartbeat, or the application beside, would wait for ever. So
//! of one process one connection asks at a time, asks often, the lease's most often of all and without queueing, and
//! a process that has held the lock leaves it free for a share of that time.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use diesel::QueryResult;
use diesel::result::{DatabaseErrorKind, Error};

/// The lock is left free for one part in so many of the time that it was held.
const SHARE: u32 = 8;
/// What is owed is left free once it is as long as this: shorter, nobody else would notice.
const LEAST: Duration = Duration::from_millis(1);
/// However long it was held.
const MOST: Duration = Duration::from_millis(25);
/// How often the connection of the lease asks.
const LEASE: Duration = Duration::from_micros(300);
/// How often others ask: at least and at most, by chance, so that no two keep step.
const OTHERS: (u64, u64) = (1500, 6000);

/// Lets one connection of the process at a time ask for the lock.
#[derive(Default)]
pub(super) struct Gate {
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Default)]
struct State {
    taken: bool,
    owed: Duration,
}

impl Gate {
    /// False if the time is up first.
    fn enter(&self, limit: Duration) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.freed.wait_timeout_while(state, limit, |state| state.taken);
        let (mut state, time) = waited.unwrap_or_else(PoisonError::into_inner);
        let free = !time.timed_out() || !state.taken;
        state.taken |= free;
        free
    }

    fn leave(&self, held: Duration) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.owed += held / SHARE;
        if state.owed >= LEAST {
            let owed = std::mem::take(&mut state.owed).min(MOST);
            drop(state);
            std::thread::sleep(owed);
            state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        }
        state.taken = false;
        drop(state);
        self.freed.notify_one();
    }
}

/// A connection's way of waiting, and whether it has the turn.
pub(super) struct Turn {
    /// None: asks beside the queue.
    gate: Option<Arc<Gate>>,
    limit: Duration,
    /// Open transaction and savepoints in it.
    depth: usize,
    since: Option<Instant>,
}

impl Turn {
    /// For the connection of the lease with no gate; `limit` is how long a lock is waited for.
    pub(super) fn new(gate: Option<Arc<Gate>>, limit: Duration) -> Self {
        Self { gate, limit, depth: 0, since: None }
    }

    /// True inside a transaction, where the lock is had.
    pub(super) fn is_open(&self) -> bool {
        self.depth > 0
    }

    /// Begins a transaction, or a savepoint in the open one.
    pub(super) fn begin(&mut self, attempt: impl FnMut() -> QueryResult<()>) -> QueryResult<()> {
        if self.depth == 0 {
            self.take()?;
        }
        let result = self.patiently(attempt);
        match &result {
            Ok(()) => self.depth += 1,
            Err(_) if self.depth == 0 => self.give(),
            Err(_) => {}
        }
        result
    }

    /// The transaction, or a savepoint in it, has ended.
    pub(super) fn ended(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        if self.depth == 0 {
            self.give();
        }
    }

    /// One statement that writes.
    pub(super) fn write<T>(&mut self, attempt: impl FnMut() -> QueryResult<T>) -> QueryResult<T> {
        if self.depth > 0 {
            return self.patiently(attempt);
        }
        self.take()?;
        let result = self.patiently(attempt);
        self.give();
        result
    }

    /// Repeats what finds the database locked, until it is not or the time is up.
    pub(super) fn patiently<T>(&self, mut attempt: impl FnMut() -> QueryResult<T>) -> QueryResult<T> {
        let start = Instant::now();
        loop {
            match attempt() {
                Err(error) if self.depth == 0 && is_locked(&error) && start.elapsed() < self.limit => {
                    std::thread::sleep(self.pause());
                }
                result => return result,
            }
        }
    }

    fn pause(&self) -> Duration {
        match self.gate {
            None => LEASE,
            Some(_) => Duration::from_micros(fastrand::u64(OTHERS.0..OTHERS.1)),
        }
    }

    fn take(&mut self) -> QueryResult<()> {
        if self.gate.as_ref().is_none_or(|gate| gate.enter(self.limit)) {
            self.since = Some(Instant::now());
            return Ok(());
        }
        // As SQLite says it.
        Err(Error::DatabaseError(DatabaseErrorKind::Unknown, Box::new("database is locked".to_owned())))
    }

    fn give(&mut self) {
        if let (Some(since), Some(gate)) = (self.since.take(), &self.gate) {
            gate.leave(since.elapsed());
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.give();
    }
}

fn is_locked(error: &Error) -> bool {
    let Error::DatabaseError(_, information) = error else { return false };
    information.message().contains("is locked")
}
