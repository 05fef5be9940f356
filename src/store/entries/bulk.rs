//! One action on all entries that a filter means, in steps that each take a short transaction.

use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::act::attempt;
use super::action::Action;
use super::dry_run::DryRun;
use super::filter::Filter;
use super::span::{find, in_index_order};
use crate::error::Result;
use crate::model::By;
use crate::model::entry;
use crate::model::time::{self, Micros};
use crate::store::audit::{self, Subject};
use crate::store::connection::Connection;
use crate::store::nodes;

/// Entries of one transaction.
const CHUNK: usize = 1000;

/// Ids that the audit log names; of more it says how many.
const NAMED: usize = 100;

/// What an action on many came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Bulk {
    /// Entries that the filter means.
    pub matched: i64,
    /// Entries that were changed; none in a dry run.
    pub changed: i64,
    /// Entries that do not allow the action: in another state, or another holds their key.
    pub left_out: i64,
    /// What became final, or else was accepted, after this instant was not looked at; given again, the same are meant.
    #[serde(serialize_with = "entry::required_time")]
    #[schema(value_type = String, format = DateTime)]
    pub before: Micros,
}

/// An action on many, under way.
#[derive(Debug)]
pub struct BulkRun {
    action: Action,
    filter: Filter,
    by: By,
    /// Where it goes on; nothing once it is through.
    below: Option<i64>,
    so_far: Bulk,
    dry: Option<DryRun>,
    /// Its line in the audit log.
    line: Option<i64>,
}

/// Does it to all that the filter means and that allow it. A dry run only counts.
pub fn apply_in_bulk(
    connection: &mut Connection,
    action: Action,
    filter: &Filter,
    dry_run: bool,
    by: &By,
) -> Result<Bulk> {
    let mut run = BulkRun::begin(connection, action, filter, dry_run, by)?;
    while run.step(connection)? {}
    Ok(run.so_far)
}

impl BulkRun {
    /// What is meant is settled now: what becomes final or is accepted later is left alone.
    pub fn begin(connection: &mut Connection, action: Action, filter: &Filter, dry_run: bool, by: &By) -> Result<Self> {
        filter.check_for(action)?;
        let now = nodes::clock(connection)?;
        let filter = filter.at(now);
        let so_far = Bulk { matched: 0, changed: 0, left_out: 0, before: filter.before.unwrap_or(now) };
        let dry = dry_run.then(DryRun::default);
        Ok(Self { action, filter, by: by.clone(), below: Some(i64::MAX), so_far, dry, line: None })
    }

    /// A step; true if there may be more to do.
    pub fn step(&mut self, connection: &mut Connection) -> Result<bool> {
        let Some(below) = self.below else { return Ok(false) };
        self.below = if let Some(dry) = &mut self.dry {
            let step = |connection: &mut Connection| dry.step(connection, self.action, &self.filter, below);
            let (counted, rest) = in_index_order(connection, step)?;
            self.so_far.matched += counted.matched;
            self.so_far.left_out += counted.left_out;
            rest
        } else {
            let (ids, rest) = find(connection, &self.filter, CHUNK, below)?;
            if !ids.is_empty() {
                self.change(connection, &ids)?;
            }
            rest
        };
        Ok(self.below.is_some())
    }

    /// What it has come to.
    pub fn so_far(&self) -> &Bulk {
        &self.so_far
    }

    fn change(&mut self, connection: &mut Connection, ids: &[i64]) -> Result<()> {
        let (done, line) =
            attempt(connection, self.action, ids, Some(&self.filter), |connection, matched, changed| {
                let done = self.so_far.plus(matched, changed.len());
                Ok((done.clone(), self.record(connection, &done)?))
            })?
            .1;
        (self.so_far, self.line) = (done, line);
        Ok(())
    }

    /// One line for the whole run, begun with its first change.
    fn record(&self, connection: &mut Connection, done: &Bulk) -> Result<Option<i64>> {
        let detail = json!({
            "filter": self.filter_in_words(), "before": time::rfc3339(done.before),
            "matched": done.matched, "changed": done.changed, "left_out": done.left_out,
        });
        match self.line {
            Some(line) => audit::amend(connection, line, &detail).map(|()| Some(line)),
            None if done.changed == 0 => Ok(None),
            None => {
                let action = format!("bulk-{}", self.action.word());
                audit::write(connection, &self.by, &action, Subject::Entries, &detail)
            }
        }
    }

    fn filter_in_words(&self) -> Value {
        let Filter { ids, task, state, key, error, schedule, before: _, older_than: _ } = &self.filter;
        let ids = ids.as_ref().map(|ids| if ids.len() > NAMED { json!(ids.len()) } else { json!(ids) });
        let given = [
            ("ids", ids),
            ("task", task.as_ref().map(|text| json!(text))),
            ("state", state.map(|state| json!(state.word()))),
            ("key", key.as_ref().map(|text| json!(text))),
            ("error", error.as_ref().map(|text| json!(text))),
            ("schedule", schedule.as_ref().map(|text| json!(text))),
        ];
        given.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }
}

impl Bulk {
    fn plus(&self, matched: usize, changed: usize) -> Self {
        let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        let (matched, changed) = (self.matched + count(matched), self.changed + count(changed));
        Self { matched, changed, left_out: matched - changed, before: self.before }
    }
}
