#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
//! The admin API over real connections, on every backend: who may do what, what is refused and how, entries, schedules,
//! and claims of outside workers.

#[path = "api/access.rs"]
mod access;
#[path = "api/audit.rs"]
mod audit;
#[path = "api/bulk.rs"]
mod bulk;
#[path = "api/claims.rs"]
mod claims;
#[path = "api/entries.rs"]
mod entries;
#[path = "api/events.rs"]
mod events;
#[path = "api/flask.rs"]
mod flask;
#[path = "api/idempotency.rs"]
mod idempotency;
#[path = "api/lists.rs"]
mod lists;
#[path = "api/metrics.rs"]
mod metrics;
#[path = "api/refusals.rs"]
mod refusals;
#[path = "api/routes.rs"]
mod routes;
#[path = "api/rows.rs"]
mod rows;
#[path = "api/schedules.rs"]
mod schedules;
#[path = "api/server.rs"]
mod server;
#[path = "api/tasks.rs"]
mod tasks;
#[path = "api/waiting.rs"]
mod waiting;
