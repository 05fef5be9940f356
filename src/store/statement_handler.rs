//! SQL handlers: a user's statement and the end of its entry in one transaction, so that its effect happens once.
//!
//! Either the entry was claimed before and is finished here under its fence, or it is claimed here too: then nothing is
//! ever seen running, other nodes pass over its locked row, and a crash takes all of it back.

mod explain;

use std::time::{Duration, Instant};

pub use explain::explain;

use serde_json::Value;

use super::claim::{self, Claimant};
use super::connection::Connection;
use super::dialect::Dialect;
use super::plan::TaskPlan;
use super::settle::judge::judge;
use super::settle::{self, Settlement, Verdict};
use super::source::TableSource;
use super::source::placeholders::{self, Piece};
use super::statement::{Bind, Statement};
use crate::config::{HandlerKind, Timeout};
use crate::error::{Error, Result};
use crate::model::sums::{End, Sample};
use crate::model::{Entry, Outcome};

/// What became of one claimed entry.
#[derive(Debug)]
pub enum Ran {
    /// The statement and the end of the entry are committed.
    Completed,
    /// The claim no longer stood: nothing is.
    Lost,
    /// The statement failed and was undone; what became of the entry is to be recorded.
    Undone(Outcome),
}

/// Runs the statement for an entry that was claimed before, and completes it in the same transaction.
pub fn run(connection: &mut Connection, plan: &TaskPlan, entry: &Entry) -> Result<Ran> {
    let settlement = completed(plan, entry);
    let result = connection.transaction(|connection| {
        bound(connection, plan)?;
        if let Err(outcome) = execute(connection, plan, entry)? {
            return Ok(Err(outcome));
        }
        let settled = settle::settle(connection, &plan.context(entry.node_id), std::slice::from_ref(&settlement))?;
        if settled.lost.is_empty() { Ok(Ok(())) } else { Err(Error::conflict("the claim no longer stands")) }
    });
    match result {
        Ok(Ok(())) => Ok(Ran::Completed),
        // The outer transaction was committed with nothing in it.
        Ok(Err(failure)) => Ok(Ran::Undone(failure)),
        Err(error) if error.is_conflict() => Ok(Ran::Lost),
        Err(error) => Err(error),
    }
}

/// What a transaction that claims, works and finishes has done.
#[derive(Debug, Default)]
pub struct Worked {
    /// One for each attempt.
    pub samples: Vec<Sample>,
    /// Entries that needed no call.
    pub settled: usize,
    /// True if more may be due.
    pub more: bool,
}

/// Claims, works and finishes up to `limit` entries in one transaction.
pub fn work(
    connection: &mut Connection,
    claimant: &Claimant,
    plan: &TaskPlan,
    priorities: &[i32],
    limit: usize,
) -> Result<Worked> {
    connection.transaction(|connection| {
        bound(connection, plan)?;
        let claimed = claim::claim(connection, claimant, &plan.request(limit), priorities)?;
        let mut worked = Worked {
            more: claimed.entries.len() + claimed.settled >= limit,
            settled: claimed.settled,
            samples: Vec::with_capacity(claimed.entries.len()),
        };
        let mut settlements = Vec::with_capacity(claimed.entries.len());
        for entry in &claimed.entries {
            let start = Instant::now();
            let settlement = match execute(connection, plan, entry)? {
                Ok(()) => completed(plan, entry),
                Err(outcome) => judge(plan, entry, outcome).settlement,
            };
            worked.samples.push(Sample {
                started_at: entry.started_at,
                wait: entry.started_at.saturating_sub(entry.run_at),
                run: crate::model::time::micros(start.elapsed()),
                end: match settlement.verdict {
                    Verdict::Completed { .. } => End::Completed,
                    Verdict::Failed { .. } => End::Failed,
                    _ => End::Retried,
                },
            });
            settlements.push(settlement);
        }
        let settled = settle::settle(connection, &plan.context(claimant.node_id), &settlements)?;
        // They are locked by this very transaction: if they are not ours, neither is what was done for them.
        if settled.lost.is_empty() { Ok(worked) } else { Err(Error::conflict("the transaction lost its claims")) }
    })
}

fn completed(plan: &TaskPlan, entry: &Entry) -> Settlement {
    judge(plan, entry, Outcome::completed()).settlement
}

