//! Marking the users' rows of entries that end, in the transaction that ends them.

use std::collections::{HashMap, HashSet};

use super::{Settled, Settlement, Verdict};
use crate::error::Result;
use crate::model::failure;
use crate::store::connection::Connection;
use crate::store::source::{Mark, TableSource};

/// Marks the users' rows; what the database refuses turns into a failure for good, in its words.
pub(super) fn mark_rows(
    connection: &mut Connection,
    source: &TableSource,
    standing: &mut [Settlement],
    settled: &mut Settled,
) -> Result<()> {
    let marks = |standing: &[Settlement], done: bool| -> Vec<Mark> {
        let wanted = standing.iter().filter(|settlement| match settlement.verdict {
            Verdict::Completed { .. } => done,
            Verdict::Failed { .. } => !done,
            _ => false,
        });
        wanted
            .filter_map(|settlement| {
                Some(Mark {
                    id: settlement.id,
                    key: settlement.source_key.clone()?,
                    attempt: settlement.attempt,
                    version: settlement.source_version.clone(),
                    error: match &settlement.verdict {
                        Verdict::Failed { error, .. } => Some(error.clone()),
                        _ => None,
                    },
                })
            })
            .collect()
    };
    let done = marks(standing, true);
    if !done.is_empty() {
        let refused: HashMap<_, _> = source.mark_done(connection, &done)?.into_iter().collect();
        for settlement in standing.iter_mut() {
            if let Some(words) = refused.get(&settlement.id) {
                let error = failure::unmarked(words);
                settlement.verdict = Verdict::Failed { error, output: None };
                settled.refused.push((settlement.id, words.clone()));
            }
        }
    }
    let refused_done: HashSet<_> = settled.refused.iter().map(|(id, _)| *id).collect();
    let failed: Vec<_> = marks(standing, false).into_iter().filter(|mark| !refused_done.contains(&mark.id)).collect();
    if !failed.is_empty() {
        for (id, words) in source.mark_failed(connection, &failed)? {
            if let Some(settlement) = standing.iter_mut().find(|settlement| settlement.id == id)
                && let Verdict::Failed { error, .. } = &mut settlement.verdict
            {
                error.push_str(&format!(" (and its row could not be marked: {words})"));
            }
            settled.refused.push((id, words));
        }
    }
    Ok(())
}
