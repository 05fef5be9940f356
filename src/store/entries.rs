//! What people do with entries: accept, look, list, retry, cancel, run now, delete, alone and in bulk.
//!
//! Claims and results of attempts are not here. Every change is a set statement over ids that were locked first.

mod act;
mod bulk;
mod filter;
mod insert;
mod read;
mod shape;
mod waits;

pub use act::{Action, apply, cancel, delete, retry, run_now};
pub use bulk::{Bulk, apply_in_bulk};
pub use filter::Filter;
pub(in crate::store) use insert::insert_rows;
pub use insert::{insert, insert_watched};
pub use read::{get, installation, list};
pub use shape::{AttemptShape, EntryShape, Page};
pub use waits::{Waits, waits};

/// The most that one page of a list holds.
pub const LONGEST_PAGE: usize = 500;
