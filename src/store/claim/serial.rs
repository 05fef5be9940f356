//! `serial_by = "key"`: whose turn it is. Entries of one key start one at a time, in the order of their ids; entries
//! without a key are free.
//!
//! Asked under the lock of the task's row, so that nobody else claims meanwhile. What it costs does not grow with the
//! queue: the first [`WINDOW`] of what is due are asked, by three probes each, and where they leave slots free since
//! they wait for their key, so is the first of each key, of [`KEYS`] keys a time. 10,000 entries of one key cost as much
//! as 500: see the test `a_long_queue_of_one_key`.

use std::collections::BTreeSet;

use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Nullable, Text};

use super::{COLUMNS, DUE, LIVE, Row};
use crate::error::Result;
use crate::model::time::Micros;
use crate::store::connection::Connection;
use crate::store::dialect::Dialect;
use crate::store::statement::Statement;

/// How many due entries of a level are looked at, in their order.
const WINDOW: usize = 500;

/// How many keys are looked at beyond those.
const KEYS: usize = 500;

/// One level of one task.
#[derive(Clone, Copy)]
pub(in crate::store) struct Level<'a> {
    pub task: &'a str,
    pub priority: i32,
    /// The node that claims, whose lease must live; none for an outside worker.
    pub node_id: Option<i64>,
}

#[derive(QueryableByName)]
struct Id {
    #[diesel(sql_type = BigInt)]
    id: i64,
}

/// At most `limit` due entries of a level whose turn it is, in their order.
pub(in crate::store) fn next(connection: &mut Connection, level: Level<'_>, limit: usize) -> Result<Vec<i64>> {
    let first = first_due(connection, level)?;
    let mut found = whose_turn(connection, level, &first)?;
    if found.len() < limit && first.len() == WINDOW {
        let heads = heads(connection, level.task)?;
        found.append(&mut whose_turn(connection, level, &heads)?);
    }
    Ok(found.into_iter().map(|(_, id)| id).take(limit).collect())
}

/// The head of the level, not locked: whoever else might claim waits for the lock of the task.
fn first_due(connection: &mut Connection, level: Level<'_>) -> Result<Vec<i64>> {
    let dialect = connection.dialect();
    let index = if dialect == Dialect::Mysql { " FORCE INDEX (soloist_entries_claim)" } else { "" };
    let live = if level.node_id.is_some() { LIVE } else { "? IS NULL" };
    let sql = dialect.sql(&format!("SELECT id FROM soloist_entries{index} WHERE {live} AND {DUE}"));
    let window = i64::try_from(WINDOW).unwrap_or(i64::MAX);
    let statement = Statement::new(sql).bind(level.node_id).bind(level.task).bind(level.priority).bind(window);
    Ok(connection.load::<Id>(statement)?.into_iter().map(|row| row.id).collect())
}

/// How each backend finds keys in the index that holds those of entries that wait or run and only say the order.
struct Keys {
    column: &'static str,
    table: &'static str,
    of_index: &'static str,
    /// The key of `e`, and that bound next, as the column holds it.
    of_entry: &'static str,
    bound: &'static str,
    shown: &'static str,
}

fn keys(dialect: Dialect) -> Keys {
    match dialect {
        Dialect::Sqlite | Dialect::Postgres => Keys {
            column: "dedupe_key",
            table: "soloist_entries AS o",
            of_index: "o.key_held = 0 AND o.state IN ('pending', 'running')",
            of_entry: "e.dedupe_key",
            bound: "?",
            shown: "name",
        },
        // By bytes: 'a' and 'a ' are two keys.
        Dialect::Mysql => Keys {
            column: "serial_key",
            table: "soloist_entries AS o FORCE INDEX (soloist_entries_serial)",
            of_index: "o.key_held = 0",
            of_entry: "CAST(e.dedupe_key AS BINARY)",
            bound: "CAST(? AS BINARY)",
            shown: "CONVERT(name USING utf8mb4)",
        },
    }
}

/// The entry that this one waits for: of the same key, running or come first.
pub(in crate::store) fn ahead(connection: &mut Connection, id: i64) -> Result<Option<i64>> {
    #[derive(QueryableByName)]
    struct Ahead {
        #[diesel(sql_type = Nullable<BigInt>)]
        id: Option<i64>,
    }
    let [running, earlier, holder] = others(connection.dialect());
    let sql = format!("SELECT COALESCE({running}, {earlier}, {holder}) AS id FROM soloist_entries e WHERE e.id = ?");
    Ok(connection.first::<Ahead>(Statement::new(sql).bind(id))?.and_then(|row| row.id))
}

