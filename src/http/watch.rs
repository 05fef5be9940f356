//! What there is to be watched of a node: its counts, and the state of the whole.

use super::events::Events;
use super::snapshots::Snapshots;
use crate::actor::reports::Reports;
use crate::store::Store;
use crate::telemetry::meters::Meters;

/// What there is to be watched of a node; cheap to clone, all clones are one.
#[derive(Debug, Clone)]
pub struct Watch {
    /// The node's label.
    pub node: String,
    /// What it counts of itself.
    pub meters: Meters,
    /// The state of the whole, read once for all who ask.
    pub snapshots: Snapshots,
    /// Streams of what changes in it.
    pub events: Events,
}

impl Watch {
    /// Of a node with this label that counts here, and notes there what became of its duties.
    pub fn new(store: Store, node: impl Into<String>, meters: Meters, reports: Reports) -> Self {
        let snapshots = Snapshots::new(store, reports);
        Self { node: node.into(), meters, events: Events::new(snapshots.clone()), snapshots }
    }
}
