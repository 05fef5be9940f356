//! `[node]`: who this process is and what it does.

use std::time::Duration;

/// `[node]`
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// A label, never an identity.
    pub name: String,
    /// How long a claim outlives the last heartbeat; renewed every third of it. At least 1 s.
    pub lease: Duration,
    /// How long a stop waits for what runs.
    pub drain: Duration,
    /// The longest an idle node sleeps, ± 20 %.
    pub poll: Duration,
    /// What this node does.
    pub roles: Vec<NodeRole>,
}

/// One of `roles`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodeRole {
    /// Fires schedules.
    Scheduler,
    /// Claims and works entries.
    Worker,
    /// Serves the admin API.
    Http,
}

impl NodeRole {
    /// The word in the file.
    pub fn word(self) -> &'static str {
        match self {
            Self::Scheduler => "scheduler",
            Self::Worker => "worker",
            Self::Http => "http",
        }
    }
}

impl Default for Node {
    fn default() -> Self {
        Self {
            name: default_name(),
            lease: Duration::from_secs(15),
            drain: Duration::from_secs(25),
            poll: Duration::from_secs(1),
            roles: vec![NodeRole::Scheduler, NodeRole::Worker, NodeRole::Http],
        }
    }
}

/// Host name and process id.
fn default_name() -> String {
    let system = rustix::system::uname();
    let host = system.nodename().to_string_lossy().into_owned();
    format!("{}-{}", if host.is_empty() { "node" } else { &host }, std::process::id())
}

impl Node {
    /// True if this node has the role.
    pub fn has(&self, role: NodeRole) -> bool {
        self.roles.contains(&role)
    }
}
