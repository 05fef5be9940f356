//! For the tests of the project itself: switches that each break one promise, to show that a test would see it, and the
//! statements that really ran, to ask the database for their plans.
//!
//! Without the feature `testing` every switch is off, nothing is kept, and the compiler removes it.

use crate::store::statement::Statement;

/// True if the environment variable `SOLOIST_BREAK` names this switch, in a build with the feature `testing`.
#[cfg(feature = "testing")]
pub fn broken(switch: &str) -> bool {
    use std::sync::OnceLock;
    static BROKEN: OnceLock<Option<String>> = OnceLock::new();
    BROKEN.get_or_init(|| std::env::var("SOLOIST_BREAK").ok()).as_deref() == Some(switch)
}

/// Always false: this build has no switches.
#[cfg(not(feature = "testing"))]
#[inline(always)]
pub fn broken(_: &str) -> bool {
    false
}

/// This host's clock in microseconds: what `node_clock` puts in the place of the database's.
pub fn node_clock() -> i64 {
    jiff::Timestamp::now().as_microsecond()
}

#[cfg(feature = "testing")]
thread_local! {
    static RAN: std::cell::RefCell<Option<Vec<Statement>>> = const { std::cell::RefCell::new(None) };
}

/// Runs `work`, and gives the statements that connections ran on this thread meanwhile, binds and all.
#[cfg(feature = "testing")]
pub fn statements<T>(work: impl FnOnce() -> T) -> (T, Vec<Statement>) {
    RAN.set(Some(Vec::new()));
    let result = work();
    (result, RAN.take().unwrap_or_default())
}

#[cfg(feature = "testing")]
pub(crate) fn ran(statement: &Statement) {
    RAN.with_borrow_mut(|ran| {
        if let Some(ran) = ran {
            ran.push(statement.clone());
        }
    });
}

#[cfg(not(feature = "testing"))]
#[inline(always)]
pub(crate) fn ran(_: &Statement) {}
