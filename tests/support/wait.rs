//! Waits for events instead of for time.

use std::{
    thread,
    time::{Duration, Instant},
};

/// Waits until the condition holds; fails with `what` when the time is up.
#[track_caller]
pub fn until(limit: Duration, what: &str, mut condition: impl FnMut() -> bool) {
    until_some(limit, what, || condition().then_some(()));
}

/// Waits until there is a value and gives it; fails with `what` when the time is up.
#[track_caller]
pub fn until_some<T>(limit: Duration, what: &str, mut attempt: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    let mut pause = Duration::from_millis(2);
    loop {
        if let Some(value) = attempt() {
            return value;
        }
        assert!(start.elapsed() < limit, "waited {limit:?} in vain for this: {what}");
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}
