//! Instants as the database holds them: microseconds since 1970, UTC.

use jiff::Timestamp;

/// Microseconds since 1970-01-01T00:00:00Z.
pub type Micros = i64;

/// One second.
pub const SECOND: Micros = 1_000_000;

/// An instant as RFC 3339 in UTC with `Z`. One outside the years that RFC 3339 knows is shown as the nearest it knows.
pub fn rfc3339(at: Micros) -> String {
    let at = Timestamp::from_microsecond(at).unwrap_or(if at < 0 { Timestamp::MIN } else { Timestamp::MAX });
    at.to_string()
}

/// A span as microseconds; longer than 290,000 years is cut there.
pub fn micros(span: std::time::Duration) -> Micros {
    Micros::try_from(span.as_micros()).unwrap_or(Micros::MAX)
}
