//! The configuration: what a file may say, with its defaults. The tree mirrors the sections of the file.
//!
//! Reading, checking and explaining errors is `load`; nothing here touches a database.

mod change;
pub mod database;
pub mod duration;
pub mod environment;
pub mod errors;
pub mod http;
pub mod load;
pub mod locate;
pub mod mask;
pub mod nearest;
pub mod node;
pub mod plain;
pub mod print;
pub mod sample;
pub mod schedule;
pub mod secret;
pub mod source;
pub mod task;
mod unused;
pub mod url;
mod value;
mod walk;

use std::collections::{BTreeMap, BTreeSet};

pub use database::{ClaimChoice, Database, DatabaseUrl, Synchronous, Wake};
pub use environment::Environment;
pub use errors::{ConfigError, ConfigErrors, Place};
pub use http::{Http, Role, ShowPayload, Token};
pub use load::Purpose;
pub use node::{Node, NodeRole};
pub use schedule::{Misfire, Overlap, Schedule, Trigger};
pub use secret::Secret;
pub use source::{Source, WriteBack};
pub use task::{Dedupe, HandlerKind, Task, Timeout, WebHook};

/// Everything a node is told.
#[derive(Debug, Clone, Default, PartialEq)]
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
    /// Environment variables that held secrets: programs that are started do not get them.
    pub secret_variables: BTreeSet<String>,
}
