//! Schedules as the database keeps them: what is in force, its phase and its pause.
//!
//! Owns what makes a schedule come, change, stop and go. When one fires is decided in `firings`.

mod act;
mod declared;
mod read;
mod write;

pub use act::{change, create, fire, pause, remove, resume};
pub use declared::{DeclaredSchedule, Seen, declared_names, differing, reconcile};
pub use read::{Origin, Paused, ScheduleShape, get, list, next_firings, silent, timer};
