//! The statements that write settlements: one for all entries, one for the record of their attempts.

use serde_json::json;

use super::{Context, Settlement, Verdict};
use crate::error::Result;
use crate::model::time::micros;
use crate::store::attempts;
use crate::store::connection::Connection;
use crate::store::dialect::ColumnKind;
use crate::store::statement::Statement;

/// All entries in one statement, whatever became of each.
pub(super) fn write(connection: &mut Connection, standing: &[Settlement]) -> Result<()> {
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
            let mut row = json!({ "id": settlement.id, "claim": settlement.claim, "state": state, "back": back,
                                  "frees": frees });
            // A null would become the text 'null' on MySQL before 8.0.21; what is not there is NULL everywhere.
            if let Some(after) = after {
                row["after"] = after.into();
            }
            for (name, text) in [("error", error), ("output", output)] {
                if let Some(text) = text {
                    row[name] = text.as_str().into();
                }
            }
            row
        })
        .collect();
    let dialect = connection.dialect();
    let fence = if super::is_fence_broken() { "1 = 1" } else { "e.claim = o.claim AND e.state = 'running'" };
    let sql = dialect.sql(&dialect.update_from_json(&COLUMNS, &SET, fence));
    connection.execute(Statement::new(sql).bind(serde_json::Value::Array(rows).to_string()))?;
    Ok(())
}

/// One record for each attempt that had something to say: none for a first success.
pub(super) fn record(connection: &mut Connection, context: &Context<'_>, standing: &[Settlement]) -> Result<()> {
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
            Some(attempts::NewAttempt {
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
    attempts::insert(connection, &attempts)
}
