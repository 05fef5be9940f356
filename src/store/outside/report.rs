//! What an outside worker says of its entry, and whether it still counts: decided under the entry's lock.

use std::sync::Arc;

use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Integer, Nullable, Text};

use crate::error::Result;
use crate::model::time::Micros;
use crate::model::{Backoff, State};
use crate::store::connection::Connection;
use crate::store::settle::{self, Context, Settlement, Verdict};
use crate::store::source::TableSource;
use crate::store::statement::Statement;

/// What a worker says.
#[derive(Debug, Clone, PartialEq)]
pub enum Report {
    /// The work is done.
    Completed {
        /// What there is to say, at most 1 KiB.
        output: Option<String>,
    },
    /// It did not work.
    Failed {
        /// Why.
        error: String,
        /// What there is to say, at most 16 KiB.
        output: Option<String>,
        /// False: for good.
        retry: bool,
    },
}

/// What a task says of the end of an entry.
#[derive(Debug, Clone)]
pub struct Terms {
    /// Attempts in all, where the entry does not say otherwise.
    pub max_attempts: i32,
    /// How long after a failure.
    pub backoff: Backoff,
    /// True if a completed entry is deleted at its end.
    pub drop_completed: bool,
    /// True if a failed entry is deleted at its end.
    pub drop_failed: bool,
    /// Where the entry's row is marked. `None` for a task with a source: its rows cannot be marked here.
    pub source: Option<Arc<TableSource>>,
}

/// What became of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reported {
    /// Written, now or before under the same claim: the state that it led to, and when a retry is due.
    Ended(State, Option<Micros>),
    /// The claim no longer stands; nothing was written. The state that the entry is in.
    Stale(State),
    /// There is no such entry.
    Missing,
    /// The entry stands for a row, and the source is not known here; nothing was written.
    NoSource,
}

#[derive(QueryableByName)]
struct Held {
    #[diesel(sql_type = Text)]
    task: String,
    #[diesel(sql_type = Text)]
    state: String,
    #[diesel(sql_type = BigInt)]
    claim: i64,
    #[diesel(sql_type = Nullable<BigInt>)]
    node_id: Option<i64>,
    #[diesel(sql_type = BigInt)]
    run_at: i64,
    #[diesel(sql_type = Integer)]
    attempt: i32,
    #[diesel(sql_type = Nullable<Integer>)]
    max_attempts: Option<i32>,
    #[diesel(sql_type = Nullable<BigInt>)]
    started_at: Option<i64>,
    #[diesel(sql_type = Nullable<Text>)]
    dedupe_key: Option<String>,
    #[diesel(sql_type = Integer)]
    source: i32,
    #[diesel(sql_type = Nullable<Text>)]
    source_version: Option<String>,
    #[diesel(sql_type = Nullable<BigInt>)]
    scheduled_for: Option<i64>,
    #[diesel(sql_type = Integer)]
    live: i32,
}

#[derive(QueryableByName)]
struct Written {
    #[diesel(sql_type = Text)]
    state: String,
    #[diesel(sql_type = BigInt)]
    run_at: i64,
}

/// Writes what a worker says of its entry, if its claim stands. `terms` are those of the entry's task.
pub fn report(
    connection: &mut Connection,
    id: i64,
    claim: i64,
    report: &Report,
    terms: impl FnOnce(&mut Connection, &str) -> Result<Terms>,
) -> Result<Reported> {
    connection.transaction(|connection| {
        let sql = connection.dialect().sql(&format!(
            "SELECT task, state, claim, node_id, run_at, attempt, max_attempts, started_at, dedupe_key, source, \
             source_version, scheduled_for, CASE WHEN lease_until > {{now}} THEN 1 ELSE 0 END AS live \
             FROM soloist_entries WHERE id = ?{}",
            connection.dialect().for_update()
        ));
        let Some(held) = connection.first::<Held>(Statement::new(sql).bind(id))? else { return Ok(Reported::Missing) };
        let state = State::parse(&held.state).unwrap_or(State::Pending);
        if held.claim != claim {
            return Ok(Reported::Stale(state));
        }
        if !(state == State::Running && held.node_id == Some(0) && held.live == 1) {
            let repeated = repeats(connection, id, &held, state, report)?;
            return Ok(if repeated { ended(state, held.run_at) } else { Reported::Stale(state) });
        }
        let terms = terms(connection, &held.task)?;
        if held.source == 1 && terms.source.is_none() {
            return Ok(Reported::NoSource);
        }
        let max_attempts = held.max_attempts.unwrap_or(terms.max_attempts);
        let verdict = verdict(report, &terms, held.attempt, max_attempts);
        let mut settlement = Settlement::new(id, claim, held.attempt, verdict);
        settlement.started_at = held.started_at;
        settlement.scheduled = held.scheduled_for.is_some();
        if held.source == 1 {
            settlement.source_key = held.dedupe_key;
            settlement.source_version = held.source_version;
        }
        let context = Context {
            source: terms.source.as_deref(),
            drop_completed: terms.drop_completed,
            drop_failed: terms.drop_failed,
            ..Context::ending(0)
        };
        let settled = settle::settle(connection, &context, &[settlement])?;
        if !settled.lost.is_empty() {
            return Ok(Reported::Stale(state));
        }
        let written = connection
            .first::<Written>(Statement::new("SELECT state, run_at FROM soloist_entries WHERE id = ?").bind(id))?;
        Ok(match written {
            Some(row) => ended(State::parse(&row.state).unwrap_or(state), row.run_at),
            // The task keeps nothing of what has ended so.
            None => match report {
                Report::Completed { .. } => Reported::Ended(State::Completed, None),
                Report::Failed { .. } => Reported::Ended(State::Failed, None),
            },
        })
    })
}

fn ended(state: State, run_at: Micros) -> Reported {
    Reported::Ended(state, (state == State::Pending).then_some(run_at))
}

fn verdict(report: &Report, terms: &Terms, attempt: i32, max_attempts: i32) -> Verdict {
    match report {
        Report::Completed { output } => Verdict::Completed { output: output.clone() },
        Report::Failed { error, output, retry } if *retry && attempt < max_attempts => Verdict::Retry {
            after: terms.backoff.wait(attempt, fastrand::f64()),
            error: error.clone(),
            output: output.clone(),
            outcome: "failed",
        },
        Report::Failed { error, output, .. } => Verdict::Failed { error: error.clone(), output: output.clone() },
    }
}

/// True if this very report has ended this very claim: whoever sends it again did not hear the answer.
fn repeats(connection: &mut Connection, id: i64, held: &Held, state: State, report: &Report) -> Result<bool> {
    match (report, state) {
        (Report::Completed { .. }, State::Completed) => Ok(held.node_id == Some(0)),
        (Report::Failed { .. }, State::Failed | State::Pending) => {
            let sql = "SELECT COUNT(*) AS n FROM soloist_attempts \
                       WHERE entry_id = ? AND claim = ? AND node_id = 0 AND outcome = 'failed'";
            Ok(connection.number(Statement::new(sql).bind(id).bind(held.claim))? > 0)
        }
        _ => Ok(false),
    }
}
