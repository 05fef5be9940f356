//! When schedules are due: the cases of `tests/cases` through the library and through the real binary, the laws, and a
//! walk over the years that shares no code with the evaluator.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "triggers/binary.rs"]
mod binary;
#[path = "triggers/cases.rs"]
mod cases;
#[path = "triggers/laws.rs"]
mod laws;
#[path = "triggers/plain.rs"]
mod plain;
#[path = "triggers/walk.rs"]
mod walk;
