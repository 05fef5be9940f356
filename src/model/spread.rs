//! Many durations as counts by bucket and a sum: what a histogram of the metrics holds.

use super::sums::BUCKETS;
use super::time::Micros;

/// Durations by bucket. The bounds are those of the sums by minute, so that both tell the same.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spread {
    /// How many fell into each bucket, not added up; the last takes what is longer than all bounds.
    pub counts: [u64; BUCKETS.len() + 1],
    /// All of them together, in microseconds.
    pub sum: u64,
}

impl Spread {
    /// Adds one; what is negative counts as nothing.
    pub fn note(&mut self, span: Micros) {
        let bucket = BUCKETS.iter().position(|bound| span <= *bound).unwrap_or(BUCKETS.len());
        self.counts[bucket] += 1;
        self.sum = self.sum.saturating_add(u64::try_from(span).unwrap_or(0));
    }

    /// Adds all of another.
    pub fn add(&mut self, other: &Self) {
        for (all, more) in self.counts.iter_mut().zip(&other.counts) {
            *all += more;
        }
        self.sum = self.sum.saturating_add(other.sum);
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_falls_into_the_first_bucket_that_holds_it() {
        let mut spread = Spread::default();
        for span in [-5, 0, 1_000, 1_001, i64::MAX] {
            spread.note(span);
        }
        assert_eq!((spread.counts[0], spread.counts[1], spread.counts[BUCKETS.len()]), (3, 1, 1));
        let mut twice = spread.clone();
        twice.add(&spread);
        assert_eq!(twice.count(), 10);
    }
}
