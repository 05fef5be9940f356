//! Bringing claimed entries to what became of them: completed, failed, back to pending.
//!
//! Every write here is fenced: it takes effect only while `claim` and `state = 'running'` stand, in one statement or
//! one transaction with the write. What is no longer ours is left alone and told to the caller.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use diesel::QueryableByName;
use diesel::sql_types::BigInt;
use serde_json::json;

use super::connection::Connection;
use super::dialect::{ColumnKind, Dialect};
use super::source::{Mark, TableSource};
use super::statement::Statement;
use crate::error::Result;
use crate::model::time::{Micros, micros};

/// What is to be written of one claimed entry.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// The work is done.
    Completed {
        /// What the handler said.
        output: Option<String>,
    },
    /// There was nothing to do: the row is gone or no longer pending.
    Unneeded,
    /// Another attempt after this wait.
    Retry {
        /// From now.
        after: Duration,
        /// Why it did not work.
        error: String,
        /// What the handler said.
        output: Option<String>,
        /// What the attempt is called in its record: `failed`, `timed_out`, `panicked` or `lost`.
        outcome: &'static str,
    },
    /// Failed for good.
    Failed {
        /// Why.
        error: String,
        /// What the handler said.
        output: Option<String>,
    },
    /// Back to pending at once, the attempt not counted.
    HandedBack,
}

/// One claimed entry and what is to be written of it.
#[derive(Debug, Clone)]
pub struct Settlement {
    /// The entry.
    pub id: i64,
    /// The claim under which it was worked.
    pub claim: i64,
    /// Its attempt.
    pub attempt: i32,
    /// Its key, if its row is to be marked.
    pub source_key: Option<String>,
    /// What the source's `version` column held at the claim.
    pub source_version: Option<String>,
    /// When the attempt started.
    pub started_at: Option<Micros>,
    /// What is to be written.
    pub verdict: Verdict,
    /// True if the claim's attempt is taken back although the entry ends.
    pub uncounted: bool,
    /// False if no record of the attempt is to be made.
    pub recorded: bool,
}

impl Settlement {
    /// A settlement of an entry that stands for no row.
    pub fn new(id: i64, claim: i64, attempt: i32, verdict: Verdict) -> Self {
        Self {
            id,
            claim,
            attempt,
            source_key: None,
            source_version: None,
            started_at: None,
            verdict,
            uncounted: false,
            recorded: true,
        }
    }

    /// True if one statement with nothing but ids can write it.
    fn is_plain(&self) -> bool {
        self.verdict == Verdict::Completed { output: None } && self.attempt == 1 && self.source_key.is_none()
    }
}

/// What holds for all settlements of one call: they are of one task.
pub struct Context<'a> {
    /// The node that worked them; for the record of attempts.
    pub node_id: i64,
    /// Where rows are marked.
    pub source: Option<&'a TableSource>,
    /// True if a completed entry is deleted at its end.
    pub drop_completed: bool,
    /// True if a failed entry is deleted at its end.
    pub drop_failed: bool,
}

impl Context<'_> {
    /// Without source, everything kept.
    pub fn ending(node_id: i64) -> Self {
        Self { node_id, source: None, drop_completed: false, drop_failed: false }
    }
}

/// What became of a call of [`settle`].
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Settled {
    /// Claims that no longer stood: nothing was written of them.
    pub lost: Vec<i64>,
    /// Entries whose write-back the database refused, with its words: failed for good.
    pub refused: Vec<(i64, String)>,
}

/// Writes what became of claimed entries of one task.
pub fn settle(connection: &mut Connection, context: &Context<'_>, settlements: &[Settlement]) -> Result<Settled> {
    let mut settled = Settled::default();
    let (plain, rest): (Vec<_>, Vec<_>) = settlements.iter().partition(|settlement| settlement.is_plain());
    let mut by_claim: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    for settlement in plain {
        by_claim.entry(settlement.claim).or_default().push(settlement.id);
    }
    for (claim, ids) in by_claim {
        complete(connection, context, claim, &ids, &mut settled)?;
    }
    if !rest.is_empty() {
        connection.transaction(|connection| settle_each(connection, context, &rest, &mut settled))?;
    }
    Ok(settled)
}

/// The hot path: first attempts that completed with nothing to say, one statement for all that share a claim number.
fn complete(
    connection: &mut Connection,
    context: &Context<'_>,
    claim: i64,
    ids: &[i64],
    settled: &mut Settled,
) -> Result<()> {
    let dialect = connection.dialect();
    let fence = if crate::testing::broken("no_fence") { "? IS NOT NULL" } else { "claim = ? AND state = 'running'" };
    let changed = if context.drop_completed {
        let sql = dialect.delete_ids("soloist_entries", "id", fence);
        connection.execute(Statement::new(sql).bind(dialect.ids(ids)).bind(claim))?
    } else {
        let set = "state = 'completed', finished_at = {now}, error = NULL, lease_until = NULL, \
                   key_held = CASE WHEN dedupe_key IS NULL THEN key_held ELSE 0 END";
        let sql = dialect.sql(&dialect.update_ids(set, fence));
        connection.execute(Statement::new(sql).bind(dialect.ids(ids)).bind(claim))?
    };
    if changed < ids.len() {
        // Which ones does not matter to the database; the caller counts them.
        settled.lost.extend_from_slice(&ids[..ids.len() - changed]);
    }
    Ok(())
}

