//! SQLite's way of writing. Nothing here is newer than 3.38.

use super::{ColumnKind, Columns};

/// `unixepoch('subsec')` is younger than some libraries that read this schema; this form works everywhere.
pub(super) const NOW: &str = "(CAST((julianday('now') - 2440587.5) * 86400000.0 AS INTEGER) * 1000)";

pub(super) fn among(column: &str) -> String {
    format!("{column} IN (SELECT value FROM json_each(?))")
}

pub(super) fn rows_of_json(alias: &str, columns: Columns<'_>) -> String {
    let columns: Vec<_> = columns
        .iter()
        .map(|(name, kind)| {
            let kind = match kind {
                ColumnKind::Integer => "INTEGER",
                ColumnKind::Text => "TEXT",
            };
            format!("CAST(json_extract(value, '$.{name}') AS {kind}) AS {name}")
        })
        .collect();
    format!("(SELECT {} FROM json_each(?)) AS {alias}", columns.join(", "))
}
