//! Dates and times as APScheduler takes and shows them: ISO 8601, on the clocks of a zone where no offset is given.

use jiff::civil::DateTime;
use jiff::fmt::temporal::Pieces;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use crate::model::time::Micros;
use crate::trigger::Zone;

/// An instant, and how the original would show it: with the offset that it was given in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moment {
    /// The instant, to the microsecond.
    pub at: Timestamp,
    /// As Python's `isoformat` writes it.
    pub shown: String,
}

impl Moment {
    /// What these clocks show. Where they leave it out it is as much later as they go on, where they show it twice the
    /// first.
    pub(super) fn of(local: DateTime, clocks: &TimeZone) -> Option<Self> {
        let zoned = local.to_zoned(clocks.clone()).ok()?;
        let at = Timestamp::from_microsecond(zoned.timestamp().as_microsecond()).ok()?;
        // Python keeps what was written, a time that clocks leave out too.
        let shown = format!("{}{}", written(local), offset(&zoned));
        Some(Self { at, shown })
    }

    /// An instant on the clocks of a zone.
    pub fn on(zone: &Zone, at: Timestamp) -> Self {
        Self { at, shown: isoformat(&zone.local(at.as_microsecond())) }
    }

    /// Reads a date or a time.
    pub(super) fn read(text: &str, zone: &Zone) -> Result<Self, String> {
        const FORM: &str = "a date or a time such as \"2027-01-31\", \"2027-01-31 03:00:00\" or \
                            \"2027-01-31T03:00:00+01:00\"";
        let short: String = text.chars().take(60).collect();
        let wrong = || format!("“{}” cannot be read: {FORM}", short.escape_debug());
        let pieces = Pieces::parse(text.trim()).map_err(|_| wrong())?;
        if pieces.time_zone_annotation().is_some() {
            return Err(wrong());
        }
        let local = pieces.date().to_datetime(pieces.time().unwrap_or_default());
        let clocks = match pieces.to_numeric_offset() {
            Some(offset) => TimeZone::fixed(offset),
            None => clocks(zone),
        };
        Self::of(local, &clocks).ok_or_else(wrong)
    }
}

/// The rules of a zone.
fn clocks(zone: &Zone) -> TimeZone {
    zone.local(0).time_zone().clone()
}

/// As Python's `isoformat` writes a time with its offset.
pub(super) fn isoformat(at: &Zoned) -> String {
    format!("{}{}", written(at.datetime()), offset(at))
}

/// The same of an instant on the clocks of a zone.
pub(super) fn shown(zone: &Zone, at: Micros) -> String {
    isoformat(&zone.local(at))
}

fn written(local: DateTime) -> String {
    let micros = local.subsec_nanosecond() / 1000;
    let fraction = if micros == 0 { String::new() } else { format!(".{micros:06}") };
    format!("{}{fraction}", local.strftime("%Y-%m-%dT%H:%M:%S"))
}

fn offset(at: &Zoned) -> String {
    at.strftime("%:z").to_string()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn times_are_read_and_shown_as_python_does() {
        let berlin = Zone::get("Europe/Berlin").unwrap();
        for (text, at, shown) in [
            ("2027-01-31", "2027-01-30T23:00:00Z", "2027-01-31T00:00:00+01:00"),
            ("2027-07-31 03:00", "2027-07-31T01:00:00Z", "2027-07-31T03:00:00+02:00"),
            (" 2027-01-31T03:00:00.25Z", "2027-01-31T03:00:00.25Z", "2027-01-31T03:00:00.250000+00:00"),
            ("2027-01-31 03:00:00+05:30", "2027-01-30T21:30:00Z", "2027-01-31T03:00:00+05:30"),
            ("2025-10-26 02:30:00", "2025-10-26T00:30:00Z", "2025-10-26T02:30:00+02:00"),
        ] {
            let read = Moment::read(text, &berlin).unwrap();
            assert_eq!((read.at.to_string().as_str(), read.shown.as_str()), (at, shown), "{text}");
        }
        // Left out: an hour later, as Python counts it.
        let gap = Moment::read("2025-03-30 02:30:00", &berlin).unwrap();
        assert_eq!(gap.at.to_string(), "2025-03-30T01:30:00Z");
        for text in ["", "tomorrow", "2027-02-30", "2027-01-31 25:00", "2027-01-01[Europe/Berlin]", "1798761600"] {
            assert!(Moment::read(text, &berlin).unwrap_err().contains("cannot be read"), "{text}");
        }
    }
}
