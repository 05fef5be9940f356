//! The plain words of the domain: entries, states, outcomes, policies.
//!
//! Pure: no database, no actor, no clock is touched here.

pub mod by;
pub mod entry;
pub mod failure;
pub mod new_entry;
pub mod outcome;
pub mod policy;
pub mod rate;
pub mod spread;
pub mod start_times;
pub mod sums;
pub mod time;
pub mod trace;

pub use by::{By, Via};
pub use entry::{Entry, State};
pub use new_entry::{NewEntry, RunAt};
pub use outcome::Outcome;
pub use policy::{Backoff, Delivery, Keep, Retention};
pub use rate::Rate;
pub use spread::Spread;
pub use trace::Trace;