fn settle_each(
    connection: &mut Connection,
    context: &Context<'_>,
    settlements: &[&Settlement],
    settled: &mut Settled,
) -> Result<()> {
    let held = hold(connection, settlements)?;
    let mut standing = Vec::with_capacity(settlements.len());
    for &settlement in settlements {
        if held.get(&settlement.id) == Some(&settlement.claim) || crate::testing::broken("no_fence") {
            standing.push(settlement.clone());
        } else {
            settled.lost.push(settlement.id);
        }
    }
    if standing.is_empty() {
        return Ok(());
    }
    if let Some(source) = context.source {
        write_back(connection, source, &mut standing, settled)?;
    }
    write(connection, &standing)?;
    record(connection, context, &standing)?;
    drop_ended(connection, context, &standing)
}

#[derive(QueryableByName)]
struct Held {
    #[diesel(sql_type = BigInt)]
    id: i64,
    #[diesel(sql_type = BigInt)]
    claim: i64,
}

/// Locks the entries that are still running and reads their claims: until the transaction ends nobody can take them.
fn hold(connection: &mut Connection, settlements: &[&Settlement]) -> Result<HashMap<i64, i64>> {
    let dialect = connection.dialect();
    let mut ids: Vec<_> = settlements.iter().map(|settlement| settlement.id).collect();
    ids.sort_unstable();
    let sql = dialect.lock_ids("id, claim", "state = 'running'");
    let rows: Vec<Held> = connection.load(Statement::new(sql).bind(dialect.ids(&ids)))?;
    Ok(rows.into_iter().map(|row| (row.id, row.claim)).collect())
}

/// Marks the users' rows; what the database refuses turns into a failure for good, in its words.
fn write_back(
    connection: &mut Connection,
    source: &TableSource,
    standing: &mut [Settlement],
    settled: &mut Settled,
) -> Result<()> {
    let marks = |standing: &[Settlement], done: bool| -> Vec<Mark> {
        let wanted = standing.iter().filter(|settlement| match settlement.verdict {
            Verdict::Completed { .. } => done,
            Verdict::Failed { .. } => !done,
            _ => false,
        });
        wanted
            .filter_map(|settlement| {
                Some(Mark {
                    id: settlement.id,
                    key: settlement.source_key.clone()?,
                    attempt: settlement.attempt,
                    version: settlement.source_version.clone(),
                    error: match &settlement.verdict {
                        Verdict::Failed { error, .. } => Some(error.clone()),
                        _ => None,
                    },
                })
            })
            .collect()
    };
    let done = marks(standing, true);
    if !done.is_empty() {
        let refused: HashMap<_, _> = source.mark_done(connection, &done)?.into_iter().collect();
        for settlement in standing.iter_mut() {
            if let Some(words) = refused.get(&settlement.id) {
                let error = format!("the work is done, but its row could not be marked: {words}");
                settlement.verdict = Verdict::Failed { error, output: None };
                settled.refused.push((settlement.id, words.clone()));
            }
        }
    }
    let refused_done: HashSet<_> = settled.refused.iter().map(|(id, _)| *id).collect();
    let failed: Vec<_> = marks(standing, false).into_iter().filter(|mark| !refused_done.contains(&mark.id)).collect();
    if !failed.is_empty() {
        for (id, words) in source.mark_failed(connection, &failed)? {
            if let Some(settlement) = standing.iter_mut().find(|settlement| settlement.id == id)
                && let Verdict::Failed { error, .. } = &mut settlement.verdict
            {
                error.push_str(&format!(" (and its row could not be marked: {words})"));
            }
            settled.refused.push((id, words));
        }
    }
    Ok(())
}

