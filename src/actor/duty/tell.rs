//! Tell: how the duties of this node stand, for all to see. Silence tells too: what is not told is not done.

use actix::prelude::*;

use super::{DutyActor, Look};
use crate::store::duties;

/// The one duty that is not told of: that it is done shows by itself.
pub(super) const NAME: &str = "tell";

impl DutyActor {
    pub(super) fn tell(&mut self, _: &mut Context<Self>) -> Look {
        let Some(node_id) = self.node_id else { return Box::pin(std::future::ready(Ok(None))) };
        let told = self.wiring.reports.told();
        let work = self.perform("telling how duties stand", move |connection| {
            duties::tell(connection, node_id, &told).map(|()| false)
        });
        Box::pin(async move { work.await.map(|_| None) })
    }
}
