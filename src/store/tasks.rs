//! Tasks as the database knows them: who declares them, how many entries they have, whether they are paused or held.

pub mod declared;
