//! The slots of one task on this node.

/// What of a task is running or may be about to.
#[derive(Debug, Default)]
pub(super) struct Slots {
    /// Entries whose handler has not ended; for transactions, transactions on their way.
    pub running: usize,
    /// Slots that claims on their way may fill.
    pub reserved: usize,
    /// True if the last claim brought all that it asked for, so that there may be more.
    pub hungry: bool,
    /// True if only so many may run over all nodes: what is recorded makes room for another.
    pub counted: bool,
}

impl Slots {
    /// Slots that a claim may ask for.
    pub fn free(&self, concurrency: usize) -> usize {
        concurrency.saturating_sub(self.running + self.reserved)
    }
}
