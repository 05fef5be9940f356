//! Every metric: its name, its labels, and what it tells. `docs/operations.md` lists the same.

/// What kind of metric it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Only grows.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts by bucket.
    Histogram,
}

/// A metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Definition {
    /// Its name.
    pub name: &'static str,
    /// Its kind.
    pub kind: Kind,
    /// The names of its labels.
    pub labels: &'static [&'static str],
    /// What it tells.
    pub help: &'static str,
}

macro_rules! definitions {
    ($($name:ident = $text:literal $kind:ident [$($label:literal),*] $help:literal;)*) => {
        $(pub(super) const $name: Definition =
            Definition { name: $text, kind: Kind::$kind, labels: &[$($label),*], help: $help };)*
        /// All metrics, in the order in which they are shown.
        pub const DEFINITIONS: &[Definition] = &[$($name),*];
    };
}

definitions! {
    // Of this node, since it started.
    NODE = "soloist_node_info" Gauge ["node", "version", "database"] "1, with what this node is";
    UPTIME = "soloist_node_uptime_seconds" Gauge [] "How long this node has been running";
    LEADER = "soloist_leader" Gauge [] "1 if this node fires schedules first, else 0";
    STARTED = "soloist_entries_started_total" Counter ["task"] "Attempts that began on this node";
    COMPLETED = "soloist_entries_completed_total" Counter ["task"] "Attempts that completed their entry";
    RETRIED = "soloist_entries_retried_total" Counter ["task"] "Attempts after which the entry is tried again";
    FAILED = "soloist_entries_failed_total" Counter ["task"] "Attempts that failed their entry for good";
    WAITS = "soloist_wait_seconds" Histogram ["task"] "From due to start of each attempt";
    RUNS = "soloist_run_seconds" Histogram ["task"] "From start to end of each attempt";
    LOST = "soloist_claims_lost_total" Counter ["task"] "Claims that no longer stood: taken over after a lost lease, or cancelled";
    RESCUED = "soloist_entries_rescued_total" Counter [] "Entries that this node took over from the dead";
    FIRINGS = "soloist_firings_total" Counter ["schedule", "outcome"] "Due times that this node decided: fired, skipped, missed";
    LATE = "soloist_firing_lateness_seconds" Histogram [] "How late the firings of this node were";
    DUTIES = "soloist_duty_failures_total" Counter ["duty"] "Background duties that failed and are tried again";
    POOL = "soloist_pool_connections" Gauge ["pool", "state"] "Database connections of this node: lent, idle";
    POOL_MAX = "soloist_pool_connections_max" Gauge ["pool"] "The most connections that a pool opens";
    POOL_WAITS = "soloist_pool_wait_seconds" Histogram ["pool"] "How long callers waited for a connection";
    REQUESTS = "soloist_http_requests_total" Counter ["method", "route", "status"] "Requests to this node by route and class of status";
    STREAMS = "soloist_event_streams" Gauge [] "Streams of events that are open on this node";
    // Of all nodes, out of the database.
    DATABASE_UP = "soloist_database_up" Gauge [] "1 if the state of all nodes could be read; if 0, what follows is left out";
    AGE = "soloist_status_age_seconds" Gauge [] "How old what follows is";
    NODES = "soloist_nodes_living" Gauge [] "Nodes whose lease has not ended";
    PENDING = "soloist_entries_pending" Gauge ["task"] "Entries that wait, due or not, over all nodes";
    DUE = "soloist_entries_due" Gauge ["task"] "Entries that could start now, over all nodes";
    RUNNING = "soloist_entries_running" Gauge ["task"] "Entries that run, over all nodes";
    OLDEST = "soloist_oldest_due_seconds" Gauge ["task"] "How long the oldest due entry has waited; 0 if none is due";
    PAUSED = "soloist_task_paused" Gauge ["task"] "1 if somebody has paused the task";
    HELD = "soloist_task_held" Gauge ["task"] "1 if the task is held back since its host refuses";
    UNDECLARED = "soloist_undeclared_entries" Gauge ["state"] "Entries of tasks that no living node declares: pending, due, running";
    PROBLEMS = "soloist_problems" Gauge ["level", "code"] "Problems as soloist status tells them, by level and code";
}
