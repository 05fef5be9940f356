//! The way of writing that MySQL 8.0.16 and MariaDB 10.6 share.

use super::{ColumnKind, Columns};

/// `UTC_TIMESTAMP` does not depend on the session's zone; the `UNIX_TIMESTAMP` forms are an hour off where it repeats.
pub(super) const NOW: &str = "(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)))";

fn integers(alias: &str) -> String {
    format!("JSON_TABLE(?, '$[*]' COLUMNS (value BIGINT PATH '$')) AS {alias}")
}

pub(super) fn rows_of_texts(alias: &str) -> String {
    // Compared with columns of our own, which are all utf8mb4_bin; the session's collation may be another. As long as
    // those are: with more than 512 characters MariaDB would put each such table on disk.
    format!(
        "(SELECT value COLLATE utf8mb4_bin AS value FROM JSON_TABLE(?, '$[*]' COLUMNS (value VARCHAR(255) CHARACTER \
         SET utf8mb4 PATH '$')) AS {alias}_texts) AS {alias}"
    )
}

pub(super) fn among_integers(column: &str) -> String {
    format!("{column} IN (SELECT value FROM {})", integers("ids"))
}

pub(super) fn among_texts(column: &str) -> String {
    format!("{column} IN (SELECT value FROM {})", rows_of_texts("among"))
}

/// A join, since neither server turns the `IN` of an `UPDATE` into a look-up by key in all versions.
pub(super) fn update_ids(set: &str, condition: &str) -> String {
    format!(
        "UPDATE {} STRAIGHT_JOIN soloist_entries AS e FORCE INDEX (PRIMARY) ON e.id = ids.value SET {set} \
         WHERE {condition}",
        integers("ids")
    )
}

/// A join here too: MariaDB before 11.1 asks the `IN` of a `DELETE` anew for each row of the whole table.
pub(super) fn delete_ids(table: &str, column: &str, condition: &str) -> String {
    format!("DELETE e FROM {} STRAIGHT_JOIN {table} AS e ON e.{column} = ids.value WHERE {condition}", integers("ids"))
}

pub(super) fn lock_ids(columns: &str, condition: &str) -> String {
    format!(
        "SELECT {columns} FROM {} STRAIGHT_JOIN soloist_entries AS e FORCE INDEX (PRIMARY) ON e.id = ids.value \
         WHERE {condition} FOR UPDATE",
        integers("ids")
    )
}

pub(super) fn rows_of_json(alias: &str, columns: Columns<'_>) -> String {
    let columns: Vec<_> = columns
        .iter()
        .map(|(name, kind)| {
            let kind = match kind {
                ColumnKind::Integer => "BIGINT",
                ColumnKind::Text => "MEDIUMTEXT CHARACTER SET utf8mb4",
            };
            format!("{name} {kind} PATH '$.{name}'")
        })
        .collect();
    format!("JSON_TABLE(?, '$[*]' COLUMNS ({})) AS {alias}", columns.join(", "))
}
