//! What an action on many would come to: counted with the same look at the same entries, and changing nothing.

use std::collections::HashSet;
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};

use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Nullable, Text};

use super::action::Action;
use super::filter::Filter;
use super::holders::holder_of_e;
use super::span::{Span, look};
use crate::error::Result;
use crate::store::connection::Connection;
use crate::store::tasks::limits;

/// A dry run, under way.
#[derive(Debug, Default)]
pub(super) struct DryRun {
    /// Keys that newer entries would take; their digests, since there may be a great many.
    taken: HashSet<u64>,
}

/// What one step counted.
#[derive(QueryableByName)]
pub(super) struct Counted {
    #[diesel(sql_type = BigInt)]
    pub matched: i64,
    #[diesel(sql_type = BigInt)]
    pub left_out: i64,
}

#[derive(QueryableByName)]
struct Taker {
    #[diesel(sql_type = BigInt)]
    id: i64,
    #[diesel(sql_type = Text)]
    task: String,
    #[diesel(sql_type = Text)]
    dedupe_key: String,
    #[diesel(sql_type = Nullable<BigInt>)]
    holder: Option<i64>,
}

impl DryRun {
    /// Counts one span; and below which id to go on.
    pub(super) fn step(
        &mut self,
        connection: &mut Connection,
        action: Action,
        filter: &Filter,
        below: i64,
    ) -> Result<(Counted, Option<i64>)> {
        let dialect = connection.dialect();
        let found = look(connection, filter, below)?;
        let states: Vec<_> = action.from_states().iter().map(|state| format!("'{}'", state.word())).collect();
        let states = states.join(", ");
        let columns = format!("count(*) AS matched, count(CASE WHEN e.state NOT IN ({states}) THEN 1 END) AS left_out");
        let count = filter.add_to(found.span.select(dialect, &columns), dialect);
        let mut counted = connection.first(count)?.unwrap_or(Counted { matched: 0, left_out: 0 });
        if action == Action::Retry && counted.matched > counted.left_out {
            counted.left_out += self.key_taken(connection, filter, &found.span, &states)?;
        }
        Ok((counted, found.rest))
    }

    /// How many could not have their keys again: an entry holds it, or a newer one takes it.
    fn key_taken(&mut self, connection: &mut Connection, filter: &Filter, span: &Span, states: &str) -> Result<i64> {
        let dialect = connection.dialect();
        let columns = format!("e.id, e.task, e.dedupe_key, {} AS holder", holder_of_e(dialect));
        let select = filter.add_to(span.select(dialect, &columns), dialect);
        let select =
            select.text(&format!(" AND e.dedupe_key IS NOT NULL AND e.key_held = 0 AND e.state IN ({states})"));
        let mut takers: Vec<Taker> = connection.load(select)?;
        takers.sort_unstable_by_key(|taker| -taker.id);
        let tasks: HashSet<_> = takers.iter().map(|taker| &*taker.task).collect();
        let free = limits::without_held_keys(connection, &tasks.into_iter().collect::<Vec<_>>())?;
        let hasher = BuildHasherDefault::<DefaultHasher>::default();
        let mut left = 0;
        for taker in takers.iter().filter(|taker| !free.contains(&taker.task)) {
            let digest = hasher.hash_one((&taker.task, &taker.dedupe_key));
            if taker.holder.is_some() || !self.taken.insert(digest) {
                left += 1;
            }
        }
        Ok(left)
    }
}
