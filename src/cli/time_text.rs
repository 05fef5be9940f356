//! Instants and spans as people type and read them.

use std::time::Duration;

use jiff::Timestamp;

use crate::config::{duration, plain};
use crate::model::time::{Micros, micros};

/// An RFC 3339 instant.
pub(super) fn instant(text: &str) -> Result<Micros, String> {
    plain::instant(text).map(Timestamp::as_microsecond).map_err(|wrong| format!("it {}: {}", wrong.reason, wrong.help))
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
    timestamp(at).strftime("%Y-%m-%d %H:%M:%SZ").to_string()
}

/// A due time in UTC: to the second, or with all the digits that it has.
pub(super) fn due(at: Micros) -> String {
    timestamp(at).strftime("%Y-%m-%d %H:%M:%S%.fZ").to_string()
}

fn timestamp(at: Micros) -> Timestamp {
    Timestamp::from_microsecond(at).unwrap_or(if at < 0 { Timestamp::MIN } else { Timestamp::MAX })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_due_time_has_its_digits() {
        assert_eq!([0, 500_000, 1_250_000].map(due).map(|text| text[17..].to_owned()), ["00Z", "00.5Z", "01.25Z"]);
        assert_eq!(shown(1_250_000), "1970-01-01 00:00:01Z");
    }
}
