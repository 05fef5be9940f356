//! What is the same over all nodes: entries that wait, problems; out of a look at the database that is a few seconds old.

use std::collections::BTreeMap;

use super::definition as of;
use super::family::Family;
use crate::http::snapshots::Snapshot;
use crate::store::status::Status;
use crate::store::tasks::TaskShape;

/// The metrics of all nodes together; without a look that succeeded only that there is none.
pub(super) fn families(snapshot: Option<&Snapshot>) -> Vec<Family> {
    let Some((snapshot, status)) = snapshot.and_then(|snapshot| Some((snapshot, snapshot.status().ok()?))) else {
        return vec![Family::new(of::DATABASE_UP).count(&[], 0_u64)];
    };
    if status.away {
        // The rest is of another moment, but that this is a problem is of this one.
        return vec![Family::new(of::DATABASE_UP).count(&[], 0_u64), problems(status)];
    }
    let mut families = vec![
        Family::new(of::DATABASE_UP).count(&[], 1_u64),
        Family::new(of::AGE).figure(&[], snapshot.age().as_secs_f64()),
        Family::new(of::NODES).count(&[], status.nodes.len()),
        problems(status),
    ];
    families.extend(tasks(status));
    families
}

/// Those of declared tasks by name; of all others, whose names anybody may have made up, the sum.
fn tasks(status: &Status) -> [Family; 7] {
    let (declared, others): (Vec<_>, Vec<_>) = status.tasks.iter().partition(|task| task.handler.is_some());
    let of_each = |definition, figure: fn(&TaskShape) -> f64| {
        declared.iter().fold(Family::new(definition), |family, task| family.figure(&[&task.name], figure(task)))
    };
    #[allow(clippy::cast_precision_loss)] // exact below 2^53
    let families = [
        of_each(of::PENDING, |task| task.pending as f64),
        of_each(of::DUE, |task| task.due as f64),
        of_each(of::RUNNING, |task| task.running as f64),
        of_each(of::OLDEST, |task| task.oldest_due_age_s.unwrap_or(0.0)),
        of_each(of::PAUSED, |task| f64::from(u8::from(task.paused.is_some()))),
        of_each(of::HELD, |task| f64::from(u8::from(task.held.is_some()))),
        Family::new(of::UNDECLARED)
            .count(&["pending"], others.iter().map(|task| task.pending).sum::<i64>())
            .count(&["due"], others.iter().map(|task| task.due).sum::<i64>())
            .count(&["running"], others.iter().map(|task| task.running).sum::<i64>()),
    ];
    families
}

fn problems(status: &Status) -> Family {
    let mut found: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    // Of each level always, so that an alert sees it come and go.
    for level in ["risk", "broken", "stopped"] {
        found.insert((level, ""), 0);
    }
    for problem in &status.problems {
        *found.entry((problem.level.word(), problem.code)).or_default() += 1;
    }
    found.iter().fold(Family::new(of::PROBLEMS), |family, ((level, code), n)| family.count(&[level, code], *n))
}
