//! Tasks as the database knows them: who declares them, how many entries they have, whether they are paused or held.

mod counts;
pub mod declared;
mod list;
mod pause;

pub use counts::Recent;
pub(in crate::store) use list::list_at;
pub use list::{Held, Paused, TaskShape, get, list};
pub use pause::{pause, resume};