/// Tells the server how long the statements of this transaction may take.
fn bound(connection: &mut Connection, plan: &TaskPlan) -> Result<()> {
    match (connection.dialect(), plan.config.timeout) {
        (Dialect::Postgres, Timeout::After(span)) => {
            // The server's largest is 24 days.
            let limit = span.as_millis().clamp(1, i32::MAX as u128);
            connection.batch(&format!("SET LOCAL statement_timeout = {limit}"))
        }
        (Dialect::Postgres, Timeout::None) => connection.batch("SET LOCAL statement_timeout = 0"),
        // On MySQL the setting is ignored by all but SELECT: the driver's own patience ends the statement. SQLite has none.
        (Dialect::Sqlite | Dialect::Mysql, _) => Ok(()),
    }
}

/// Runs the statement at a savepoint; a failure is undone and comes back as what became of the attempt. An `Err` further
/// up says that the whole transaction is gone, with the connection or by a deadlock: it costs no attempt, and nothing
/// may be done after it, since each statement would then commit by itself.
fn execute(connection: &mut Connection, plan: &TaskPlan, entry: &Entry) -> Result<std::result::Result<(), Outcome>> {
    let HandlerKind::Sql(sql) = &plan.config.handler else {
        return Ok(Err(Outcome::failed("this task has no SQL statement")));
    };
    let statement = match statement(sql, connection.dialect(), entry, plan.source.as_deref()) {
        Ok(statement) => statement,
        Err(why) => return Ok(Err(Outcome::failed(why))),
    };
    let patience = match plan.config.timeout {
        Timeout::After(span) => span,
        Timeout::None => Duration::from_secs(7 * 86_400),
    };
    let start = Instant::now();
    let result = connection.transaction(|connection| {
        connection.patiently(patience, |connection| connection.execute(statement).map(|_| ()))
    });
    match result {
        Ok(()) => Ok(Ok(())),
        // Entries share a transaction because Soloist says so: a deadlock between two of those is no entry's fault.
        Err(error) if connection.is_undone() || error.to_string().contains("deadlock") => Err(error),
        Err(_) if start.elapsed() >= patience => Ok(Err(Outcome::TimedOut { after: patience, output: None })),
        Err(error) => Ok(Err(Outcome::retry(error.to_string()))),
    }
}

/// The statement with the entry's values: `:entry_id`, `:key`, `:attempt` and the payload's top-level names.
fn statement(
    sql: &str,
    dialect: Dialect,
    entry: &Entry,
    source: Option<&TableSource>,
) -> std::result::Result<Statement, String> {
    let payload: Value = serde_json::from_str(entry.payload.get()).map_err(|error| error.to_string())?;
    let mut text = String::new();
    let mut binds = Vec::new();
    for piece in placeholders::parse(sql, dialect) {
        let name = match piece {
            Piece::Text(part) => {
                text.push_str(&super::statement::verbatim(&part));
                continue;
            }
            Piece::Name(name) => name,
        };
        let of_key = match (&entry.key, source) {
            (Some(key), Some(source)) if entry.from_source => source.key_parameter(key, &name),
            _ => None,
        };
        let bind = match (name.as_str(), of_key) {
            (_, Some((cast, bind))) => {
                text.push_str(&cast);
                binds.push(bind);
                continue;
            }
            ("entry_id", None) => Bind::from(entry.id),
            ("attempt", None) => Bind::from(entry.attempt),
            ("key", None) => Bind::from(entry.key.clone()),
            (name, None) => match payload.get(name) {
                // As a literal: a bind has a type, which might not be the column's.
                Some(Value::Null) => {
                    text.push_str("NULL");
                    continue;
                }
                Some(value) => of_json(value),
                None => return Err(format!("the statement names :{name}, which the payload does not have")),
            },
        };
        text.push('?');
        binds.push(bind);
    }
    Ok(binds.into_iter().fold(Statement::new(text), Statement::bind))
}

fn of_json(value: &Value) -> Bind {
    match value {
        Value::Null => Bind::Text(None),
        Value::Bool(value) => Bind::Boolean(*value),
        Value::Number(number) => match number.as_i64() {
            Some(integer) => Bind::Integer(Some(integer)),
            None => Bind::Double(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => Bind::Text(Some(text.clone())),
        Value::Array(_) | Value::Object(_) => Bind::Text(Some(value.to_string())),
    }
}
