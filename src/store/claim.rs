//! The claim: an atomic statement that makes pending entries a node's own.
//!
//! Owns which entries are claimed and what a claim writes; the statement itself, which differs between backends and
//! strategies, is in the files below. One claim at a time is decided by that statement alone.

mod at_once;
mod due;
mod limited;
mod mysql;
mod postgres;
mod receive;
pub(super) mod serial;
mod sqlite;

use std::sync::Arc;

pub use at_once::look;
pub use due::{Due, Limited, STEP, due};
pub(super) use limited::Room;
pub use limited::Starts;
pub(super) use receive::receive;

use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Integer, Nullable, Text};

use super::connection::Connection;
use super::dialect::Dialect;
use super::server::Strategy;
use super::source::TableSource;
use super::statement::Statement;
use crate::error::Result;
use crate::model::Entry;
use crate::model::time::Micros;

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
    /// True if no entry is started twice, whatever number of attempts it names, unless a person retries it.
    pub at_most_once: bool,
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
    /// If the task's rate allows no more now: how long until it does.
    pub next_in: Option<Micros>,
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
    #[diesel(sql_type = Nullable<Text>)]
    pub traceparent: Option<String>,
}

/// The columns of [`Row`] but `attempt`, `claim` and `started_at`, which a claim changes.
pub(super) const COLUMNS: &str =
    "id, dedupe_key, payload, max_attempts, source, scheduled_for, created_at, run_at, error, traceparent";

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

/// How the levels of a task are claimed.
#[derive(Clone, Copy)]
struct How {
    /// True if entries of one key go one at a time.
    serial: bool,
    /// True inside a transaction, which takes all back if a part fails.
    all_or_none: bool,
}

/// Claims due entries of one task, better priorities first. `priorities` are those that had due entries a moment ago.
/// Whatever limits the task over all nodes is not asked.
pub fn claim(
    connection: &mut Connection,
    claimant: &Claimant,
    request: &ClaimRequest,
    priorities: &[i32],
) -> Result<Claimed> {
    let how = How { serial: false, all_or_none: request.source.is_some() };
    if how.all_or_none {
        // The rows are read, and `pending` asked again, in the transaction that claims.
        connection.transaction(|connection| claim_levels(connection, claimant, request, priorities, how, Vec::new()))
    } else {
        claim_levels(connection, claimant, request, priorities, how, Vec::new())
    }
}

/// Claims what a look has seen of one task, the part that the look itself has claimed included, and no more than its
/// limits allow.
pub fn claim_due(
    connection: &mut Connection,
    claimant: &Claimant,
    request: &ClaimRequest,
    due: Due,
) -> Result<Claimed> {
    match due.taken {
        Some(rows) => {
            let how = How { serial: false, all_or_none: false };
            let rest = due.priorities.get(1..).unwrap_or_default();
            claim_levels(connection, claimant, request, rest, how, rows)
        }
        None if due.limited == Limited::No => claim(connection, claimant, request, &due.priorities),
        None => limited::claim(connection, claimant, request, &due.priorities),
    }
}

fn claim_levels(
    connection: &mut Connection,
    claimant: &Claimant,
    request: &ClaimRequest,
    priorities: &[i32],
    how: How,
    mut rows: Vec<Row>,
) -> Result<Claimed> {
    rows.sort_by_key(|row| (row.run_at, row.id));
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
            _ if how.serial => claim_in_turn(connection, &level),
            Dialect::Sqlite => sqlite::claim(connection, &level),
            Dialect::Postgres => postgres::claim(connection, claimant.strategy, &level),
            Dialect::Mysql => mysql::claim(connection, claimant.strategy, &level),
        };
        let mut claimed = match result {
            // What better priorities brought is claimed already and must be worked.
            Err(error) if !rows.is_empty() && !how.all_or_none => {
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

/// What each key's turn allows of a level, under the lock of the task.
fn claim_in_turn(connection: &mut Connection, level: &Level<'_>) -> Result<Vec<Row>> {
    let of = serial::Level { task: level.task, priority: level.priority, node_id: Some(level.node_id) };
    let ids = serial::next(connection, of, usize::try_from(level.limit).unwrap_or(usize::MAX))?;
    let set = format!(
        "state = 'running', attempt = attempt + 1, claim = claim + 1, node_id = ?, started_at = {{now}}{}",
        level.also_set
    );
    serial::claim(connection, &ids, &set, level.node_id)
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
