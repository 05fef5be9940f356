//! Rows of a user's own table: what a source reads, collects and writes back.
//!
//! The only place that touches tables that are not Soloist's.

pub mod catalog;
