//! Jitter: how far an entry is put off, the same on every node.

use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::model::time::{Micros, micros};

/// Between nothing and `jitter`, by the schedule's name and the due time alone.
pub fn offset(schedule: &str, due: Micros, jitter: Duration) -> Micros {
    let most = micros(jitter);
    if most == 0 {
        return 0;
    }
    let digest = Sha256::new().chain_update(schedule).chain_update([0]).chain_update(due.to_le_bytes()).finalize();
    let mut first = [0_u8; 8];
    first.copy_from_slice(&digest[..8]);
    let points = u128::from(most.unsigned_abs()) + 1;
    let share = (u128::from(u64::from_le_bytes(first)) * points) >> 64;
    Micros::try_from(share).unwrap_or(most)
}
