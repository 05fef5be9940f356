//! Sweep: pending rows of sources become entries, a step at a time.

use actix::prelude::*;

use super::{DutyActor, Look};

impl DutyActor {
    pub(super) fn sweep(&mut self, _: &mut Context<Self>) -> Look {
        Box::pin(std::future::ready(Ok(None)))
    }
}
