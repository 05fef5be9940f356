//! What there is to be watched of a node: its counts, and the state of the whole.

use super::snapshots::Snapshots;
use crate::actor::reports::Reports;
use crate::store::Store;
use crate::telemetry::meters::Meters;

/// What there is to be watched of a node.
#[derive(Debug)]
pub struct Watch {
    /// The node's label.
    pub node: String,
    /// What it counts of itself.
    pub meters: Meters,
    /// The state of the whole, read once for all who ask.
    pub snapshots: Snapshots,
}

impl Watch {
    /// Of a node with this label that counts here, and notes there what became of its duties.
    pub fn new(store: Store, node: impl Into<String>, meters: Meters, reports: Reports) -> Self {
        Self { node: node.into(), meters, snapshots: Snapshots::new(store, reports) }
    }
}
