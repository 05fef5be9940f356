//! When the scheduler looks again by itself.

use std::time::{Duration, Instant};

use actix::prelude::*;

use super::SchedulerActor;

impl SchedulerActor {
    /// Looks again after this span if it is shorter than `poll`, else after `poll` ± 20 %; a look that is to come
    /// earlier stays.
    pub(super) fn arm(&mut self, next_in: Option<Duration>, ctx: &mut Context<Self>) {
        let Some(wiring) = &self.wiring else { return };
        let poll = wiring.poll.mul_f64(0.8 + 0.4 * fastrand::f64());
        let wait = next_in.map_or(poll, |next| next.min(poll)).max(Duration::from_millis(1));
        let at = Instant::now() + wait;
        match self.timer {
            Some((_, earlier)) if earlier <= at => return,
            Some((later, _)) => ctx.cancel_future(later),
            None => false,
        };
        let timer = ctx.run_later(wait, |act, ctx| {
            act.timer = None;
            act.arm(None, ctx);
            act.tick(ctx);
        });
        self.timer = Some((timer, at));
    }
}
