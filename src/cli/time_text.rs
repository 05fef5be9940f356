//! Instants and spans as people type and read them.

use std::time::Duration;

use jiff::Timestamp;

use crate::config::duration;
use crate::model::time::{Micros, micros};

/// An RFC 3339 instant.
pub(super) fn instant(text: &str) -> Result<Micros, String> {
    text.parse::<Timestamp>().map(Timestamp::as_microsecond).map_err(|_| {
        "an instant has a date, a time and a zone, as in 2027-01-01T03:00:00Z or 2027-01-01T03:00:00+01:00".to_owned()
    })
}

/// A span such as `5m`.
pub(super) fn span(text: &str) -> Result<Micros, String> {
    let span: Duration = duration::parse(text).map_err(|wrong| format!("it {wrong}; {}", duration::FORM))?;
    if span > duration::LONGEST {
        return Err("it is longer than 100 years".to_owned());
    }
    Ok(micros(span))
}

/// An instant to the second, in UTC.
pub(super) fn shown(at: Micros) -> String {
    let at = Timestamp::from_microsecond(at).unwrap_or(if at < 0 { Timestamp::MIN } else { Timestamp::MAX });
    at.strftime("%Y-%m-%d %H:%M:%SZ").to_string()
}
