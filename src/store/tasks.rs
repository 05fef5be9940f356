//! Tasks as the database knows them: who declares them, how many entries they have, whether they are paused or held.

mod counts;
pub mod declared;
pub mod kept;
pub(in crate::store) mod limits;
mod list;
mod pause;
pub(in crate::store) mod waiting;

pub use counts::{Recent, RunningOn};
pub use limits::Limits;
pub use list::{Held, Paused, TaskShape, get, list};
pub(in crate::store) use list::{list_at, running_on};
pub use pause::{pause, resume};
pub use waiting::CAP;
