//! The claim: an atomic statement that makes pending entries a node's own.
//!
//! Owns which entries are claimed and what a claim writes; the statement itself, which differs between backends and
//! strategies, is in the files below. One claim at a time is decided by that statement alone.

mod due;
mod mysql;
mod postgres;
mod sqlite;

use std::sync::Arc;

pub use due::{Due, due};

use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Integer, Nullable, Text};
use serde_json::value::RawValue;

use super::connection::Connection;
use super::dialect::Dialect;
use super::server::Strategy;
use super::settle::{self, Settlement, Verdict};
use super::source::TableSource;
use super::statement::Statement;
use crate::error::Result;
use crate::model::Entry;

/// What a node asks for one task.
#[derive(Clone)]
pub struct ClaimRequest {
    /// The task.
    pub task: String,
    /// At most this many entries.
    pub limit: usize,
    /// Attempts in all, where an entry does not say otherwise.
    pub max_attempts: i32,
    /// True if the dedupe key is free from the start on.
    pub free_key: bool,
    /// Where the payload of source entries is read.
    pub source: Option<Arc<TableSource>>,
}

/// Who claims, and how.
#[derive(Debug, Clone)]
pub struct Claimant {
    /// The node's incarnation: the claim takes nothing once its lease has ended.
    pub node_id: i64,
    /// How entries are claimed.
    pub strategy: Strategy,
    /// Makes idempotency keys unique over installations.
    pub installation: Arc<str>,
}

/// What a claim brought.
#[derive(Debug, Default)]
pub struct Claimed {
    /// Running now, under this node's claim, in the order in which they are due.
    pub entries: Vec<Entry>,
    /// Claimed and ended at once: rows that are gone or no longer pending, attempts used up.
    pub settled: usize,
    /// Attempts used up.
    pub exhausted: usize,
}

/// A row as claims return it.
#[derive(QueryableByName, Debug)]
pub(super) struct Row {
    #[diesel(sql_type = BigInt)]
    pub id: i64,
    #[diesel(sql_type = Nullable<Text>)]
    pub dedupe_key: Option<String>,
    #[diesel(sql_type = Text)]
    pub payload: String,
    #[diesel(sql_type = Integer)]
    pub attempt: i32,
    #[diesel(sql_type = Nullable<Integer>)]
    pub max_attempts: Option<i32>,
    #[diesel(sql_type = BigInt)]
    pub claim: i64,
    #[diesel(sql_type = Integer)]
    pub source: i32,
    #[diesel(sql_type = Nullable<BigInt>)]
    pub scheduled_for: Option<i64>,
    #[diesel(sql_type = BigInt)]
    pub created_at: i64,
    #[diesel(sql_type = BigInt)]
    pub run_at: i64,
    #[diesel(sql_type = BigInt)]
    pub started_at: i64,
    #[diesel(sql_type = Nullable<Text>)]
    pub error: Option<String>,
}

/// The columns of [`Row`] but `attempt`, `claim` and `started_at`, which a claim changes.
pub(super) const COLUMNS: &str =
    "id, dedupe_key, payload, max_attempts, source, scheduled_for, created_at, run_at, error";

/// One level of one task: what one claim statement looks at.
pub(super) struct Level<'a> {
    pub task: &'a str,
    pub priority: i32,
    pub limit: i64,
    pub node_id: i64,
    /// What a claim sets besides the rest: nothing, or the freeing of the dedupe key.
    pub also_set: &'static str,
}

/// True only while the claimant's lease lives; binds its id.
pub(super) const LIVE: &str = "EXISTS (SELECT 1 FROM soloist_nodes WHERE id = ? AND lease_until > {now})";

/// The head of one level: due entries of one priority, in order, by the claim index alone; binds task, priority and
/// limit.
pub(super) const DUE: &str =
    "task = ? AND state = 'pending' AND priority = ? AND run_at <= {now} ORDER BY run_at, id LIMIT ?";

/// Claims due entries of one task, better priorities first. `priorities` are those that had due entries a moment ago.
pub fn claim(
    connection: &mut Connection,
    claimant: &Claimant,
    request: &ClaimRequest,
    priorities: &[i32],
) -> Result<Claimed> {
    if request.source.is_some() {
        // The rows are read, and `pending` asked again, in the transaction that claims.
        connection.transaction(|connection| claim_levels(connection, claimant, request, priorities))
    } else {
        claim_levels(connection, claimant, request, priorities)
    }
}

fn claim_levels(
    connection: &mut Connection,
    claimant: &Claimant,
    request: &ClaimRequest,
    priorities: &[i32],
) -> Result<Claimed> {
    let mut rows = Vec::new();
    for &priority in priorities {
        let room = request.limit.saturating_sub(rows.len());
        if room == 0 {
            break;
        }
        let level = Level {
            task: &request.task,
            priority,
            limit: i64::try_from(room).unwrap_or(i64::MAX),
            node_id: claimant.node_id,
            also_set: if request.free_key { ", key_held = 0" } else { "" },
        };
        let result = match connection.dialect() {
            Dialect::Sqlite => sqlite::claim(connection, &level),
            Dialect::Postgres => postgres::claim(connection, claimant.strategy, &level),
            Dialect::Mysql => mysql::claim(connection, claimant.strategy, &level),
        };
        let mut claimed = match result {
            // What better priorities brought is claimed already and must be worked.
            Err(error) if !rows.is_empty() && request.source.is_none() => {
                tracing::warn!(%error, "a claim stopped half-way");
                break;
            }
            result => result?,
        };
        claimed.sort_by_key(|row| (row.run_at, row.id));
        rows.append(&mut claimed);
    }
    receive(connection, claimant, request, rows)
}

