//! The configuration: what a file may say, with its defaults. The tree mirrors the sections of the file.
//!
//! Reading, checking and explaining errors is `load`; nothing here touches a database.

pub mod database;
pub mod http;
pub mod load;
pub mod node;
pub mod schedule;
pub mod secret;
pub mod source;
pub mod task;

use std::collections::BTreeMap;

pub use database::{ClaimChoice, Database, DatabaseUrl, Synchronous, Wake};
pub use http::{Http, Role, ShowPayload, Token};
pub use node::{Node, NodeRole};
pub use schedule::Schedule;
pub use secret::Secret;
pub use source::{Source, WriteBack};
pub use task::{Dedupe, HandlerKind, Task, Timeout, WebHook};

/// Everything a node is told.
#[derive(Debug, Clone)]
pub struct Config {
    /// `[database]`
    pub database: Database,
    /// `[node]`
    pub node: Node,
    /// `[http]`
    pub http: Http,
    /// `[tasks.*]` by name
    pub tasks: BTreeMap<String, Task>,
    /// `[schedules.*]` by name
    pub schedules: BTreeMap<String, Schedule>,
}
