//! The decision about a schedule that stops, goes or cannot fire: nothing of it fires, and all of it is on record.

use super::walk::walk;
use super::{Decision, Item, Outcome, Situation};

/// What waits for the work before it is skipped and, with `due`, so is what was due until now. A further decision goes
/// on at `next` if that is past.
pub fn give_up(situation: &Situation<'_>, due: bool, reason: &'static str) -> Decision {
    let mut decision = Decision { next: situation.next, ..Decision::default() };
    let skipped = |(from, until, count)| Item::Leave { outcome: Outcome::Skipped, reason, from, until, count };
    // Not one run with what comes after it: due times between the two may have fired.
    decision.items.extend(situation.queued_for.map(|queued| skipped((queued, queued, 1))));
    if due && let Some((run, _, next)) = walk(situation.timer, situation.next, situation.now, 0) {
        decision.decided_until = run.map(|(_, until, _)| until);
        decision.items.extend(run.map(skipped));
        decision.next = next;
    }
    decision
}
