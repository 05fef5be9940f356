//! The bytes of a pickle, taken from the front.

use super::broken;

/// What is left of them.
pub(super) struct Input<'a>(pub &'a [u8]);

impl<'a> Input<'a> {
    /// The next bytes.
    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], String> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or_else(broken)?;
        self.0 = rest;
        Ok(taken)
    }

    /// The next bytes, as many as are wanted.
    pub(super) fn bytes<const N: usize>(&mut self) -> Result<[u8; N], String> {
        self.take(N)?.try_into().map_err(|_| broken())
    }

    /// An unsigned number of so many bytes, the least first.
    pub(super) fn size(&mut self, count: usize) -> Result<usize, String> {
        Ok(self.take(count)?.iter().rev().fold(0, |sum, byte| sum << 8 | usize::from(*byte)))
    }

    /// So many bytes as a number of `count` bytes before them says.
    pub(super) fn sized(&mut self, count: usize) -> Result<&'a [u8], String> {
        let size = self.size(count)?;
        self.take(size)
    }

    /// Up to the end of the line.
    pub(super) fn line(&mut self) -> Result<&'a str, String> {
        let end = self.0.iter().position(|byte| *byte == b'\n').ok_or_else(broken)?;
        let line = std::str::from_utf8(self.take(end)?).map_err(|_| broken())?;
        self.take(1)?;
        Ok(line)
    }
}