/// All entries in one statement, whatever became of each.
fn write(connection: &mut Connection, standing: &[Settlement]) -> Result<()> {
    const COLUMNS: [(&str, ColumnKind); 8] = [
        ("id", ColumnKind::Integer),
        ("claim", ColumnKind::Integer),
        ("state", ColumnKind::Text),
        ("after", ColumnKind::Integer),
        ("back", ColumnKind::Integer),
        ("error", ColumnKind::Text),
        ("output", ColumnKind::Text),
        ("frees", ColumnKind::Integer),
    ];
    const SET: [(&str, &str); 9] = [
        ("state", "o.state"),
        ("run_at", "CASE WHEN o.after IS NULL THEN e.run_at ELSE {now} + o.after END"),
        ("attempt", "e.attempt - o.back"),
        ("node_id", "CASE WHEN o.state = 'pending' THEN NULL ELSE e.node_id END"),
        ("lease_until", "NULL"),
        ("finished_at", "CASE WHEN o.state = 'pending' THEN NULL ELSE {now} END"),
        ("key_held", "CASE WHEN o.frees > e.source AND e.dedupe_key IS NOT NULL THEN 0 ELSE e.key_held END"),
        ("error", "CASE WHEN o.state = 'pending' AND o.error IS NULL THEN e.error ELSE o.error END"),
        ("output", "o.output"),
    ];
    let rows: Vec<_> = standing
        .iter()
        .map(|settlement| {
            // A source's key is freed by completion alone: 2 frees any, 1 frees those that stand for no row.
            let (state, after, error, output, frees) = match &settlement.verdict {
                Verdict::Completed { output } => ("completed", None, None, output.as_ref(), 2),
                Verdict::Unneeded => ("completed", None, None, None, 2),
                Verdict::Retry { after, error, output, .. } => {
                    ("pending", Some(micros(*after)), Some(error), output.as_ref(), 0)
                }
                Verdict::Failed { error, output } => ("failed", None, Some(error), output.as_ref(), 1),
                Verdict::HandedBack => ("pending", None, None, None, 0),
            };
            let back = i32::from(settlement.uncounted || settlement.verdict == Verdict::HandedBack);
            json!({ "id": settlement.id, "claim": settlement.claim, "state": state, "after": after, "back": back,
                    "error": error, "output": output, "frees": frees })
        })
        .collect();
    let dialect = connection.dialect();
    let fence = if crate::testing::broken("no_fence") { "1 = 1" } else { "e.claim = o.claim AND e.state = 'running'" };
    let sql = dialect.sql(&dialect.update_from_json(&COLUMNS, &SET, fence));
    connection.execute(Statement::new(sql).bind(serde_json::Value::Array(rows).to_string()))?;
    Ok(())
}

/// One record for each attempt that had something to say: none for a first success.
fn record(connection: &mut Connection, context: &Context<'_>, standing: &[Settlement]) -> Result<()> {
    let attempts: Vec<_> = standing
        .iter()
        .filter(|settlement| settlement.recorded)
        .filter_map(|settlement| {
            let (outcome, error, output) = match &settlement.verdict {
                Verdict::Completed { output } if settlement.attempt > 1 => ("completed", None, output.as_ref()),
                Verdict::Retry { error, output, outcome, .. } => (*outcome, Some(error), output.as_ref()),
                Verdict::Failed { error, output } => ("failed", Some(error), output.as_ref()),
                Verdict::Completed { .. } | Verdict::Unneeded | Verdict::HandedBack => return None,
            };
            Some(super::attempts::NewAttempt {
                entry_id: settlement.id,
                claim: settlement.claim,
                attempt: settlement.attempt,
                node_id: context.node_id,
                started_at: settlement.started_at,
                outcome,
                error: error.map(String::as_str),
                output: output.map(String::as_str),
            })
        })
        .collect();
    super::attempts::insert(connection, &attempts)
}

/// Deletes what is not kept at all.
fn drop_ended(connection: &mut Connection, context: &Context<'_>, standing: &[Settlement]) -> Result<()> {
    let ids: Vec<_> = standing
        .iter()
        .filter(|settlement| match settlement.verdict {
            Verdict::Completed { .. } | Verdict::Unneeded => context.drop_completed,
            Verdict::Failed { .. } => context.drop_failed,
            Verdict::Retry { .. } | Verdict::HandedBack => false,
        })
        .map(|settlement| settlement.id)
        .collect();
    if ids.is_empty() {
        return Ok(());
    }
    let dialect = connection.dialect();
    for (table, column) in [("soloist_entries", "id"), ("soloist_attempts", "entry_id")] {
        let sql = dialect.delete_ids(table, column, "1 = 1");
        connection.execute(Statement::new(sql).bind(dialect.ids(&ids)))?;
    }
    Ok(())
}

/// What the database holds as claimed by this node: entry and claim number.
pub fn running(connection: &mut Connection, node_id: i64) -> Result<Vec<(i64, i64)>> {
    let condition = match connection.dialect() {
        Dialect::Sqlite | Dialect::Postgres => "node_id = ? AND finished_at IS NULL",
        Dialect::Mysql => "node_id = ? AND state = 'running'",
    };
    let sql = format!("SELECT id, claim FROM soloist_entries WHERE {condition}");
    let rows: Vec<Held> = connection.load(Statement::new(sql).bind(node_id))?;
    Ok(rows.into_iter().map(|row| (row.id, row.claim)).collect())
}
