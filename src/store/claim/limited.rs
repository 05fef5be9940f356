//! The claim of a task whose starts are limited over all nodes: one short transaction under the lock of the task's row.
//!
//! Whoever has the row counts, claims and moves the rate on before anybody else can count: two that counted at once
//! would both find room for one. On SQLite the one writer's turn is the lock.

use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Nullable};

use super::{ClaimRequest, Claimant, Claimed};
use crate::error::Result;
use crate::model::Rate;
use crate::model::time::Micros;
use crate::store::connection::Connection;
use crate::store::statement::Statement;
use crate::store::tasks::limits::{self, Limits};

/// How many entries of a task may start, known under the lock of its row.
pub(in crate::store) struct Room {
    task: String,
    limits: Limits,
    next_start_at: Option<Micros>,
    now: Micros,
    /// So many may start now.
    pub most: usize,
}

#[derive(QueryableByName)]
struct Row {
    #[diesel(embed)]
    limits: limits::Columns,
    #[diesel(sql_type = Nullable<BigInt>)]
    next_start_at: Option<i64>,
    #[diesel(sql_type = BigInt)]
    now: i64,
    #[diesel(sql_type = BigInt)]
    running: i64,
}

impl Room {
    /// Locks the task's row until the transaction ends, and works out how many of `wanted` entries may start.
    ///
    /// What runs is counted by the index of all that runs: it costs as much as all nodes work at.
    pub fn open(connection: &mut Connection, task: &str, wanted: usize) -> Result<Self> {
        let dialect = connection.dialect();
        if !crate::testing::broken("no_limit_lock") {
            limits::lock_one(connection, task)?;
        }
        // A statement of its own: one that had to wait for the lock would count what ran before it waited.
        let sql = dialect.sql(&format!(
            "SELECT {}, next_start_at, {{now}} AS now, CASE WHEN max_running > 0 THEN \
             (SELECT count(*) FROM soloist_entries WHERE state = 'running' AND node_id IS NOT NULL \
             AND finished_at IS NULL AND task = ?) ELSE 0 END AS running FROM soloist_tasks WHERE name = ?",
            limits::COLUMNS
        ));
        let row: Option<Row> = connection.first(Statement::new(sql).bind(task).bind(task))?;
        let Some(row) = row else {
            // Somebody has deleted the row: no limit is in force.
            let limits = Limits::default();
            return Ok(Self { task: task.to_owned(), limits, next_start_at: None, now: 0, most: wanted });
        };
        let (now, next_start_at, limits) = (row.now, row.next_start_at, Limits::from(row.limits));
        let mut most = wanted;
        if limits.max_running > 0 {
            most = most.min(usize::try_from(limits.max_running - row.running).unwrap_or(0));
        }
        if let Some(rate) = limits.rate {
            most = most.min(rate.room(next_start_at, now));
        }
        Ok(Self { task: task.to_owned(), limits, next_start_at, now, most })
    }

    /// True if entries of one key go one at a time.
    pub fn is_serial(&self) -> bool {
        self.limits.serial
    }

    /// Counts what has started against the rate; if that allows no more now, how long until it does.
    pub fn close(&self, connection: &mut Connection, started: usize) -> Result<Option<Micros>> {
        let Some(rate) = self.limits.rate else { return Ok(None) };
        let next = rate.next(self.next_start_at, self.now, started);
        // The second is true if the clock was set back.
        if started > 0 || self.next_start_at.is_some_and(|before| next < before) {
            let sql = "UPDATE soloist_tasks SET next_start_at = ? WHERE name = ?";
            connection.execute(Statement::new(sql).bind(next).bind(self.task.as_str()))?;
        }
        Ok(Some(next - self.now).filter(|wait| *wait > 0))
    }
}

/// Claims as many due entries of one task as may start.
pub(super) fn claim(
    connection: &mut Connection,
    claimant: &Claimant,
    request: &ClaimRequest,
    priorities: &[i32],
) -> Result<Claimed> {
    connection.begin()?;
    match under_lock(connection, claimant, request, priorities) {
        Ok(Some(claimed)) => connection.commit().map(|()| claimed),
        // A commit would wait for the disk, though there is nothing to be kept but a lock.
        Ok(None) => {
            connection.rollback();
            Ok(Claimed::default())
        }
        Err(error) => {
            connection.rollback();
            Err(error)
        }
    }
}

/// Nothing if as many run as may.
fn under_lock(
    connection: &mut Connection,
    claimant: &Claimant,
    request: &ClaimRequest,
    priorities: &[i32],
) -> Result<Option<Claimed>> {
    let room = Room::open(connection, &request.task, request.limit)?;
    if room.most == 0 && room.limits.rate.is_none() {
        return Ok(None);
    }
    let mut claimed = Claimed::default();
    if room.most > 0 {
        let request = ClaimRequest { limit: room.most, ..request.clone() };
        let how = super::How { serial: room.is_serial(), all_or_none: true };
        claimed = super::claim_levels(connection, claimant, &request, priorities, how, Vec::new())?;
    }
    claimed.next_in = room.close(connection, claimed.entries.len())?;
    Ok(Some(claimed))
}

/// Starts that the rate allows now, taken before they are made, for a transaction that is too long to hold the row.
#[derive(Debug, Clone, Copy)]
pub struct Starts {
    /// So many.
    pub most: usize,
    /// If the rate allows no more after them: how long until it does.
    pub next_in: Option<Micros>,
    rate: Option<Rate>,
}

impl Starts {
    /// Takes at most `wanted`.
    pub fn take(connection: &mut Connection, task: &str, wanted: usize) -> Result<Self> {
        connection.transaction(|connection| {
            let room = Room::open(connection, task, wanted)?;
            let next_in = room.close(connection, room.most)?;
            Ok(Self { most: room.most, next_in, rate: room.limits.rate })
        })
    }

    /// Gives back what was not needed.
    pub fn give_back(self, connection: &mut Connection, task: &str, unused: usize) -> Result<()> {
        let Some(rate) = self.rate.filter(|_| unused > 0) else { return Ok(()) };
        let sql = "UPDATE soloist_tasks SET next_start_at = next_start_at - ? WHERE name = ?";
        connection.execute(Statement::new(sql).bind(rate.span_of(unused)).bind(task)).map(|_| ())
    }
}
