//! A task's policies: how often, how long after a failure, how long a finished entry is kept.

use std::time::Duration;

/// How long after a failure the next attempt may start: `first × factor^(n-1)`, at most `max`, ± `jitter`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Backoff {
    /// After the first failure.
    pub first: Duration,
    /// What each further failure multiplies it by; at least 1.
    pub factor: f64,
    /// The longest wait before jitter.
    pub max: Duration,
    /// The share by which a wait may be shorter or longer, from 0 to 1.
    pub jitter: f64,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { first: Duration::from_secs(5), factor: 3.0, max: Duration::from_secs(6 * 3600), jitter: 0.1 }
    }
}

impl Backoff {
    /// The wait after failure number `failures` (from 1). `chance` is between 0 and 1 and decides the jitter.
    /// The cap comes before the jitter, in a type that saturates: no number of failures overflows.
    pub fn wait(&self, failures: i32, chance: f64) -> Duration {
        let exponent = f64::from(failures.max(1) - 1);
        let seconds = (self.first.as_secs_f64() * self.factor.powf(exponent)).min(self.max.as_secs_f64());
        let spread = 1.0 + self.jitter * (2.0 * chance.clamp(0.0, 1.0) - 1.0);
        Duration::try_from_secs_f64(seconds * spread).unwrap_or(self.max)
    }
}

/// Whether a handler may be started again when nobody knows how its last start ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Delivery {
    /// Started again until it is known to have worked, or attempts are used up.
    #[default]
    AtLeastOnce,
    /// Started once at most: whatever ends it early makes the entry failed.
    AtMostOnce,
}

/// How long a finished entry is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// Deleted this long after its end; zero deletes at its end.
    For(Duration),
    /// Never deleted.
    Forever,
}

/// How long finished entries of a task are kept, by how they ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// After `completed`.
    pub completed: Keep,
    /// After `failed`.
    pub failed: Keep,
    /// After `cancelled`.
    pub cancelled: Keep,
}

impl Default for Retention {
    fn default() -> Self {
        let days = |n: u64| Keep::For(Duration::from_secs(n * 86_400));
        Self { completed: days(1), failed: days(14), cancelled: days(14) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_is_capped_before_jitter_whatever_the_number_of_failures() {
        let backoff =
            Backoff { first: Duration::from_secs(1), factor: 10.0, max: Duration::from_secs(3600), jitter: 0.1 };
        for failures in [1, 5, 40, 300, 400, 1000, i32::MAX] {
            for chance in [0.0, 0.5, 1.0] {
                let wait = backoff.wait(failures, chance);
                assert!(wait <= Duration::from_secs(66 * 60), "{failures} failures waited {wait:?}");
                if failures > 4 {
                    assert!(wait >= Duration::from_secs(54 * 60), "{failures} failures waited {wait:?}");
                }
            }
        }
        assert_eq!(backoff.wait(2, 0.5), Duration::from_secs(10));
    }
}