/// Subqueries for others of the key of `e`: one that runs, the first that came earlier, and one that holds the key and
/// does either. By value, with a limit: an EXISTS might be answered by reading all that runs.
fn others(dialect: Dialect) -> [String; 3] {
    let Keys { column, table, of_index, of_entry, .. } = keys(dialect);
    let of_key = format!("FROM {table} WHERE o.task = e.task AND o.{column} = {of_entry} AND {of_index}");
    let holder = match dialect {
        Dialect::Mysql => {
            format!("FORCE INDEX (soloist_entries_key) WHERE h.task = e.task AND h.held_key = {of_entry}")
        }
        _ => "WHERE h.task = e.task AND h.dedupe_key = e.dedupe_key AND h.key_held = 1".to_owned(),
    };
    [
        format!("(SELECT o.id {of_key} AND o.state = 'running' LIMIT 1)"),
        format!("(SELECT o.id {of_key} AND o.state = 'pending' AND o.id < e.id ORDER BY o.id LIMIT 1)"),
        format!(
            "(SELECT h.id FROM soloist_entries AS h {holder} \
             AND (h.state = 'running' OR (h.state = 'pending' AND h.id < e.id)) LIMIT 1)"
        ),
    ]
}

/// Those of these entries that are due in the level and whose turn it is: no other of the key runs, and none that came
/// earlier waits.
fn whose_turn(connection: &mut Connection, level: Level<'_>, ids: &[i64]) -> Result<BTreeSet<(Micros, i64)>> {
    #[derive(QueryableByName)]
    struct Turn {
        #[diesel(sql_type = BigInt)]
        id: i64,
        #[diesel(sql_type = BigInt)]
        run_at: i64,
    }
    if ids.is_empty() {
        return Ok(BTreeSet::new());
    }
    let dialect = connection.dialect();
    let [running, earlier, holder] = others(dialect);
    let sql = dialect.sql(&format!(
        "SELECT e.id, e.run_at FROM soloist_entries e WHERE {} AND e.state = 'pending' AND e.priority = ? \
         AND e.run_at <= {{now}} AND (e.dedupe_key IS NULL OR (\
         {running} IS NULL AND {earlier} IS NULL AND {holder} IS NULL))",
        dialect.among_ids("e.id")
    ));
    let rows: Vec<Turn> = connection.load(Statement::new(sql).bind(dialect.ids(ids)).bind(level.priority))?;
    Ok(rows.into_iter().map(|row| (row.run_at, row.id)).collect())
}

/// The first that waits of each of the next keys, from one key to the next by the index. Where there are more keys than
/// are looked at, the next look goes on behind them.
fn heads(connection: &mut Connection, task: &str) -> Result<Vec<i64>> {
    #[derive(QueryableByName)]
    struct Head {
        #[diesel(sql_type = Text)]
        name: String,
        #[diesel(sql_type = Nullable<BigInt>)]
        id: Option<i64>,
    }
    #[derive(QueryableByName)]
    struct Position {
        #[diesel(sql_type = Nullable<Text>)]
        serial_after: Option<String>,
    }
    let position = Statement::new("SELECT serial_after FROM soloist_tasks WHERE name = ?").bind(task);
    let position = connection.first::<Position>(position)?.and_then(|row| row.serial_after);
    let Keys { column, table, of_index, bound, shown, .. } = keys(connection.dialect());
    let first = |beyond: &str| {
        format!(
            "(SELECT o.{column} FROM {table} WHERE o.task = ? AND {of_index} AND o.{column} {beyond} \
             ORDER BY o.{column} LIMIT 1)"
        )
    };
    let sql = format!(
        "WITH RECURSIVE k (name, n) AS (SELECT {}, 1 UNION ALL SELECT {}, n + 1 FROM k \
         WHERE name IS NOT NULL AND n < {KEYS}) SELECT {shown} AS name, (SELECT o.id FROM {table} \
         WHERE o.task = ? AND o.{column} = k.name AND {of_index} AND o.state = 'pending' ORDER BY o.id LIMIT 1) AS id \
         FROM k WHERE name IS NOT NULL",
        first(&format!(">= {bound}")),
        first("> k.name")
    );
    let statement = Statement::new(sql).bind(task).bind(position.clone().unwrap_or_default()).bind(task).bind(task);
    let heads: Vec<Head> = connection.load(statement)?;
    let further = heads.last().filter(|_| heads.len() == KEYS).map(|head| head.name.clone());
    if further != position {
        let update = Statement::new("UPDATE soloist_tasks SET serial_after = ? WHERE name = ?");
        connection.execute(update.bind(further).bind(task))?;
    }
    Ok(heads.into_iter().filter_map(|head| head.id).collect())
}

/// Claims these, as they were found under the lock; `set` binds one number.
pub(in crate::store) fn claim(connection: &mut Connection, ids: &[i64], set: &str, bind: i64) -> Result<Vec<Row>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let dialect = connection.dialect();
    let columns = format!("{COLUMNS}, attempt + 1 AS attempt, claim + 1 AS claim, {{now}} AS started_at");
    let lock = dialect.sql(&dialect.lock_ids(&columns, "state = 'pending'"));
    let rows: Vec<Row> = connection.load(Statement::new(lock).bind(dialect.ids(ids)))?;
    if !rows.is_empty() {
        let ids = dialect.ids(&rows.iter().map(|row| row.id).collect::<Vec<_>>());
        let update = Statement::new(dialect.sql(&dialect.update_ids(set, "state = 'pending'")));
        let update = if dialect.ids_first() { update.bind(ids).bind(bind) } else { update.bind(bind).bind(ids) };
        connection.execute(update)?;
    }
    Ok(rows)
}
