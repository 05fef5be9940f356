//! One action on all entries that a filter means, in chunks that each take a short transaction.

use serde::Serialize;

use super::act::{Action, apply};
use super::filter::Filter;
use crate::error::Result;
use crate::model::entry;
use crate::model::time::Micros;
use crate::store::connection::Connection;
use crate::store::nodes;
use crate::store::statement::Statement;

/// Entries of one transaction.
const CHUNK: i64 = 1000;

/// What an action on many came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Bulk {
    /// Entries that the filter means.
    pub matched: i64,
    /// Entries that were changed; none in a dry run.
    pub changed: i64,
    /// Entries that do not allow the action: in another state, or another holds their key.
    pub left_out: i64,
    /// Entries younger than this instant were not looked at; given again, the same are meant.
    #[serde(serialize_with = "entry::required_time")]
    pub before: Micros,
}

#[derive(diesel::QueryableByName)]
struct Id {
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    id: i64,
}

/// Does it to all that the filter means and that allow it. What becomes final or is accepted while it goes on is left
/// alone. A dry run only counts.
pub fn apply_in_bulk(connection: &mut Connection, action: Action, filter: &Filter, dry_run: bool) -> Result<Bulk> {
    let dialect = connection.dialect();
    let before = match filter.before {
        Some(before) => before,
        None => nodes::clock(connection)?,
    };
    let filter = Filter { before: Some(before), ..filter.clone() };
    if dry_run {
        return count(connection, action, &filter, before);
    }
    let mut bulk = Bulk { matched: 0, changed: 0, left_out: 0, before };
    let mut last = i64::MIN;
    loop {
        let statement = Statement::new("SELECT e.id FROM soloist_entries e WHERE e.id > ?").bind(last);
        let statement = filter.add_to(statement, dialect).text(" ORDER BY e.id LIMIT ?").bind(CHUNK);
        let ids: Vec<i64> = connection.load::<Id>(statement)?.into_iter().map(|row| row.id).collect();
        let Some(&newest) = ids.last() else { break };
        let changed = apply(connection, action, &ids)?;
        bulk.matched += count_of(&ids);
        bulk.changed += count_of(&changed);
        last = newest;
    }
    bulk.left_out = bulk.matched - bulk.changed;
    Ok(bulk)
}

fn count_of(ids: &[i64]) -> i64 {
    i64::try_from(ids.len()).unwrap_or(i64::MAX)
}

fn count(connection: &mut Connection, action: Action, filter: &Filter, before: Micros) -> Result<Bulk> {
    let dialect = connection.dialect();
    let all = Statement::new("SELECT count(*) AS n FROM soloist_entries e WHERE 1 = 1");
    let matched = connection.number(filter.add_to(all, dialect))?;
    let states: Vec<_> = action.from_states().iter().map(|state| format!("'{}'", state.word())).collect();
    let sql = format!("SELECT count(*) AS n FROM soloist_entries e WHERE e.state IN ({})", states.join(", "));
    let allowing = connection.number(filter.add_to(Statement::new(sql), dialect))?;
    Ok(Bulk { matched, changed: 0, left_out: matched - allowing, before })
}
