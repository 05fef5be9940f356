//! Sums: what was counted since the last look is written.

use actix::prelude::*;

use super::{DutyActor, Look};
use crate::store::minutes;

impl DutyActor {
    pub(super) fn sums(&mut self, _: &mut Context<Self>) -> Look {
        let tally = self.wiring.tally.clone();
        let changed = tally.take_changed();
        let Some(node_id) = self.first_node_id.filter(|_| !changed.is_empty()) else {
            return Box::pin(std::future::ready(Ok(None)));
        };
        let rows = changed.clone();
        let work =
            self.perform("writing sums", move |connection| minutes::write(connection, node_id, &rows).map(|()| false));
        Box::pin(async move {
            work.await.inspect_err(|_| tally.put_back(&changed))?;
            Ok(None)
        })
    }
}
