//! What the indexes of keys, tasks and states have for a filter, where it is few: read in the order of each index, so that no
//! more than asked for is looked at.

use diesel::QueryableByName;
use diesel::sql_types::BigInt;

use super::filter::Filter;
use super::span::FEW;
use crate::error::Result;
use crate::model::State;
use crate::store::connection::Connection;
use crate::store::dialect::Dialect;
use crate::store::statement::Statement;

#[derive(QueryableByName)]
struct Id {
    #[diesel(sql_type = BigInt)]
    id: i64,
}

/// Part of an index: its name, a condition with what it binds, and the index's order.
struct Part {
    index: &'static str,
    condition: String,
    bind: Option<String>,
    order: &'static str,
}

/// All ids that may be meant, if they are few; one statement, so that an entry that moves between indexes is in one.
pub(super) fn few(connection: &mut Connection, filter: &Filter) -> Result<Option<Vec<i64>>> {
    let dialect = connection.dialect();
    let parts = match (&filter.key, dialect) {
        (Some(key), _) => of_key(dialect, key),
        (None, _) if filter.schedule.is_some() => Vec::new(),
        (None, Dialect::Mysql) => mysql(filter),
        (None, Dialect::Sqlite | Dialect::Postgres) => partial(filter),
    };
    if parts.is_empty() {
        return Ok(None);
    }
    let mut statement = Statement::new("");
    for (place, part) in parts.iter().enumerate() {
        let Part { index, condition, bind, order } = part;
        let all = if place == 0 { "" } else { " UNION ALL " };
        let force = if dialect == Dialect::Mysql { format!(" FORCE INDEX ({index})") } else { String::new() };
        statement = statement.text(&format!(
            "{all}SELECT id FROM (SELECT e.id FROM soloist_entries e{force} WHERE {condition} ORDER BY {order} LIMIT ?) \
             AS part{place}"
        ));
        if let Some(text) = bind {
            statement = statement.bind(text.as_str());
        }
        statement = statement.bind(FEW + 1);
    }
    let ids: Vec<i64> = connection.load::<Id>(statement)?.into_iter().map(|row| row.id).collect();
    let most = usize::try_from(FEW).unwrap_or(usize::MAX);
    Ok((ids.len() <= most).then_some(ids))
}

/// By key: the entries that hold it, of whatever task, and those that have let go of it.
fn of_key(dialect: Dialect, key: &str) -> Vec<Part> {
    let part = |index, condition: &str, order| Part {
        index,
        condition: format!("e.dedupe_key = ?{condition}"),
        bind: Some(key.to_owned()),
        order,
    };
    match dialect {
        Dialect::Mysql => vec![part("soloist_entries_by_key", "", "e.id")],
        Dialect::Sqlite | Dialect::Postgres => vec![
            part("soloist_entries_key", " AND e.key_held = 1", "e.task"),
            part("soloist_entries_by_key", " AND e.key_held = 0", "e.id"),
        ],
    }
}

/// Where indexes are partial: of what waits, of what runs, and of what has ended.
fn partial(filter: &Filter) -> Vec<Part> {
    let of_task = filter.task.is_some();
    let pending = || Part {
        index: "soloist_entries_claim",
        condition: format!("{}e.state = 'pending'", if of_task { "e.task = ? AND " } else { "" }),
        bind: filter.task.clone(),
        order: if of_task { "e.priority, e.run_at, e.id" } else { "e.task, e.priority, e.run_at, e.id" },
    };
    let running = || Part {
        index: "soloist_entries_running",
        condition: "e.state = 'running' AND e.node_id IS NOT NULL AND e.finished_at IS NULL".to_owned(),
        bind: None,
        order: "e.node_id, e.task",
    };
    let ended = || Part {
        index: "soloist_entries_finished",
        condition: "e.task = ? AND e.finished_at IS NOT NULL".to_owned(),
        bind: filter.task.clone(),
        order: "e.finished_at",
    };
    match filter.state {
        Some(State::Pending) => vec![pending()],
        Some(State::Running) => vec![running()],
        Some(_) if of_task => vec![ended()],
        None if of_task => vec![pending(), running(), ended()],
        _ => Vec::new(),
    }
}

/// Where each index has all entries.
fn mysql(filter: &Filter) -> Vec<Part> {
    let state = filter.state.map(State::word).unwrap_or_default();
    let (index, condition, order) = match (filter.task.is_some(), filter.state.is_some()) {
        (true, true) => {
            ("soloist_entries_claim", format!("e.task = ? AND e.state = '{state}'"), "e.priority, e.run_at, e.id")
        }
        (true, false) => ("soloist_entries_claim", "e.task = ?".to_owned(), "e.state, e.priority, e.run_at, e.id"),
        (false, true) => ("soloist_entries_running", format!("e.state = '{state}'"), "e.node_id, e.task"),
        (false, false) => return Vec::new(),
    };
    vec![Part { index, condition, bind: filter.task.clone(), order }]
}