/// Turns claimed rows into entries; ends at once those that need no call.
pub(super) fn receive(
    connection: &mut Connection,
    claimant: &Claimant,
    request: &ClaimRequest,
    rows: Vec<Row>,
) -> Result<Claimed> {
    let mut claimed = Claimed::default();
    let mut settlements = Vec::new();
    let mut rows_of_source = match &request.source {
        Some(source) => {
            let keys: Vec<_> = rows
                .iter()
                .filter(|row| row.source == 1)
                .map(|row| (row.id, row.dedupe_key.clone().unwrap_or_default()))
                .collect();
            if keys.is_empty() { Default::default() } else { source.read(connection, &keys)? }
        }
        None => Default::default(),
    };
    for row in rows {
        let max_attempts = row.max_attempts.unwrap_or(request.max_attempts);
        if row.attempt > max_attempts {
            claimed.exhausted += 1;
            settlements.push(exhausted(row, max_attempts));
            continue;
        }
        let from_source = row.source == 1;
        let (payload, source_version) = match (from_source, &request.source) {
            (false, _) => (row.payload, None),
            (true, Some(_)) => match rows_of_source.remove(&row.id) {
                Some(found) => (found.payload, found.version),
                None => {
                    settlements.push(Settlement::new(row.id, row.claim, row.attempt, Verdict::Unneeded));
                    continue;
                }
            },
            (true, None) => {
                let error = "its task no longer has a source here, so its row cannot be read".to_owned();
                let verdict = Verdict::Failed { error, output: None };
                settlements.push(Settlement::new(row.id, row.claim, row.attempt, verdict));
                continue;
            }
        };
        let payload = match RawValue::from_string(payload) {
            Ok(payload) => payload,
            Err(error) => {
                // The database's notion of JSON may be wider; the others of this claim must not wait for it.
                let verdict = Verdict::Failed { error: format!("its payload is no JSON: {error}"), output: None };
                settlements.push(Settlement::new(row.id, row.claim, row.attempt, verdict));
                continue;
            }
        };
        claimed.entries.push(Entry {
            id: row.id,
            task: request.task.clone(),
            key: row.dedupe_key,
            payload,
            attempt: row.attempt,
            max_attempts,
            scheduled_for: row.scheduled_for,
            created_at: row.created_at,
            idempotency_key: format!("{}-{}", claimant.installation, row.id),
            claim: row.claim,
            node_id: claimant.node_id,
            from_source,
            source_version,
            started_at: row.started_at,
            run_at: row.run_at,
        });
    }
    if !settlements.is_empty() {
        claimed.settled = settlements.len();
        let source = request.source.as_deref();
        let context = settle::Context { source, ..settle::Context::ending(claimant.node_id) };
        let settled = settle::settle(connection, &context, &settlements);
        match settled {
            // Those that were claimed must be worked; these go back when their claim is found with nobody.
            Err(error) if source.is_none() => tracing::warn!(%error, "entries that need no call could not be ended"),
            result => {
                result?;
            }
        }
    }
    Ok(claimed)
}

/// The claim counts as the attempt, so that an entry that kills its node each time comes to an end.
fn exhausted(row: Row, max_attempts: i32) -> Settlement {
    let why = row.error.unwrap_or_else(|| format!("all {max_attempts} attempts are used up"));
    let mut settlement =
        Settlement::new(row.id, row.claim, row.attempt - 1, Verdict::Failed { error: why, output: None });
    settlement.uncounted = true;
    settlement.recorded = false;
    settlement.source_key = row.dedupe_key.filter(|_| row.source == 1);
    settlement
}

/// Ids at the head of a level, unlocked, for the atomic update. Nodes that ask at once would all get the same, so more
/// are read than wanted and some of them chosen by chance.
pub(super) fn candidates(connection: &mut Connection, level: &Level<'_>) -> Result<Vec<i64>> {
    #[derive(QueryableByName)]
    struct Id {
        #[diesel(sql_type = BigInt)]
        id: i64,
    }
    let index = if connection.dialect() == Dialect::Mysql { " FORCE INDEX (soloist_entries_claim)" } else { "" };
    let sql = connection.dialect().sql(&format!("SELECT id FROM soloist_entries{index} WHERE {LIVE} AND {DUE}"));
    let rows: Vec<Id> = connection.load(
        Statement::new(sql)
            .bind(level.node_id)
            .bind(level.task)
            .bind(level.priority)
            .bind(level.limit.saturating_mul(3)),
    )?;
    let wanted = usize::try_from(level.limit).unwrap_or(usize::MAX);
    let mut ids: Vec<_> = rows.into_iter().map(|row| row.id).collect();
    if ids.len() > wanted {
        let first = fastrand::usize(..=ids.len() - wanted);
        ids = ids.split_off(first);
        ids.truncate(wanted);
    }
    Ok(ids)
}
