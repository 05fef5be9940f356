//! What people do with entries: accept, look, list, retry, cancel, run now, delete, alone and in bulk.
//!
//! Claims and results of attempts are not here. Every change is a set statement over ids that were locked first.

mod act;
mod action;
mod bulk;
mod dry_run;
mod filter;
mod holders;
mod insert;
mod narrow;
mod read;
mod shape;
mod span;
mod waits;

pub use act::{act, cancel, delete, retry, run_now};
pub use action::Action;
pub use bulk::{Bulk, BulkRun, apply_in_bulk};
pub use filter::Filter;
pub(in crate::store) use insert::insert_rows;
pub use insert::{insert, insert_watched};
pub use read::{get, installation, list, of_ids};
pub use shape::{AttemptShape, EntryShape, Page};
pub(in crate::store) use span::in_index_order;
pub use waits::{Waits, waits};

/// The most that one page of a list holds.
pub const LONGEST_PAGE: usize = 500;
