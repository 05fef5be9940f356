//! Counts: what waits, where that is too much to be counted by whoever looks. Over all nodes one counts.

use actix::prelude::*;

use super::{DutyActor, Look};
use crate::store::tasks;

impl DutyActor {
    pub(super) fn counts(&mut self, _: &mut Context<Self>) -> Look {
        let work = Self::perform_on(&self.wiring.sweeps, "counting what waits", |connection| {
            tasks::kept::refresh(connection).map(|()| false)
        });
        Box::pin(async move { work.await.map(|_| None) })
    }
}
