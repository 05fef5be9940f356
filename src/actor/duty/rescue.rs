//! Rescue: what dead nodes had claimed goes back to pending.

use std::time::{Duration, Instant};

use actix::prelude::*;

use super::{DutyActor, Look, gone};
use crate::actor::message::{Perform, Rescue, Wake};
use crate::model::time::{Micros, micros};

/// Watches the database's clock against the monotonic one: where it has jumped, leases seem to have ended that have not.
pub(super) struct ClockGuard {
    lease: Duration,
    seen: Option<(Micros, Instant)>,
    quiet_until: Option<Instant>,
}

impl ClockGuard {
    pub fn new(lease: Duration) -> Self {
        Self { lease, seen: None, quiet_until: None }
    }

    /// True if nothing may be rescued now. `asked` is when the database was asked for its clock; `tell` hears of a jump.
    fn jumped(&mut self, database: Micros, asked: Instant, tell: impl FnOnce(Micros)) -> bool {
        let now = Instant::now();
        if let Some((before, then)) = self.seen {
            // The answer lies between asking and now; what lies beyond is a jump.
            let least = micros(asked.saturating_duration_since(then));
            let most = micros(now.saturating_duration_since(then));
            let passed = database - before;
            let jump = if passed < least { passed - least } else { (passed - most).max(0) };
            if jump.abs() > micros(self.lease / 3) {
                tracing::warn!(
                    seconds = jump / 1_000_000,
                    "the database's clock has jumped: nothing is rescued for one lease"
                );
                tell(jump);
                self.quiet_until = Some(now + self.lease);
            }
        }
        self.seen = Some((database, now));
        self.quiet_until.is_some_and(|until| now < until)
    }
}

/// Keeps what the clock said for the actor.
#[derive(Message)]
#[rtype(result = "bool")]
struct Clock {
    database: Micros,
    asked: Instant,
}

impl Handler<Clock> for DutyActor {
    type Result = bool;

    fn handle(&mut self, message: Clock, _: &mut Self::Context) -> bool {
        let (reports, lease) = (&self.wiring.reports, self.wiring.lease);
        self.clock.jumped(message.database, message.asked, |by| reports.jumped(by, lease))
    }
}

impl DutyActor {
    pub(super) fn rescue(&mut self, ctx: &mut Context<Self>) -> Look {
        let wiring = self.wiring.clone();
        let duty = ctx.address();
        let missing = self.last_missing.is_none_or(|last| last.elapsed() >= wiring.lease / 3);
        if missing {
            self.last_missing = Some(Instant::now());
        }
        Box::pin(async move {
            let asked = Instant::now();
            let (tell, told) = tokio::sync::oneshot::channel();
            let read = Perform {
                what: "reading the clock",
                work: Box::new(move |connection| {
                    // The receiver waits on the same future: it cannot be gone.
                    let _ = tell.send(crate::store::nodes::clock(connection)?);
                    Ok(false)
                }),
            };
            wiring.database.send(read).await.map_err(|error| gone(&error))??;
            let Ok(database) = told.await else { return Ok(None) };
            if duty.send(Clock { database, asked }).await.map_err(|error| gone(&error))? {
                return Ok(None);
            }
            let rescued = wiring.database.send(Rescue { missing }).await.map_err(|error| gone(&error))??;
            for (node_id, name) in &rescued.nodes {
                tracing::warn!(node_id, name, "the node's lease ended without a stop");
            }
            if rescued.entries > 0 {
                tracing::warn!(entries = rescued.entries, "entries were taken over");
                wiring.tally.meters.rescued(rescued.entries);
                wiring.scheduler.do_send(Wake);
            }
            Ok(None)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jump_of_more_than_a_third_of_the_lease_stops_rescue_for_one_lease() {
        let mut guard = ClockGuard::new(Duration::from_secs(15));
        let start = Instant::now();
        let mut told = Vec::new();
        let mut jumped = |guard: &mut ClockGuard, at, asked| guard.jumped(at, asked, |by| told.push(by / 1_000_000));
        assert!(!jumped(&mut guard, 1_000_000_000, start));
        assert!(!jumped(&mut guard, 1_004_000_000, Instant::now()), "4 s is less than a third of 15 s");
        assert!(jumped(&mut guard, 1_064_000_000, Instant::now()));
        assert!(jumped(&mut guard, 1_064_000_100, Instant::now()), "still within the lease");
        let mut guard = ClockGuard::new(Duration::from_secs(15));
        jumped(&mut guard, 1_000_000_000, start);
        assert!(jumped(&mut guard, 900_000_000, Instant::now()), "backwards");
        assert_eq!(told, [59, -100]);
    }
}
