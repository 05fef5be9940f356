//! Firing: the transaction that decides about due times and makes their entries and sweeps, and the records of it.
//!
//! That a due time fires once is decided here alone: the schedule's row is locked, `next_fire_at` is compared when it
//! is moved, and a firing is unique by schedule and due time.

mod batch;
mod conclude;
mod decided;
mod list;
mod now;
mod pass;
mod record;
mod work;

pub use conclude::{GivenUp, conclude, give_up};
pub use list::{FiringShape, list};
pub use now::fire_now;
pub use pass::{Pass, Passed, Told, pass};
pub use work::{Made, keep_results, keep_sweep_results};

use std::time::Duration;

use super::connection::Connection;
use super::statement::Statement;
use crate::error::Result;
use crate::model::time::micros;

/// Firings that one transaction deletes.
const CHUNK: i64 = 1000;

/// Deletes firings older than `keep`, a chunk at a time; true if there may be more.
pub fn prune(connection: &mut Connection, keep: Duration) -> Result<bool> {
    let dialect = connection.dialect();
    let old = dialect.sql("SELECT id FROM soloist_firings WHERE decided_at < {now} - ? ORDER BY decided_at LIMIT ?");
    let rows: Vec<work::Id> = connection.load(Statement::new(old).bind(micros(keep)).bind(CHUNK))?;
    if rows.is_empty() {
        return Ok(false);
    }
    let ids: Vec<_> = rows.into_iter().map(|row| row.id).collect();
    let sql = dialect.delete_ids("soloist_firings", "id", "1 = 1");
    connection.execute(Statement::new(sql).bind(dialect.ids(&ids)))?;
    Ok(ids.len() == usize::try_from(CHUNK).unwrap_or_default())
}
