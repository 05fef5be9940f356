//! The words with which Soloist itself fails an entry for good, in one place: whoever writes them, and whoever tells from
//! them what has happened.

/// Before the database's words, where the work is done and its row could not be marked.
const UNMARKED: &str = "the work is done, but its row could not be marked: ";

/// Of an entry that a stop cut off and that may be started once at most.
pub const CUT_OFF: &str = "cut off by a stop; it may have taken effect, and is not started again";

/// Of an attempt that took longer than its time-out; a span follows.
pub const TIMED_OUT: &str = "timed out after ";

/// Of an attempt whose node is gone; after the node's name.
pub const LOST: &str = "was lost while it worked this entry";

/// Of an attempt whose outside worker has not reported.
pub const UNREPORTED: &str = "the lease of the outside worker ended before it reported";

/// Why an entry failed whose row could not be marked.
pub fn unmarked(words: &str) -> String {
    format!("{UNMARKED}{words}")
}

/// True if an entry failed only since its row could not be marked.
pub fn is_unmarked(error: &str) -> bool {
    error.starts_with(UNMARKED)
}

/// The database's words alone.
pub fn words_of_unmarked(error: &str) -> &str {
    error.strip_prefix(UNMARKED).unwrap_or(error)
}

/// True if it is not known whether the attempt took effect: a stop, a time-out or the end of its node cut it off.
pub fn is_cut_off(error: &str) -> bool {
    error.starts_with(CUT_OFF) || error.starts_with(TIMED_OUT) || error.starts_with(UNREPORTED) || error.contains(LOST)
}
