//! Reads firings as people see them, with what became of their work.

use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Integer, Nullable, Text};
use serde::Serialize;
use utoipa::ToSchema;

use crate::error::Result;
use crate::model::entry;
use crate::model::time::Micros;
use crate::store::connection::Connection;
use crate::store::statement::Statement;

/// A firing, or a run of due times that did not fire.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Firing)]
pub struct FiringShape {
    /// 64-bit, grows.
    pub id: i64,
    /// Whose.
    pub schedule: String,
    /// The due time; of a run the first.
    #[serde(serialize_with = "entry::required_time")]
    #[schema(value_type = String, format = DateTime)]
    pub scheduled_for: Micros,
    /// When it fired.
    #[serde(serialize_with = "entry::optional_time")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub fired_at: Option<Micros>,
    /// How late that was, in milliseconds.
    pub late_ms: Option<f64>,
    /// `fired`, `skipped` or `missed`.
    pub outcome: String,
    /// The entry that it made.
    pub entry_id: Option<i64>,
    /// The sweep that it made.
    pub sweep_id: Option<i64>,
    /// The node that decided.
    pub node: Option<String>,
    /// Why it did not fire, or who fired it.
    pub reason: Option<String>,
    /// What became of its work, once that has ended.
    pub result: Option<String>,
    /// When its work ended.
    #[serde(serialize_with = "entry::optional_time")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub ended_at: Option<Micros>,
    /// Attempts of its work so far.
    pub attempts: Option<i32>,
    /// Of a run: the last due time.
    #[serde(serialize_with = "entry::optional_time")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub until: Option<Micros>,
    /// Of a run: how many due times.
    pub count: Option<i64>,
}

#[derive(QueryableByName)]
struct Row {
    #[diesel(sql_type = BigInt)]
    id: i64,
    #[diesel(sql_type = Text)]
    schedule: String,
    #[diesel(sql_type = BigInt)]
    scheduled_for: i64,
    #[diesel(sql_type = BigInt)]
    decided_at: i64,
    #[diesel(sql_type = Text)]
    outcome: String,
    #[diesel(sql_type = Nullable<Text>)]
    reason: Option<String>,
    #[diesel(sql_type = Nullable<BigInt>)]
    run_until: Option<i64>,
    #[diesel(sql_type = Nullable<BigInt>)]
    run_count: Option<i64>,
    #[diesel(sql_type = Nullable<Text>)]
    node: Option<String>,
    #[diesel(sql_type = Nullable<BigInt>)]
    entry_id: Option<i64>,
    #[diesel(sql_type = Nullable<BigInt>)]
    sweep_id: Option<i64>,
    #[diesel(sql_type = Nullable<Text>)]
    result: Option<String>,
    #[diesel(sql_type = Nullable<BigInt>)]
    ended_at: Option<i64>,
    #[diesel(sql_type = Nullable<Integer>)]
    attempts: Option<i32>,
}

/// Firings, newest first, at most `limit`: of one schedule those due before `before`, or of all those whose id is smaller.
pub fn list(
    connection: &mut Connection,
    schedule: Option<&str>,
    before: Option<i64>,
    limit: usize,
) -> Result<Vec<FiringShape>> {
    let select = "SELECT f.id, f.schedule, f.scheduled_for, f.decided_at, f.outcome, f.reason, f.run_until, \
         f.run_count, f.node, f.entry_id, f.sweep_id, \
         COALESCE(f.result, CASE WHEN e.finished_at IS NOT NULL THEN e.state END, \
         CASE WHEN s.finished_at IS NOT NULL THEN 'completed' END) AS result, \
         COALESCE(f.ended_at, e.finished_at, s.finished_at) AS ended_at, \
         COALESCE(f.attempts, e.attempt) AS attempts FROM soloist_firings f \
         LEFT JOIN soloist_entries e ON e.id = f.entry_id LEFT JOIN soloist_sweeps s ON s.id = f.sweep_id \
         WHERE ";
    let (before, limit) = (before.unwrap_or(i64::MAX), i64::try_from(limit).unwrap_or(i64::MAX));
    let statement = match schedule {
        Some(schedule) => Statement::new(select)
            .text("f.schedule = ? AND f.scheduled_for < ? ORDER BY f.scheduled_for DESC LIMIT ?")
            .bind(schedule),
        None => Statement::new(select).text("f.id < ? ORDER BY f.id DESC LIMIT ?"),
    };
    let rows: Vec<Row> = connection.load(statement.bind(before).bind(limit))?;
    Ok(rows.into_iter().map(shape).collect())
}

fn shape(row: Row) -> FiringShape {
    let fired_at = (row.outcome == "fired").then_some(row.decided_at);
    FiringShape {
        id: row.id,
        schedule: row.schedule,
        scheduled_for: row.scheduled_for,
        fired_at,
        #[allow(clippy::cast_precision_loss)] // milliseconds of what one looks at
        late_ms: fired_at.map(|at| (at - row.scheduled_for) as f64 / 1000.0),
        outcome: row.outcome,
        entry_id: row.entry_id,
        sweep_id: row.sweep_id,
        node: row.node,
        reason: row.reason,
        result: row.result,
        ended_at: row.ended_at,
        attempts: row.attempts,
        until: row.run_until,
        count: row.run_count,
    }
}
