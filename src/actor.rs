//! The actors: who owns what, and what they say to each other.
//!
//! ```text
//!  Wake, Finished ──▶ SchedulerActor ──ProcessBatch──▶ DatabaseActor × N   (SyncArbiter: claims, results)
//!                     (singleton, owns ◀────Batch─────
//!                      the budget)     ──ProcessBatch──▶ DatabaseActor × M   (SyncArbiter: SQL handlers
//!                          │                                                 and their transactions)
//!                          └─Execute──▶ ExecutorActor ──Settle──▶ DatabaseActor × N
//!  HeartbeatActor ──Renew──▶ LeaseActor (SyncArbiter, one thread, one connection of its own)
//!        └─Incarnation, LeaseLost──▶ SchedulerActor, ExecutorActor
//!  LeadershipActor ──Lead──▶ LeaseActor;  ──Leads──▶ FiringActor ──PlanFirings──▶ DatabaseActor × 1 (its own)
//!  DutyActor ──Rescue, Verify, Perform──▶ DatabaseActor × 1 (SyncArbiter of its own)
//! ```
//!
//! One duty an actor. None does I/O on its own thread but the `DatabaseActor`s and the `LeaseActor`; none dies of a
//! panic; none keeps a belief that the database does not check.

pub mod database;
pub mod duty;
pub mod executor;
pub mod firing;
pub mod guard;
pub mod heartbeat;
pub mod leadership;
pub mod lease;
pub mod message;
pub mod reports;
pub mod scheduler;
pub mod tally;

pub use database::DatabaseActor;
pub use duty::DutyActor;
pub use executor::ExecutorActor;
pub use firing::FiringActor;
pub use heartbeat::HeartbeatActor;
pub use leadership::LeadershipActor;
pub use lease::LeaseActor;
pub use scheduler::SchedulerActor;
