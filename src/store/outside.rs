//! Claims of outside workers: each has an end of its own, and belongs to no node (`node_id` 0).
//!
//! Which entries are due, and what is written when one ends, is `claim`'s and `settle`'s; here stands who may have them
//! and whether a report still counts.

mod hand_back;
mod report;

use diesel::QueryableByName;
use diesel::sql_types::BigInt;

use super::claim::{self, COLUMNS, ClaimRequest, Claimant, Claimed, DUE, Limited, Room, Row, serial};
use super::connection::Connection;
use super::dialect::Dialect;
use super::entries::installation;
use super::server::Strategy;
use super::statement::Statement;
use crate::error::Result;
use crate::model::Entry;
use crate::model::time::Micros;

pub use hand_back::{Claim, hand_back};
pub use report::{Report, Reported, Terms, report};

/// How often a claim looks again because what it found had to be ended instead of handed out.
const LOOKS: usize = 5;

/// Claims due entries for an outside worker; each claim ends `lease` after the entry's `started_at`.
pub fn claim(connection: &mut Connection, request: &ClaimRequest, lease: Micros) -> Result<Vec<Entry>> {
    let claimant =
        Claimant { node_id: 0, strategy: Strategy::SkipLocked, installation: installation(connection)?.into() };
    let mut entries: Vec<Entry> = Vec::new();
    for _ in 0..LOOKS {
        let rest = ClaimRequest { limit: request.limit.saturating_sub(entries.len()), ..request.clone() };
        let claimed = match once(connection, &claimant, &rest, lease) {
            Ok(claimed) => claimed,
            // What is claimed already is handed out: nobody else would work it before its lease ends.
            Err(error) if !entries.is_empty() => {
                tracing::warn!(%error, task = request.task, "a claim stopped half-way");
                break;
            }
            Err(error) => return Err(error),
        };
        entries.extend(claimed.entries);
        if claimed.settled == 0 || entries.len() >= request.limit {
            break;
        }
    }
    Ok(entries)
}

/// What is due now, in one transaction.
fn once(connection: &mut Connection, claimant: &Claimant, request: &ClaimRequest, lease: Micros) -> Result<Claimed> {
    let due = claim::due(connection, &[&request.task])?;
    let Some(due) = due.into_iter().next().filter(|due| !due.paused) else { return Ok(Claimed::default()) };
    connection.transaction(|connection| {
        let limited = due.limited != Limited::No;
        let room = limited.then(|| Room::open(connection, &request.task, request.limit)).transpose()?;
        let most = room.as_ref().map_or(request.limit, |room| room.most);
        let in_turn = room.as_ref().is_some_and(Room::is_serial);
        let mut rows = Vec::new();
        for priority in due.priorities {
            let left = most.saturating_sub(rows.len());
            if left == 0 {
                break;
            }
            let take = if in_turn { level_in_turn } else { level };
            let mut level = take(connection, request, priority, left, lease)?;
            level.sort_by_key(|row| (row.run_at, row.id));
            rows.append(&mut level);
        }
        let claimed = claim::receive(connection, claimant, request, rows)?;
        if let Some(room) = room {
            room.close(connection, claimed.entries.len())?;
        }
        keep_versions(connection, &claimed.entries)?;
        Ok(claimed)
    })
}

/// What a claim writes; binds its lease.
fn set(request: &ClaimRequest) -> String {
    format!(
        "state = 'running', attempt = attempt + 1, claim = claim + 1, node_id = 0, started_at = {{now}}, \
         lease_until = {{now}} + ?{}",
        if request.free_key { ", key_held = 0" } else { "" }
    )
}

/// Claims what each key's turn allows of one priority, under the lock of the task.
fn level_in_turn(
    connection: &mut Connection,
    request: &ClaimRequest,
    priority: i32,
    room: usize,
    lease: Micros,
) -> Result<Vec<Row>> {
    let level = serial::Level { task: &request.task, priority, node_id: None };
    let ids = serial::next(connection, level, room)?;
    serial::claim(connection, &ids, &set(request), lease)
}

/// Claims the head of one priority.
fn level(
    connection: &mut Connection,
    request: &ClaimRequest,
    priority: i32,
    room: usize,
    lease: Micros,
) -> Result<Vec<Row>> {
    let dialect = connection.dialect();
    let room = i64::try_from(room).unwrap_or(i64::MAX);
    let set = set(request);
    if dialect == Dialect::Postgres {
        // The array is made once: the limit holds whatever the plan. See `claim::postgres`.
        let sql = dialect.sql(&format!(
            "UPDATE soloist_entries SET {set} WHERE id = ANY(ARRAY(SELECT id FROM soloist_entries WHERE {DUE} \
             FOR UPDATE SKIP LOCKED)) RETURNING {COLUMNS}, attempt, claim, started_at"
        ));
        let task = request.task.as_str();
        return connection.load(Statement::new(sql).bind(lease).bind(task).bind(priority).bind(room));
    }
    let index = if dialect == Dialect::Mysql { " FORCE INDEX (soloist_entries_claim)" } else { "" };
    let sql = dialect.sql(&format!(
        "SELECT {COLUMNS}, attempt + 1 AS attempt, claim + 1 AS claim, {{now}} AS started_at \
         FROM soloist_entries{index} WHERE {DUE}{}",
        dialect.skip_locked()
    ));
    let rows: Vec<Row> = connection.load(Statement::new(sql).bind(request.task.as_str()).bind(priority).bind(room))?;
    if !rows.is_empty() {
        let ids = dialect.ids(&rows.iter().map(|row| row.id).collect::<Vec<_>>());
        let update = Statement::new(dialect.sql(&dialect.update_ids(&set, "state = 'pending'")));
        let update = if dialect.ids_first() { update.bind(ids).bind(lease) } else { update.bind(lease).bind(ids) };
        connection.execute(update)?;
    }
    Ok(rows)
}

/// What the rows held when they were read is needed again when the worker reports, maybe to another node.
fn keep_versions(connection: &mut Connection, entries: &[Entry]) -> Result<()> {
    for entry in entries {
        if let Some(version) = &entry.source_version {
            let sql = "UPDATE soloist_entries SET source_version = ? WHERE id = ? AND claim = ?";
            connection.execute(Statement::new(sql).bind(version.as_str()).bind(entry.id).bind(entry.claim))?;
        }
    }
    Ok(())
}

/// Moves the end of a claim to `lease` from now; the new end, or nothing if the claim no longer stands.
pub fn extend(connection: &mut Connection, id: i64, claim: i64, lease: Micros) -> Result<Option<Micros>> {
    #[derive(QueryableByName)]
    struct Until {
        #[diesel(sql_type = BigInt)]
        lease_until: i64,
    }
    const STANDS: &str = "id = ? AND claim = ? AND state = 'running' AND node_id = 0 AND lease_until > {now}";
    let dialect = connection.dialect();
    connection.transaction(|connection| {
        let sql = dialect.sql(&format!("UPDATE soloist_entries SET lease_until = {{now}} + ? WHERE {STANDS}"));
        if connection.execute(Statement::new(sql).bind(lease).bind(id).bind(claim))? == 0 {
            return Ok(None);
        }
        let sql = "SELECT lease_until FROM soloist_entries WHERE id = ?";
        Ok(connection.first::<Until>(Statement::new(sql).bind(id))?.map(|row| row.lease_until))
    })
}
