//! Soloist: schedules fire once and entries are claimed once, over many processes, with nothing but the database.

pub mod actor;
pub mod apscheduler;
pub mod cli;
pub mod config;
pub mod error;
pub mod firing;
pub mod handler;
pub mod http;
#[cfg(feature = "postgres")]
mod listener;
pub mod model;
pub mod next;
pub mod node;
pub mod problems;
pub mod serve;
pub mod store;
pub mod telemetry;
pub mod testing;
pub mod trigger;
pub mod why;
pub mod work;

pub use error::{Error, Result};
