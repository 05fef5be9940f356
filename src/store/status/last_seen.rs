//! Looking again and again: what was seen last stays to be shown while the database cannot be reached.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::{Away, Facts, Status, facts, of};
use crate::error::{Error, Result};
use crate::model::time::Micros;
use crate::store::{Store, fault};

/// A look is tried again for this long: connections of before an outage fail once each.
const AGAIN: Duration = Duration::from_secs(1);
const TRIES: usize = 5;

/// Looks at the whole, and remembers.
pub struct LastSeen {
    store: Store,
    last: Mutex<Last>,
}

#[derive(Default)]
struct Last {
    facts: Option<Facts>,
    away_since: Option<Micros>,
}

impl std::fmt::Debug for LastSeen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LastSeen").finish_non_exhaustive()
    }
}

impl LastSeen {
    /// Nothing has been seen yet.
    pub fn new(store: Store) -> Self {
        Self { store, last: Mutex::default() }
    }

    /// Looks at the whole. A database that cannot be reached is no error but a problem, beside what was seen last.
    /// `lease` is why this process cannot renew its own lease, if so: a write that is refused to it is refused to all.
    pub fn look(&self, lease: Option<&str>) -> Result<Status> {
        let looked = self.try_look();
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        match looked {
            Ok(mut facts) => {
                if facts.refused.is_none() {
                    facts.refused = lease.filter(|error| fault::says_no_writes(error)).map(str::to_owned);
                }
                *last = Last { facts: Some(facts.clone()), away_since: None };
                Ok(of(facts))
            }
            Err(Fault::Away(error)) => {
                let now = Timestamp::now().as_microsecond();
                let since = *last.away_since.get_or_insert(now);
                let seen = last.facts.clone();
                let facts_of = seen.as_ref().map(|facts| facts.now);
                let away = Some(Away { error: error.to_string(), since, facts_of });
                Ok(of(Facts { now, away, ..seen.unwrap_or_default() }))
            }
            Err(Fault::Other(error)) => Err(error),
        }
    }

    fn try_look(&self) -> std::result::Result<Facts, Fault> {
        let start = Instant::now();
        let mut tries = 0;
        loop {
            tries += 1;
            let result = self.store.read().map_err(|error| match error.is_transient() && !error.is_unreachable() {
                // All connections are in use: the database itself is there.
                true => Fault::Other(error),
                // Whatever keeps a connection from being made, a wrong password too: nobody gets through.
                false => Fault::Away(error),
            });
            let result = result.and_then(|mut connection| {
                facts(&mut connection)
                    .map_err(|error| if error.is_unreachable() { Fault::Away(error) } else { Fault::Other(error) })
            });
            match result {
                Err(Fault::Away(_)) if tries < TRIES && start.elapsed() < AGAIN => {}
                result => return result,
            }
        }
    }
}

enum Fault {
    Away(Error),
    Other(Error),
}
