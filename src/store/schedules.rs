//! Schedules as the database keeps them: what is in force, its phase and its pause.
//!
//! Owns what makes a schedule come, change, stop and go, one or all of them. When one fires is decided in `firings`.

mod act;
mod declared;
mod hold;
mod jobs;
mod read;
mod taken;
mod told;
mod write;

pub use act::{change, create, fire, pause, remove, resume};
pub use declared::{DeclaredSchedule, Seen, declared_names, differing, reconcile};
pub use hold::{ALL_PAUSED, Hold, held, hold, release};
pub use jobs::{JobRow, job, jobs, keep, lock_job};
pub use read::{Origin, Paused, ScheduleShape, get, list, next_firings, silent, timer};
pub use taken::taken;
