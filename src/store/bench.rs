//! What `soloist bench` leaves in the tables while it measures, and taking it away again.
//!
//! Everything of one run carries its mark in the name: tasks `soloist-bench-MARK.PART`, nodes `soloist-bench-MARK…`.

use std::collections::BTreeSet;
use std::time::Duration;

use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Nullable, Text};

use super::connection::Connection;
use super::statement::Statement;
use crate::error::Result;

/// What every name of a bench begins with.
pub const PREFIX: &str = "soloist-bench-";

/// The parts of a bench: each is a task.
pub const PARTS: [&str; 3] = ["start", "drain", "limit"];

/// A statement that changes nothing: what the SQL handler of a bench runs.
pub const NOTHING: &str = "SELECT 1";

/// Characters of a mark.
const MARK: usize = 8;

/// Entries deleted in one transaction.
const CHUNK: i64 = 10_000;

/// The name of the task that is one part of a bench.
pub fn task(mark: &str, part: &str) -> String {
    format!("{PREFIX}{mark}.{part}")
}

/// Marks of runs that left something and of which no node lives.
pub fn leftovers(connection: &mut Connection) -> Result<BTreeSet<String>> {
    #[derive(QueryableByName)]
    struct Found {
        #[diesel(sql_type = Text)]
        name: String,
        /// Of a living node: how long its lease still lasts.
        #[diesel(sql_type = Nullable<BigInt>)]
        lives_for: Option<i64>,
    }
    let sql = connection.dialect().sql(
        "SELECT name, CASE WHEN stopped_at IS NULL AND lease_until > {now} THEN lease_until - {now} END AS lives_for \
         FROM soloist_nodes WHERE name LIKE ? UNION ALL SELECT name, NULL FROM soloist_tasks WHERE name LIKE ?",
    );
    let like = format!("{PREFIX}%");
    let found: Vec<Found> = connection.load(Statement::new(sql).bind(like.as_str()).bind(like.as_str()))?;
    let marks =
        |live: bool| found.iter().filter(move |row| row.lives_for.is_some() == live).filter_map(|row| mark(&row.name));
    let living: BTreeSet<_> = marks(true).collect();
    Ok(marks(false).filter(|mark| !living.contains(mark)).map(str::to_owned).collect())
}

/// The mark in a name, if it is one that a bench gives.
fn mark(name: &str) -> Option<&str> {
    let rest = name.strip_prefix(PREFIX)?;
    let mark = rest.get(..MARK)?;
    let ends = matches!(rest.as_bytes().get(MARK), None | Some(b'.' | b'-'));
    (ends && mark.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(mark)
}

/// How many entries of a task are in none of the final states.
pub fn unfinished(connection: &mut Connection, task: &str) -> Result<i64> {
    // One question for each index.
    let sql = "SELECT (SELECT COUNT(*) FROM soloist_entries WHERE task = ? AND state = 'pending') + \
               (SELECT COUNT(*) FROM soloist_entries WHERE task = ? AND state = 'running' AND node_id IS NOT NULL \
               AND finished_at IS NULL) AS n";
    connection.number(Statement::new(sql).bind(task).bind(task))
}

/// How many entries of a task are completed.
pub fn completed(connection: &mut Connection, task: &str) -> Result<i64> {
    let sql = "SELECT COUNT(*) AS n FROM soloist_entries \
               WHERE task = ? AND finished_at IS NOT NULL AND state = 'completed'";
    connection.number(Statement::new(sql).bind(task))
}

/// How late each firing of the run of this mark was.
pub fn lateness(connection: &mut Connection, mark: &str) -> Result<Vec<Duration>> {
    #[derive(QueryableByName)]
    struct Late {
        #[diesel(sql_type = BigInt)]
        late: i64,
    }
    let sql = "SELECT decided_at - scheduled_for AS late FROM soloist_firings \
               WHERE schedule LIKE ? AND outcome = 'fired'";
    let rows: Vec<Late> = connection.load(Statement::new(sql).bind(format!("{PREFIX}{mark}%")))?;
    Ok(rows.into_iter().map(|row| Duration::from_micros(row.late.max(0).unsigned_abs())).collect())
}

/// Takes away all that the run of this mark has left.
pub fn erase(connection: &mut Connection, mark: &str) -> Result<()> {
    for part in PARTS {
        let task = task(mark, part);
        for condition in [
            "state = 'pending'",
            "state = 'running' AND node_id IS NOT NULL AND finished_at IS NULL",
            "finished_at IS NOT NULL",
        ] {
            while erase_chunk(connection, &task, condition)? {}
        }
        for sql in ["DELETE FROM soloist_minutes WHERE task = ?", "DELETE FROM soloist_tasks WHERE name = ?"] {
            connection.execute(Statement::new(sql).bind(task.as_str()))?;
        }
    }
    let nodes = format!("{PREFIX}{mark}%");
    for sql in [
        "DELETE FROM soloist_schedules WHERE name LIKE ?",
        "DELETE FROM soloist_firings WHERE schedule LIKE ?",
        "DELETE FROM soloist_declarations WHERE node_id IN (SELECT id FROM soloist_nodes WHERE name LIKE ?)",
        "DELETE FROM soloist_nodes WHERE name LIKE ?",
    ] {
        connection.execute(Statement::new(sql).bind(nodes.as_str()))?;
    }
    Ok(())
}

/// Deletes some of the entries that are in this condition; false once there are none.
fn erase_chunk(connection: &mut Connection, task: &str, condition: &str) -> Result<bool> {
    #[derive(QueryableByName)]
    struct Id {
        #[diesel(sql_type = BigInt)]
        id: i64,
    }
    let dialect = connection.dialect();
    let sql = format!("SELECT id FROM soloist_entries WHERE task = ? AND {condition} LIMIT ?");
    let ids: Vec<_> =
        connection.load::<Id>(Statement::new(sql).bind(task).bind(CHUNK))?.into_iter().map(|row| row.id).collect();
    if ids.is_empty() {
        return Ok(false);
    }
    connection.transaction(|connection| {
        for (table, column) in [("soloist_attempts", "entry_id"), ("soloist_entries", "id")] {
            let sql = dialect.delete_ids(table, column, "1 = 1");
            connection.execute(Statement::new(sql).bind(dialect.ids(&ids)))?;
        }
        Ok(true)
    })
}

#[cfg(test)]
mod tests {
    use super::mark;

    #[test]
    fn a_mark_is_told_from_names_of_people() {
        assert_eq!(mark("soloist-bench-0123abcd"), Some("0123abcd"));
        assert_eq!(mark("soloist-bench-0123abcd.drain"), Some("0123abcd"));
        assert_eq!(mark("soloist-bench-0123abcd-limit"), Some("0123abcd"));
        for name in ["soloist-bench-mine", "soloist-bench-0123abcde", "soloist-bench-nightly1", "0123abcd"] {
            assert_eq!(mark(name), None, "{name}");
        }
    }
}
