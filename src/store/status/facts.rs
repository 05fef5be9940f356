//! Reads what problems are worked out from: what is asked always, and what is asked only where it may matter.

use std::collections::BTreeMap;

use diesel::QueryableByName;
use diesel::sql_types::BigInt;

use super::{Facts, Usual, due_times, failures, running, writes};
use crate::error::Result;
use crate::model::time::{Micros, SECOND};
use crate::store::connection::Connection;
use crate::store::dialect::Dialect;
use crate::store::node_list::NodeShape;
use crate::store::statement::Statement;
use crate::store::tasks::declared;
use crate::store::tasks::{self, TaskShape, kept};
use crate::store::{duties, firings, node_list, nodes, schedules, sweeps};

/// Schedules and firings that are shown of each kind.
const SHOWN: usize = 10;
/// Schedules that do not fire, at most.
const SILENT: usize = 1000;
/// Entries taken over that are counted, at most.
const COUNTED: i64 = 10_000;
/// Tasks that are looked at more closely, since they may fall behind.
const BEHIND: usize = 20;

const DAY: Micros = 86_400 * SECOND;

/// Reads what problems are worked out from.
pub fn facts(connection: &mut Connection) -> Result<Facts> {
    if connection.dialect() != Dialect::Postgres {
        return read(connection);
    }
    // PostgreSQL takes what it has not analyzed yet for a few rows, and sorts them, a million perhaps, where an index has
    // the order. What must be sorted all the same it then takes for so dear that it would compile it first, for longer
    // than all of it takes.
    connection.transaction(|connection| {
        connection.batch("SET LOCAL enable_sort = off; SET LOCAL jit = off")?;
        read(connection)
    })
}

fn read(connection: &mut Connection) -> Result<Facts> {
    let now = nodes::clock(connection)?;
    let declared = declared::living(connection)?;
    let running = tasks::running_on(connection, now)?;
    let tasks = tasks::list_at(connection, &declared, &running, now)?;
    let nodes = node_list::seen_since(connection, now - DAY, now)?;
    let mut held_by = BTreeMap::new();
    for on in &running {
        *held_by.entry(on.node_id).or_insert(0) += on.n;
    }
    let fires = nodes.iter().any(|node| node.is_living() && node.has("scheduler"));
    Ok(Facts {
        now,
        away: None,
        refused: writes::refused(connection, &nodes)?,
        held_by,
        taken_over: taken_over(connection, now, &nodes)?,
        failures: failures::for_good(connection, now, &tasks)?,
        attempts: failures::of_attempts(connection, now, &tasks)?,
        sweeps: sweeps::open(connection, None)?,
        leader: node_list::leader(connection)?,
        next: schedules::next_firings(connection, SHOWN)?,
        silent: schedules::silent(connection, SILENT)?,
        held: schedules::held(connection)?,
        last: firings::list(connection, None, None, SHOWN)?,
        differing: schedules::differing(connection, SHOWN)?,
        taken: schedules::taken(connection, SHOWN)?,
        unheard: if fires { Vec::new() } else { schedules::declared_names(connection)? },
        unfired: due_times::unfired(connection)?,
        lateness: due_times::lateness(connection, now)?,
        long: running::long(connection, now, &running)?,
        last_starts: running::last_starts(connection, now, &tasks, &running)?,
        kept: kept::all(connection)?,
        usual: usual(connection, now, &tasks)?,
        standing: duties::standing(connection)?,
        nodes,
        tasks,
        declared,
    })
}

/// Of nodes whose lease ended without a stop.
fn taken_over(connection: &mut Connection, now: Micros, nodes: &[NodeShape]) -> Result<BTreeMap<i64, i64>> {
    #[derive(QueryableByName)]
    struct PerNode {
        #[diesel(sql_type = BigInt)]
        node_id: i64,
        #[diesel(sql_type = BigInt)]
        n: i64,
    }
    if nodes.iter().all(NodeShape::is_living) {
        return Ok(BTreeMap::new());
    }
    let sql = "SELECT node_id, count(*) AS n FROM (SELECT node_id FROM soloist_attempts \
               WHERE outcome = 'lost' AND finished_at > ? ORDER BY finished_at DESC LIMIT ?) AS lost \
               WHERE node_id IS NOT NULL GROUP BY node_id";
    let rows: Vec<PerNode> = connection.load(Statement::new(sql).bind(now - DAY).bind(COUNTED))?;
    Ok(rows.into_iter().map(|row| (row.node_id, row.n)).collect())
}

/// What is usual of the tasks whose oldest due entry has waited for more than a minute.
fn usual(connection: &mut Connection, now: Micros, tasks: &[TaskShape]) -> Result<BTreeMap<String, Usual>> {
    let waits = |task: &&TaskShape| task.oldest_due_age_s.is_some_and(|age| age > 60.0) && task.handler.is_some();
    let mut usual = BTreeMap::new();
    for task in tasks.iter().filter(waits).take(BEHIND) {
        let wait = running::usual_wait(connection, now, &task.name)?;
        let run = running::of_task(connection, &task.name)?;
        usual.insert(task.name.clone(), Usual { wait, run });
    }
    Ok(usual)
}
