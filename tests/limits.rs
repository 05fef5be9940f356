//! Limits over all nodes, in the claim itself: never more at once, never faster, never out of turn, whoever claims.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "limits/declared.rs"]
mod declared;
#[path = "limits/ground.rs"]
mod ground;
#[path = "limits/outside.rs"]
mod outside;
#[path = "limits/rate.rs"]
mod rate;
#[path = "limits/running.rs"]
mod running;
#[path = "limits/serial.rs"]
mod serial;
