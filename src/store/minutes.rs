//! Sums per task, node and minute: `soloist_minutes`.

use serde_json::json;

use super::connection::Connection;
use super::dialect::ColumnKind;
use super::statement::Statement;
use crate::error::Result;
use crate::model::sums::Sums;
use crate::model::time::Micros;

/// Writes a process's totals of these minutes over what it wrote of them before.
pub fn write(connection: &mut Connection, node_id: i64, totals: &[(Micros, String, Sums)]) -> Result<()> {
    const COLUMNS: [(&str, ColumnKind); 8] = [
        ("starts_at", ColumnKind::Integer),
        ("task", ColumnKind::Text),
        ("started", ColumnKind::Integer),
        ("completed", ColumnKind::Integer),
        ("retried", ColumnKind::Integer),
        ("failed", ColumnKind::Integer),
        ("waits", ColumnKind::Text),
        ("runs", ColumnKind::Text),
    ];
    if totals.is_empty() {
        return Ok(());
    }
    let buckets = |counts: &[i64]| counts.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
    let rows: Vec<_> = totals
        .iter()
        .map(|(minute, task, sums)| {
            json!({ "starts_at": minute, "task": task, "started": sums.started, "completed": sums.completed,
                    "retried": sums.retried, "failed": sums.failed, "waits": buckets(&sums.waits),
                    "runs": buckets(&sums.runs) })
        })
        .collect();
    let dialect = connection.dialect();
    // `WHERE 1 = 1`: without it SQLite takes the ON of the upsert for that of a join.
    let sql = format!(
        "INSERT INTO soloist_minutes \
         (starts_at, span, task, node_id, started, completed, retried, failed, waits, runs) \
         SELECT o.starts_at, 60, o.task, ?, o.started, o.completed, o.retried, o.failed, o.waits, o.runs \
         FROM {} WHERE 1 = 1{}",
        dialect.rows_of_json("o", &COLUMNS),
        dialect.or_update(
            "span, starts_at, task, node_id",
            &["started", "completed", "retried", "failed", "waits", "runs"]
        )
    );
    connection.execute(Statement::new(sql).bind(node_id).bind(serde_json::Value::Array(rows).to_string())).map(|_| ())
}
