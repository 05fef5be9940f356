//! Switches for the tests of the project itself: each breaks one promise, to show that a test would see it.
//!
//! Without the feature `testing` every switch is off and the compiler removes it.

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
