//! Time zones by name, from the rules that are built in: the same on every host, whatever its zone files say.

use std::fmt;
use std::sync::LazyLock;

use jiff::tz::{TimeZone, TimeZoneDatabase};
use jiff::{Timestamp, Zoned};

use crate::model::time::{Micros, SECOND};

static RULES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// A zone of the IANA database. Cheap to clone.
#[derive(Clone, PartialEq)]
pub struct Zone {
    name: String,
    rules: TimeZone,
}

/// A name that no zone has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ZoneError {
    name: String,
    nearest: Option<String>,
}

/// A stretch of time in which a zone's clocks run even. Seconds since 1970, UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Period {
    /// When it began, and the offset before; `None` for the first.
    pub since: Option<(i64, i64)>,
    /// Local time less UTC, in seconds.
    pub offset: i64,
    /// When the next begins; `None` for the last.
    pub until: Option<i64>,
}

impl Zone {
    /// The zone of that name, in any case. The error names the nearest.
    pub fn get(name: &str) -> Result<Self, ZoneError> {
        match RULES.get(name) {
            Ok(rules) if !rules.is_unknown() => {
                let name = rules.iana_name().unwrap_or(name).to_owned();
                Ok(Self { name, rules })
            }
            _ => Err(ZoneError { name: name.chars().take(60).collect(), nearest: nearest(name) }),
        }
    }

    /// UTC.
    pub fn utc() -> Self {
        Self { name: "UTC".to_owned(), rules: TimeZone::UTC }
    }

    /// Its name, such as `Europe/Berlin`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What its clocks show at an instant.
    pub fn local(&self, at: Micros) -> Zoned {
        let at = Timestamp::from_microsecond(at).unwrap_or(if at < 0 { Timestamp::MIN } else { Timestamp::MAX });
        at.to_zoned(self.rules.clone())
    }

    /// The first instant at which its clocks show this; where they leave it out the first after.
    pub fn at(&self, local: jiff::civil::DateTime) -> Option<Micros> {
        let at = local.to_zoned(self.rules.clone()).ok()?;
        match self.period(at.timestamp().as_second()).since {
            Some((since, _)) if at.datetime() != local => Some(since * SECOND),
            _ => Some(at.timestamp().as_microsecond()),
        }
    }

    /// When the clocks change next after an instant, if they ever do.
    pub fn next_change(&self, after: Micros) -> Option<Micros> {
        self.period(after.div_euclid(SECOND)).until.map(|change| change * SECOND)
    }

    /// The period that holds an instant. Changes of a name alone end none.
    pub(super) fn period(&self, at: i64) -> Period {
        let instant = |second: i64| {
            Timestamp::from_second(second).unwrap_or(if second < 0 { Timestamp::MIN } else { Timestamp::MAX })
        };
        let offset = self.rules.to_offset(instant(at));
        let before = |change: i64| self.rules.to_offset(instant(change - 1));
        let mut earlier = self.rules.preceding(instant(at + 1)).map(|change| change.timestamp().as_second());
        let since = earlier.find(|change| before(*change) != offset);
        let until = self.rules.following(instant(at)).find(|change| change.offset() != offset);
        Period {
            since: since.map(|change| (change, i64::from(before(change).seconds()))),
            offset: i64::from(offset.seconds()),
            until: until.map(|change| change.timestamp().as_second()),
        }
    }
}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Zone({})", self.name)
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// The zone that somebody who typed `name` most likely meant: its city, or a name with few other letters.
fn nearest(name: &str) -> Option<String> {
    let typed = name.to_lowercase();
    let known: Vec<String> = RULES.available().map(|name| name.to_string()).collect();
    let city = known.iter().find(|full| full.to_lowercase().rsplit('/').next() == Some(&typed));
    let near = || {
        let nearness = |full: &&String| strsim::normalized_damerau_levenshtein(&typed, &full.to_lowercase());
        known.iter().filter(|full| nearness(full) >= 0.55).max_by(|a, b| nearness(a).total_cmp(&nearness(b)))
    };
    city.or_else(near).cloned()
}

impl ZoneError {
    /// What would be right.
    pub fn help(&self) -> String {
        match &self.nearest {
            Some(near) => format!("the nearest name is “{near}”"),
            None => "a name of the IANA database, such as “Europe/Berlin” or “UTC”".to_owned(),
        }
    }
}

impl fmt::Display for ZoneError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "“{}” is not the name of a time zone: {}", self.name.escape_debug(), self.help())
    }
}

impl std::error::Error for ZoneError {}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn names_round_trip_in_any_case() {
        for name in ["Europe/Berlin", "UTC", "US/Pacific", "America/Argentina/Buenos_Aires", "EST5EDT", "Etc/GMT+5"] {
            assert_eq!(Zone::get(name).unwrap().name(), name);
            assert_eq!(Zone::get(&name.to_lowercase()).unwrap().name(), name);
        }
    }

    #[test]
    fn other_names_are_refused_with_the_nearest() {
        for wrong in ["", " ", "UTC+25", "../../etc/passwd", "/etc/localtime", "Etc/Unknown", "Mars/Olympus", "\0"] {
            assert!(Zone::get(wrong).is_err(), "{wrong:?}");
        }
        let said = |name: &str| Zone::get(name).unwrap_err().to_string();
        assert!(said("berlin").ends_with("the nearest name is “Europe/Berlin”"));
        assert!(said("Europe/Berln").ends_with("the nearest name is “Europe/Berlin”"));
        assert!(said("x").ends_with("such as “Europe/Berlin” or “UTC”"));
    }

    #[test]
    fn what_clocks_show_is_an_instant() {
        let berlin = Zone::get("Europe/Berlin").unwrap();
        let at = |local: &str| {
            let at = berlin.at(local.parse().unwrap()).unwrap();
            jiff::Timestamp::from_microsecond(at).unwrap().to_string()
        };
        assert_eq!(at("2025-03-26T02:30:00.5"), "2025-03-26T01:30:00.5Z");
        assert_eq!(at("2025-03-30T02:30:00"), "2025-03-30T01:00:00Z", "left out");
        assert_eq!(at("2025-10-26T02:30:00"), "2025-10-26T00:30:00Z", "comes twice");
    }

    #[test]
    fn a_period_says_how_its_clocks_stand() {
        let berlin = Zone::get("Europe/Berlin").unwrap();
        let (spring, autumn) = (1_743_296_400, 1_761_440_400);
        let summer = Period { since: Some((spring, 3600)), offset: 7200, until: Some(autumn) };
        assert_eq!(berlin.period(spring), summer);
        assert_eq!(berlin.period(autumn - 1), summer);
        assert_eq!(berlin.period(autumn).since, Some((autumn, 7200)));
        assert_eq!(berlin.period(i64::MIN / 2).since, None);
        let utc = Period { since: None, offset: 0, until: None };
        assert_eq!(Zone::utc().period(0), utc);
    }
}
