//! What becomes of claimed rows: entries to be worked, or an end at once where no call is needed.

use serde_json::value::RawValue;

use super::{ClaimRequest, Claimant, Claimed, Row};
use crate::error::Result;
use crate::model::{Entry, Trace};
use crate::store::attempts;
use crate::store::connection::Connection;
use crate::store::settle::{self, Settlement, Verdict};

/// Turns claimed rows into entries; ends at once those that need no call.
pub(in crate::store) fn receive(
    connection: &mut Connection,
    claimant: &Claimant,
    request: &ClaimRequest,
    rows: Vec<Row>,
) -> Result<Claimed> {
    let mut claimed = Claimed::default();
    let mut settlements = Vec::new();
    let mut rows_of_source = match &request.source {
        Some(source) => {
            let keys: Vec<_> = rows
                .iter()
                .filter(|row| row.source == 1)
                .map(|row| (row.id, row.dedupe_key.clone().unwrap_or_default()))
                .collect();
            if keys.is_empty() { Default::default() } else { source.read(connection, &keys)? }
        }
        None => Default::default(),
    };
    let again = rows.iter().filter(|row| request.at_most_once && row.attempt > 1).map(|row| row.id);
    let tried = attempts::that_the_last_claim_made(connection, &again.collect::<Vec<_>>())?;
    for row in rows {
        if tried.contains(&row.id) {
            claimed.exhausted += 1;
            let attempts = row.attempt - 1;
            settlements.push(exhausted(row, attempts));
            continue;
        }
        let max_attempts = row.max_attempts.unwrap_or(request.max_attempts);
        if row.attempt > max_attempts {
            claimed.exhausted += 1;
            settlements.push(exhausted(row, max_attempts));
            continue;
        }
        let from_source = row.source == 1;
        let (payload, source_version) = match (from_source, &request.source) {
            (false, _) => (row.payload, None),
            (true, Some(_)) => match rows_of_source.remove(&row.id) {
                Some(found) => (found.payload, found.version),
                None => {
                    settlements.push(Settlement::new(row.id, row.claim, row.attempt, Verdict::Unneeded));
                    continue;
                }
            },
            (true, None) => {
                let error = "its task no longer has a source here, so its row cannot be read".to_owned();
                let verdict = Verdict::Failed { error, output: None };
                settlements.push(Settlement::new(row.id, row.claim, row.attempt, verdict));
                continue;
            }
        };
        let payload = match RawValue::from_string(payload) {
            Ok(payload) => payload,
            Err(error) => {
                // The database's notion of JSON may be wider; the others of this claim must not wait for it.
                let verdict = Verdict::Failed { error: format!("its payload is no JSON: {error}"), output: None };
                settlements.push(Settlement::new(row.id, row.claim, row.attempt, verdict));
                continue;
            }
        };
        claimed.entries.push(Entry {
            id: row.id,
            task: request.task.clone(),
            key: row.dedupe_key,
            payload,
            attempt: row.attempt,
            max_attempts,
            scheduled_for: row.scheduled_for,
            created_at: row.created_at,
            idempotency_key: format!("{}-{}", claimant.installation, row.id),
            claim: row.claim,
            node_id: claimant.node_id,
            from_source,
            source_version,
            started_at: row.started_at,
            run_at: row.run_at,
            trace: row.traceparent.as_deref().and_then(Trace::parse),
        });
    }
    if !settlements.is_empty() {
        claimed.settled = settlements.len();
        let source = request.source.as_deref();
        let context = settle::Context { source, ..settle::Context::ending(claimant.node_id) };
        let settled = settle::settle(connection, &context, &settlements);
        match settled {
            // Those that were claimed must be worked; these go back when their claim is found with nobody.
            Err(error) if source.is_none() => tracing::warn!(%error, "entries that need no call could not be ended"),
            result => {
                result?;
            }
        }
    }
    Ok(claimed)
}

/// The claim counts as the attempt, so that an entry that kills its node each time comes to an end.
fn exhausted(row: Row, max_attempts: i32) -> Settlement {
    let why = row.error.unwrap_or_else(|| format!("all {max_attempts} attempts are used up"));
    let mut settlement =
        Settlement::new(row.id, row.claim, row.attempt - 1, Verdict::Failed { error: why, output: None });
    settlement.uncounted = true;
    settlement.recorded = false;
    settlement.source_key = row.dedupe_key.filter(|_| row.source == 1);
    settlement
}
