//! Taking back what was claimed for a worker that never heard of it.

use crate::error::Result;
use crate::model::Entry;
use crate::store::connection::Connection;
use crate::store::settle::{self, Context, Settlement, Verdict};

/// Which claim of which entry, at which attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claim {
    id: i64,
    claim: i64,
    attempt: i32,
}

impl From<&Entry> for Claim {
    fn from(entry: &Entry) -> Self {
        Self { id: entry.id, claim: entry.claim, attempt: entry.attempt }
    }
}

/// Back to pending at once, the attempt not counted; a claim that no longer stands is left alone.
pub fn hand_back(connection: &mut Connection, claims: &[Claim]) -> Result<()> {
    let back = |claim: &Claim| Settlement::new(claim.id, claim.claim, claim.attempt, Verdict::HandedBack);
    let settlements: Vec<_> = claims.iter().map(back).collect();
    settle::settle(connection, &Context::ending(0), &settlements).map(|_| ())
}
