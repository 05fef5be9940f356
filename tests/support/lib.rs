//! What Soloist's tests stand on: a fresh database on every backend, real nodes, a web hook, waiting for events.
//!
//! Knows nothing of the library under test, only its binary and its plain SQL door. Fails by panicking, since only
//! tests call it. A backend whose server is absent is left out with a printed reason, but fails where `CI=true`.

mod backend;
mod client;
mod database;
mod events;
mod hook;
mod http;
mod machine;
mod metrics;
mod node;
mod servers;
mod wait;

pub use backend::Backend;
pub use database::TestDatabase;
pub use events::{Event, EventStream};
pub use hook::{Answer, Hook, Received};
pub use http::{Response, request};
pub use machine::{ci, faketime, free_port, full, numbers, python, soloist};
pub use metrics::{Figure, Metrics, promtool};
pub use node::{Node, Signal};
pub use servers::PrivateServer;
pub use wait::{until, until_some};
