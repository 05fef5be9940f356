//! What is due, and the first claim of it, in one statement on PostgreSQL: between a commit and the start of its
//! handler, each exchange with the server costs as much as all else.
//!
//! Only the best level of one task is claimed so, and none of a task that is limited over all nodes: that needs a lock.
//! The rest of a batch goes the usual way.

use super::due::{Due, DueRow, gather, levels};
use super::postgres::RETURNING;
use super::{ClaimRequest, Claimant, LIVE, Row};
use crate::error::{Error, Result};
use crate::store::connection::Connection;
use crate::store::dialect::Dialect;
use crate::store::server::Strategy;
use crate::store::statement::{Bind, Statement};

/// Looks at what is due of each task; where it can be, entries are claimed at once, of the task that then stands first.
pub fn look(connection: &mut Connection, claimant: &Claimant, requests: &[ClaimRequest]) -> Result<Vec<Due>> {
    let names: Vec<_> = requests.iter().map(|request| request.task.as_str()).collect();
    let apart = connection.dialect() != Dialect::Postgres
        || claimant.strategy != Strategy::SkipLocked
        || !requests.iter().any(is_plain)
        || ["no_claim", "no_skip_locked"].into_iter().any(crate::testing::broken);
    if apart {
        return super::due(connection, &names);
    }
    let most = requests.iter().map(|request| if is_plain(request) { request.limit } else { 0 });
    let most = most.map(|limit| i64::try_from(limit).unwrap_or(i64::MAX)).collect();
    let mut rows: Vec<Row> = connection.load(
        Statement::new(statement())
            .bind(Dialect::Postgres.texts(&names))
            .bind(Bind::Integers(most))
            .bind(claimant.node_id)
            .bind(claimant.node_id),
    )?;
    let seen = rows.iter().position(|row| row.claim == 0).map(|place| rows.swap_remove(place));
    let seen = seen.ok_or_else(|| Error::internal("a look at what is due gave nothing"))?;
    let levels: Vec<DueRow> = serde_json::from_str(&seen.payload).map_err(Error::internal)?;
    let mut due = gather(levels);
    let first = due.iter().position(|due| Some(&due.task) == seen.dedupe_key.as_ref());
    if let Some(first) = first {
        due[..=first].rotate_right(1);
        due[0].taken = Some(rows);
    }
    Ok(due)
}

/// True if a claim of the task is one statement: no row to be read with it, no key to be let go.
fn is_plain(request: &ClaimRequest) -> bool {
    request.source.is_none() && !request.free_key
}

/// The row whose claim is 0 tells what is due, and of which task the other rows are.
fn statement() -> String {
    let levels = levels("unnest(?, ?) AS t(value, most)", ", t.most");
    Dialect::Postgres.sql(&format!(
        "WITH level AS MATERIALIZED ({levels}), best AS MATERIALIZED (\
         SELECT min(task) AS task, min(priority) AS priority, max(most) AS most FROM level WHERE run_in <= 0 \
         AND task = (SELECT min(task) FROM level \
         WHERE run_in <= 0 AND most > 0 AND paused_since IS NULL AND probe_in IS NULL AND limited = 0)), \
         taken AS (UPDATE soloist_entries SET state = 'running', attempt = attempt + 1, claim = claim + 1, \
         node_id = ?, started_at = {{now}} WHERE id = ANY(ARRAY(SELECT id FROM soloist_entries \
         WHERE task = (SELECT task FROM best) AND state = 'pending' AND priority = (SELECT priority FROM best) \
         AND run_at <= {{now}} ORDER BY run_at, id LIMIT (SELECT most FROM best) FOR UPDATE SKIP LOCKED)) \
         AND {LIVE} {RETURNING}) \
         SELECT 0::bigint AS id, (SELECT task FROM best) AS dedupe_key, \
         COALESCE((SELECT json_agg(level) FROM level), '[]')::text AS payload, 0 AS attempt, NULL AS max_attempts, \
         0::bigint AS claim, 0 AS source, NULL AS scheduled_for, 0::bigint AS created_at, 0::bigint AS run_at, \
         0::bigint AS started_at, NULL AS error, NULL AS traceparent UNION ALL SELECT * FROM taken"
    ))
}
