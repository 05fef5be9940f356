//! Bringing claimed entries to what became of them: completed, failed, back to pending.
//!
//! Every write here is fenced: it takes effect only while `claim` and `state = 'running'` stand, in one statement or
//! one transaction with the write. What is no longer ours is left alone and told to the caller.

pub mod judge;
mod mark;
mod verdict;
mod write;

use std::collections::{BTreeMap, HashMap};

use diesel::QueryableByName;
use diesel::sql_types::BigInt;

pub use verdict::{Context, Settlement, Verdict};

use super::connection::Connection;
use super::dialect::Dialect;
use super::firings;
use super::statement::Statement;
use crate::error::Result;

/// What became of a call of [`settle`].
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Settled {
    /// Claims that no longer stood: nothing was written of them.
    pub lost: Vec<i64>,
    /// Entries whose write-back the database refused, with its words: failed for good.
    pub refused: Vec<(i64, String)>,
}

/// Writes what became of claimed entries of one task.
pub fn settle(connection: &mut Connection, context: &Context<'_>, settlements: &[Settlement]) -> Result<Settled> {
    let mut settled = Settled::default();
    // What became of a scheduled entry is kept with its firing, if the entry is not kept.
    let plain = |settlement: &&Settlement| settlement.is_plain() && !(settlement.scheduled && context.drop_completed);
    let (plain, rest): (Vec<_>, Vec<_>) = settlements.iter().partition(plain);
    let mut by_claim: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    for settlement in plain {
        by_claim.entry(settlement.claim).or_default().push(settlement.id);
    }
    for (claim, ids) in by_claim {
        complete(connection, context, claim, &ids, &mut settled)?;
    }
    if !rest.is_empty() {
        connection.transaction(|connection| settle_each(connection, context, &rest, &mut settled))?;
    }
    Ok(settled)
}

/// For tests alone. A claim that takes nothing leaves no claim for the fence to find, so both are off together.
fn is_fence_broken() -> bool {
    crate::testing::broken("no_fence") || crate::testing::broken("no_claim")
}

/// The hot path: first attempts that completed with nothing to say, one statement for all that share a claim number.
fn complete(
    connection: &mut Connection,
    context: &Context<'_>,
    claim: i64,
    ids: &[i64],
    settled: &mut Settled,
) -> Result<()> {
    let dialect = connection.dialect();
    let fence = if is_fence_broken() { "? IS NOT NULL" } else { "claim = ? AND state = 'running'" };
    let changed = if context.drop_completed {
        let sql = dialect.delete_ids("soloist_entries", "id", fence);
        connection.execute(Statement::new(sql).bind(dialect.ids(ids)).bind(claim))?
    } else {
        let set = "state = 'completed', finished_at = {now}, error = NULL, lease_until = NULL, \
                   key_held = CASE WHEN dedupe_key IS NULL THEN key_held ELSE 0 END";
        let sql = dialect.sql(&dialect.update_ids(set, fence));
        connection.execute(Statement::new(sql).bind(dialect.ids(ids)).bind(claim))?
    };
    if changed < ids.len() {
        // Which ones does not matter to the database; the caller counts them.
        settled.lost.extend_from_slice(&ids[..ids.len() - changed]);
    }
    Ok(())
}

fn settle_each(
    connection: &mut Connection,
    context: &Context<'_>,
    settlements: &[&Settlement],
    settled: &mut Settled,
) -> Result<()> {
    let held = hold(connection, settlements)?;
    let mut standing = Vec::with_capacity(settlements.len());
    for &settlement in settlements {
        if held.get(&settlement.id) == Some(&settlement.claim) || is_fence_broken() {
            standing.push(settlement.clone());
        } else {
            settled.lost.push(settlement.id);
        }
    }
    if standing.is_empty() {
        return Ok(());
    }
    if let Some(source) = context.source {
        mark::mark_rows(connection, source, &mut standing, settled)?;
    }
    write::write(connection, &standing)?;
    write::record(connection, context, &standing)?;
    drop_ended(connection, context, &standing)
}

#[derive(QueryableByName)]
struct Held {
    #[diesel(sql_type = BigInt)]
    id: i64,
    #[diesel(sql_type = BigInt)]
    claim: i64,
}

/// Locks the entries that are still running and reads their claims: until the transaction ends nobody can take them.
fn hold(connection: &mut Connection, settlements: &[&Settlement]) -> Result<HashMap<i64, i64>> {
    let dialect = connection.dialect();
    let mut ids: Vec<_> = settlements.iter().map(|settlement| settlement.id).collect();
    ids.sort_unstable();
    let sql = dialect.lock_ids("id, claim", "state = 'running'");
    let rows: Vec<Held> = connection.load(Statement::new(sql).bind(dialect.ids(&ids)))?;
    Ok(rows.into_iter().map(|row| (row.id, row.claim)).collect())
}

/// Deletes what is not kept at all.
fn drop_ended(connection: &mut Connection, context: &Context<'_>, standing: &[Settlement]) -> Result<()> {
    let ids: Vec<_> = standing
        .iter()
        .filter(|settlement| match settlement.verdict {
            Verdict::Completed { .. } | Verdict::Unneeded => context.drop_completed,
            Verdict::Failed { .. } => context.drop_failed,
            Verdict::Retry { .. } | Verdict::HandedBack => false,
        })
        .map(|settlement| settlement.id)
        .collect();
    if ids.is_empty() {
        return Ok(());
    }
    firings::keep_results(connection, &ids)?;
    let dialect = connection.dialect();
    for (table, column) in [("soloist_entries", "id"), ("soloist_attempts", "entry_id")] {
        let sql = dialect.delete_ids(table, column, "1 = 1");
        connection.execute(Statement::new(sql).bind(dialect.ids(&ids)))?;
    }
    Ok(())
}

/// What the database holds as claimed by this node: entry and claim number.
pub fn running(connection: &mut Connection, node_id: i64) -> Result<Vec<(i64, i64)>> {
    let condition = match connection.dialect() {
        Dialect::Sqlite | Dialect::Postgres => "node_id = ? AND finished_at IS NULL",
        Dialect::Mysql => "node_id = ? AND state = 'running'",
    };
    let sql = format!("SELECT id, claim FROM soloist_entries WHERE {condition}");
    let rows: Vec<Held> = connection.load(Statement::new(sql).bind(node_id))?;
    Ok(rows.into_iter().map(|row| (row.id, row.claim)).collect())
}
