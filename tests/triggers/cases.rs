//! Tables of expressions with their due times.

use jiff::Timestamp;
use serde::Deserialize;
use soloist::config::duration;
use soloist::model::time::rfc3339;
use soloist::trigger::{Cron, Kind, Timer, Zone};

/// An expression or an interval, and what comes of it.
#[derive(Debug, Deserialize)]
pub struct Case {
    pub expr: String,
    pub tz: String,
    pub after: Timestamp,
    pub anchor: Option<Timestamp>,
    #[serde(default)]
    pub expect: Vec<Timestamp>,
    #[serde(default)]
    pub invalid: bool,
}

pub fn cron() -> Vec<Case> {
    serde_json::from_str(include_str!("../cases/cron.json")).unwrap()
}

pub fn intervals() -> Vec<Case> {
    serde_json::from_str(include_str!("../cases/intervals.json")).unwrap()
}

impl Case {
    pub fn expected(&self) -> Vec<String> {
        self.expect.iter().map(Timestamp::to_string).collect()
    }

    /// The reader of a file or a command line takes a text without blanks for an interval.
    fn timer(&self) -> Option<Timer> {
        let kind = match duration::parse(&self.expr) {
            Ok(every) => Kind::Every { anchor: self.anchor.unwrap_or(self.after).as_microsecond(), every },
            Err(_) => Kind::Cron { cron: Cron::parse(&self.expr).ok()?, zone: Zone::get(&self.tz).ok()? },
        };
        Some(Timer::new(kind))
    }
}

/// The next `count` due times.
pub fn due(timer: &Timer, after: Timestamp, count: usize) -> Vec<String> {
    let first = timer.next(after.as_microsecond());
    std::iter::successors(first, |at| timer.next(*at)).take(count).map(rfc3339).collect()
}

#[test]
fn the_library_agrees_with_every_case() {
    let cases: Vec<Case> = cron().into_iter().chain(intervals()).collect();
    assert!(cases.len() > 100, "{}", cases.len());
    for case in cases.iter().filter(|case| !case.invalid) {
        let timer = case.timer().unwrap_or_else(|| panic!("{case:?} is refused"));
        assert_eq!(due(&timer, case.after, case.expect.len()), case.expected(), "{case:?}");
    }
}

#[test]
fn the_library_refuses_every_wrong_expression() {
    // Of intervals the reader knows the bounds, see `the_binary_agrees_with_every_case`.
    let wrong = cron().into_iter().filter(|case| case.invalid && duration::parse(&case.expr).is_err());
    for case in wrong {
        assert!(case.timer().is_none(), "{case:?} is accepted");
    }
}
