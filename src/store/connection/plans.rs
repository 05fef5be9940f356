//! When PostgreSQL must forget the plans of a session's prepared statements.
//!
//! A plan that was made while the table was all but empty reads the table whole, and is kept until the server next
//! analyzes it, however many rows have come since. Planning anew costs a claim a millisecond, so it is done only when
//! there is a reason.

use std::time::{Duration, Instant};

/// How often a session looks at its reasons.
const LOOK: Duration = Duration::from_secs(1);

/// Plans are forgotten after this, whatever is seen: they also read tables of users, of whose size nothing is known.
const OLD: Duration = Duration::from_secs(60);

/// What growth gives no reason, in bytes: 64 pages, which are read whole in less time than a statement is planned.
const LITTLE: i64 = 64 * 8192;

/// Bytes of the table that most plans are about.
pub(super) const SIZE: &str = "SELECT COALESCE(pg_catalog.pg_relation_size(to_regclass('soloist_entries')), 0) AS n";

/// What the plans of a session were made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) enum Plans {
    /// For each statement's own values: those of users may need that.
    OfUsers,
    /// Once for all values: the statements are known to be well served so.
    Generic,
}

/// How old plans are, and how large the table was when they were made.
pub(super) struct Age {
    plans: Plans,
    looked: Option<Instant>,
    made: Instant,
    size: i64,
}

impl Age {
    pub fn new(plans: Plans) -> Self {
        Self { plans, looked: None, made: Instant::now(), size: 0 }
    }

    /// True if it is time to look whether the plans still fit.
    pub fn is_due(&self) -> bool {
        self.looked.is_none_or(|looked| looked.elapsed() > LOOK)
    }

    /// True if the size of the table is a reason to ask for.
    pub fn asks_size(&self) -> bool {
        self.plans == Plans::Generic
    }

    /// What a look has seen; true if the plans must go.
    pub fn looked(&mut self, size: i64) -> bool {
        let first = self.looked.replace(Instant::now()).is_none();
        let other = size > self.size.saturating_mul(2).saturating_add(LITTLE) || size < self.size / 4;
        let stale = self.plans == Plans::OfUsers || other || self.made.elapsed() > OLD;
        if first || stale {
            self.made = Instant::now();
            self.size = size;
        }
        stale && !first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_go_when_the_table_has_outgrown_them() {
        let mut age = Age::new(Plans::Generic);
        assert!(age.is_due() && !age.looked(0), "nothing is planned before the first look");
        assert!(!age.is_due());
        assert!(!age.looked(LITTLE), "a small table is read whole quickly");
        assert!(age.looked(LITTLE + 1));
        assert!(!age.looked(3 * LITTLE));
        assert!(age.looked(4 * LITTLE));
        assert!(age.looked(LITTLE / 2), "it has shrunk");
        age.made = age.made.checked_sub(OLD * 2).unwrap_or(age.made);
        assert!(age.looked(LITTLE / 2), "tables of users may have grown");
    }

    #[test]
    fn plans_for_values_of_users_go_at_each_look() {
        let mut age = Age::new(Plans::OfUsers);
        assert!(!age.asks_size() && !age.looked(0));
        assert!(age.looked(0));
    }
}
