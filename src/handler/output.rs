//! What is kept of what a handler said: bounded, and fit for every database.
//!
//! PostgreSQL refuses U+0000 in text and every database refuses bytes that are no UTF-8; both become U+FFFD here,
//! so that recording an outcome cannot fail because of its content.

/// Kept of a failed attempt, in bytes.
pub(super) const OF_FAILURE: usize = 16 * 1024;
/// Kept of a completed one, in bytes.
pub(super) const OF_SUCCESS: usize = 1024;

/// The last bytes of a stream of any length, in twice their memory.
#[derive(Debug, Default)]
pub(super) struct Tail {
    bytes: Vec<u8>,
    cut: bool,
}

impl Tail {
    /// Takes the next piece of the stream.
    pub(super) fn push(&mut self, piece: &[u8]) {
        let piece = if piece.len() > OF_FAILURE {
            self.bytes.clear();
            self.cut = true;
            &piece[piece.len() - OF_FAILURE..]
        } else {
            piece
        };
        self.bytes.extend_from_slice(piece);
        if self.bytes.len() > 2 * OF_FAILURE {
            self.bytes.drain(..self.bytes.len() - OF_FAILURE);
            self.cut = true;
        }
    }

    /// The last of the stream as text of at most `limit` bytes; `None` if there was nothing.
    pub(super) fn text(&self, limit: usize) -> Option<String> {
        let start = self.bytes.len().saturating_sub(limit);
        let mut kept = &self.bytes[start..];
        if start > 0 || self.cut {
            // What is left of a character that was cut in two says nothing.
            let torn = kept.iter().take(3).take_while(|byte| **byte & 0xC0 == 0x80).count();
            kept = &kept[torn..];
        }
        let mut text = clean(kept);
        if text.len() > limit {
            let start = text.ceil_char_boundary(text.len() - limit);
            text.drain(..start);
        }
        Some(text).filter(|text| !text.is_empty())
    }
}

/// The first of a text, at most `limit` bytes; `None` if there was nothing.
pub(super) fn head(bytes: &[u8], limit: usize) -> Option<String> {
    // One character more than fits, so that the cut falls on a whole one.
    let mut text = clean(&bytes[..bytes.len().min(limit + 4)]);
    text.truncate(text.floor_char_boundary(limit));
    Some(text).filter(|text| !text.is_empty())
}

/// Text without U+0000 and without bytes that are no UTF-8: each becomes U+FFFD.
pub(super) fn clean(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace('\0', "\u{FFFD}")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;

    #[test]
    fn nul_and_broken_utf_8_are_replaced_and_nothing_else_is() {
        assert_eq!(clean(b"a\0b\xffc"), "a\u{FFFD}b\u{FFFD}c");
        assert_eq!(clean("boom 💥\n".as_bytes()), "boom 💥\n");
    }

    #[test]
    fn a_tail_is_the_end_of_the_stream_whatever_the_pieces() {
        let stream: Vec<u8> = (0..100_000u32).flat_map(|n| format!("{n}\n").into_bytes()).collect();
        for size in [1, 7, 4096, OF_FAILURE, OF_FAILURE + 1, 200_000, stream.len()] {
            let mut tail = Tail::default();
            stream.chunks(size).for_each(|piece| tail.push(piece));
            assert_eq!(tail.text(OF_FAILURE).unwrap().as_bytes(), &stream[stream.len() - OF_FAILURE..], "{size}");
            assert_eq!(tail.text(10).unwrap(), "998\n99999\n");
            assert!(tail.bytes.capacity() <= 4 * OF_FAILURE);
        }
    }

    #[test]
    fn a_cut_never_leaves_half_a_character_nor_more_than_the_limit() {
        let mut tail = Tail::default();
        tail.push("💥".repeat(10_000).as_bytes());
        tail.push(b"x");
        for limit in [1, 2, 5, 6, 7, 8, 9, OF_FAILURE] {
            let text = tail.text(limit).unwrap();
            assert!(text.len() <= limit && !text.contains('\u{FFFD}'), "{limit}: {text}");
            let text = head("é💥".repeat(10_000).as_bytes(), limit);
            assert!(text.is_none_or(|text| text.len() <= limit && !text.contains('\u{FFFD}')), "{limit}");
        }
        // Replacements are longer than what they replace.
        let mut tail = Tail::default();
        tail.push(&[0xff; 40_000]);
        assert!(tail.text(OF_FAILURE).unwrap().len() <= OF_FAILURE);
        assert!(head(&[0; 40_000], OF_FAILURE).unwrap().len() <= OF_FAILURE);
        assert_eq!(Tail::default().text(5), None);
        assert_eq!(head(b"", 5), None);
    }
}
