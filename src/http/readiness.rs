//! Whether this node may be sent requests: set by the node, read by `/readyz`.

use std::sync::atomic::{AtomicBool, Ordering};

/// What `/readyz` tells. Not ready until database and schema have been found good.
#[derive(Debug, Default)]
pub struct Readiness {
    database: AtomicBool,
    schema: AtomicBool,
    draining: AtomicBool,
}

impl Readiness {
    /// Says whether the database could be reached at the last try.
    pub fn set_database(&self, reachable: bool) {
        self.database.store(reachable, Ordering::Relaxed);
    }

    /// Says whether the schema is at least as new as this binary.
    pub fn set_schema(&self, current: bool) {
        self.schema.store(current, Ordering::Relaxed);
    }

    /// Says whether the node is finishing its work before a stop.
    pub fn set_draining(&self, draining: bool) {
        self.draining.store(draining, Ordering::Relaxed);
    }

    /// What speaks against being ready; nothing if the node is.
    pub fn reasons(&self) -> Vec<&'static str> {
        let mut reasons = Vec::new();
        if self.draining.load(Ordering::Relaxed) {
            reasons.push("the node is draining before a stop");
        }
        if !self.database.load(Ordering::Relaxed) {
            reasons.push("the database cannot be reached");
        } else if !self.schema.load(Ordering::Relaxed) {
            reasons.push("the schema is older than this binary: run soloist migrate");
        }
        reasons
    }
}
