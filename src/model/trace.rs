//! The trace that a piece of work belongs to, as W3C Trace Context writes it: `00-TRACE-PARENT-FLAGS`.
//!
//! Read strictly: what is not quite one is none, and never an error.

use std::fmt;

/// How long the text of version 00 is.
const LENGTH: usize = 55;

/// The flags that are handed on: sampled, and that the trace's number is random.
const FLAGS: u8 = 0b11;

/// A trace, and the span in it that comes before. Neither is all zeros.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trace {
    /// The trace.
    pub id: u128,
    /// The span that caused what follows.
    pub parent: u64,
    flags: u8,
}

impl Trace {
    /// A new trace, whose first span has a number already.
    pub fn begin() -> Self {
        Self { id: fastrand::u128(1..), parent: fastrand::u64(1..), flags: FLAGS }
    }

    /// The value of a header `traceparent`, or of a variable `TRACEPARENT`.
    pub fn parse(text: &str) -> Option<Self> {
        let (version, rest) = (hex(text.get(..2)?)?, text.get(2..LENGTH)?);
        // A later version may say more after these, behind a dash.
        let ends = match text.as_bytes().get(LENGTH) {
            None => true,
            Some(next) => version > 0 && *next == b'-',
        };
        let mut parts = rest.strip_prefix('-')?.split('-');
        let (id, parent, flags) = (parts.next()?, parts.next()?, parts.next()?);
        if !ends || version == 0xff || (id.len(), parent.len(), flags.len()) != (32, 16, 2) {
            return None;
        }
        let (id, parent, flags) = (hex(id)?, hex(parent)?, hex(flags)?);
        let (parent, flags) = (u64::try_from(parent).ok()?, u8::try_from(flags).ok()?);
        (id != 0 && parent != 0).then_some(Self { id, parent, flags: flags & FLAGS })
    }

    /// The same trace, with a new span as the one that comes before.
    #[must_use]
    pub fn child(self) -> Self {
        self.under(fastrand::u64(1..))
    }

    /// The same trace, with this span as the one that comes before.
    #[must_use]
    pub fn under(self, parent: u64) -> Self {
        Self { parent, ..self }
    }

    /// True if it is to be recorded.
    pub fn is_sampled(self) -> bool {
        self.flags & 1 == 1
    }
}

/// Small letters alone: capitals are no number here.
fn hex(text: &str) -> Option<u128> {
    let digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    text.bytes().all(digit).then(|| u128::from_str_radix(text, 16).ok()).flatten()
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{:032x}-{:016x}-{:02x}", self.id, self.parent, self.flags)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const RIGHT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn what_is_right_is_read_and_written_as_it_was() {
        for right in [RIGHT, "00-00000000000000000000000000000001-0000000000000001-00"] {
            assert_eq!(Trace::parse(right).unwrap().to_string(), right);
        }
        let later = format!("cc{}-what-comes", &RIGHT[2..]);
        assert_eq!(Trace::parse(&later), Trace::parse(RIGHT));
        let begun = Trace::begin();
        assert_eq!(Trace::parse(&begun.to_string()), Some(begun));
        assert!(begun.is_sampled());
    }

    #[test]
    fn what_is_not_quite_right_is_none() {
        let changed = |from: &str, to: &str| RIGHT.replacen(from, to, 1);
        let wrong = [
            String::new(),
            "00".to_owned(),
            RIGHT[..54].to_owned(),
            format!("{RIGHT}-"),
            format!("{RIGHT}0"),
            format!(" {RIGHT}"),
            format!("{RIGHT} "),
            format!("cc{}.", &RIGHT[2..]),
            changed("00", "ff"),
            changed("00", "0"),
            changed("0af", "0AF"),
            changed("0af", "+af"),
            changed("0af7", "0äf"),
            changed("-01", "-0g"),
            changed("-", "_"),
            changed("0af7651916cd43dd8448eb211c80319c", &"0".repeat(32)),
            changed("b7ad6b7169203331", &"0".repeat(16)),
            changed("1c80319c-b7ad6b71", "1c80319-cb7ad6b71"),
        ];
        for wrong in wrong {
            assert_eq!(Trace::parse(&wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_child_is_of_the_same_trace() {
        let (trace, child) = (Trace::parse(RIGHT).unwrap(), Trace::parse(RIGHT).unwrap().child());
        assert_eq!((child.id, child.is_sampled()), (trace.id, true));
        assert_ne!(child.parent, trace.parent);
        assert_ne!(Trace::begin().id, Trace::begin().id);
    }
}
