//! Prune: finished entries past their keep go, in short transactions; so do the traces of nodes long gone.

use std::time::Duration;

use actix::prelude::*;

use super::{DutyActor, Look};
use crate::store::{audit, firings, prune, requests};

impl DutyActor {
    pub(super) fn prune(&mut self, _: &mut Context<Self>) -> Look {
        let keeps: Vec<_> = self.plans.iter().map(|plan| (plan.name().to_owned(), plan.config.keep)).collect();
        let keep_firings = self.wiring.keep_firings;
        let work = Self::perform_on(&self.wiring.sweeps, "pruning", move |connection| {
            let mut full = false;
            for (task, keep) in &keeps {
                full |= prune::entries(connection, task, keep)?;
            }
            prune::traces(connection)?;
            full |= requests::prune(connection)?;
            full |= audit::prune(connection)?;
            full |= firings::prune(connection, keep_firings)?;
            Ok(full)
        });
        Box::pin(async move { Ok(work.await?.then_some(Duration::from_millis(50))) })
    }
}
