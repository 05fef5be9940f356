//! PostgreSQL's way of writing.

use super::{ColumnKind, Columns};

/// Stable within a statement, so that an index can serve a comparison with it; `clock_timestamp()` is not, and
/// `now()` is the start of the transaction.
pub(super) const NOW: &str = "(floor(extract(epoch from statement_timestamp()) * 1000000)::bigint)";

pub(super) fn rows_of_json(alias: &str, columns: Columns<'_>) -> String {
    let columns: Vec<_> = columns
        .iter()
        .map(|(name, kind)| {
            let kind = match kind {
                ColumnKind::Integer => "bigint",
                ColumnKind::Text => "text",
            };
            format!("{name} {kind}")
        })
        .collect();
    format!("json_to_recordset(?::json) AS {alias}({})", columns.join(", "))
}
