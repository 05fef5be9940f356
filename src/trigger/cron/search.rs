//! Finds the next due time. Local times are searched in days and months, never step by step; a zone is walked from one
//! change of its clocks to the next.

use jiff::Timestamp;
use jiff::civil::{Date, Weekday};
use jiff::tz::Offset;

use super::Cron;
use crate::model::time::{Micros, SECOND};
use crate::trigger::zone::Zone;

/// A gap that is longer is a change of calendar: the days that it skips never were, and are not made up.
pub(in crate::trigger) const LONGEST_GAP: i64 = 3 * 3600;

const DAY: i64 = 86_400;

impl Cron {
    /// The first due time strictly later than `after`; `None` past the year 9999.
    ///
    /// An expression whose second, minute or hour begins with `*` comes at every instant whose local time matches. Any
    /// other is a time on the wall and comes once: after a gap if it fell into one, before a repetition is repeated.
    pub fn next(&self, zone: &Zone, after: Micros) -> Option<Micros> {
        let mut at = after.div_euclid(SECOND).saturating_add(1).max(Timestamp::MIN.as_second() + DAY);
        loop {
            if at > Timestamp::MAX.as_second() {
                return None;
            }
            let period = zone.period(at);
            let mut local = at + period.offset;
            if let Some((since, before)) = period.since.filter(|_| !self.real_time) {
                let gap = period.offset - before;
                if gap < 0 {
                    local = local.max(since + before);
                } else if at == since && gap <= LONGEST_GAP {
                    local = since + before;
                }
            }
            let due = self.next_local(local).map(|local| at.max(local - period.offset));
            match period.until {
                Some(until) if due.is_none_or(|due| due >= until) => at = until,
                _ => return due.filter(|due| *due <= Timestamp::MAX.as_second()).map(|due| due * SECOND),
            }
        }
    }

    /// The first local time that matches, not before `from`; both in seconds, as if it were UTC.
    pub(in crate::trigger) fn next_local(&self, from: i64) -> Option<i64> {
        let today = from.div_euclid(DAY);
        let first = self.next_day(today)?;
        if first > today {
            return Some(first * DAY + self.time_from(0)?);
        }
        match self.time_from(from.rem_euclid(DAY)) {
            Some(time) => Some(first * DAY + time),
            None => Some(self.next_day(today + 1)? * DAY + self.time_from(0)?),
        }
    }

    /// The first time of a day that matches, not before `from`; in seconds after midnight.
    fn time_from(&self, from: i64) -> Option<i64> {
        let (hour, minute, second) = (from / 3600, from / 60 % 60, from % 60);
        let first = |set: u64| i64::from(set.trailing_zeros());
        let in_minute = |second: i64| at_or_after(self.seconds, second);
        let in_hour = |minute: i64, second: i64| match at_or_after(self.minutes, minute)? {
            same if same == minute => match in_minute(second) {
                Some(second) => Some(minute * 60 + second),
                None => at_or_after(self.minutes, minute + 1).map(|later| later * 60 + first(self.seconds)),
            },
            later => Some(later * 60 + first(self.seconds)),
        };
        let from_hour = |hour: i64| {
            at_or_after(self.hours, hour).map(|hour| hour * 3600 + first(self.minutes) * 60 + first(self.seconds))
        };
        match at_or_after(self.hours, hour)? {
            same if same == hour => match in_hour(minute, second) {
                Some(rest) => Some(hour * 3600 + rest),
                None => from_hour(hour + 1),
            },
            later => from_hour(later),
        }
    }

    /// The first day that matches, not before `from`; both in days since 1970.
    fn next_day(&self, from: i64) -> Option<i64> {
        let date = Offset::UTC.to_datetime(Timestamp::from_second(from * DAY).ok()?).date();
        let (mut year, mut month, mut day) = (date.year(), date.month(), date.day());
        loop {
            if self.months >> month & 1 == 1 {
                let first = Date::new(year, month, 1).ok()?;
                let length = first.days_in_month();
                let days = self.days.of(sunday_is_0(first.weekday()), length.unsigned_abs().into());
                if let Some(day) = at_or_after(days, day.into()) {
                    let midnight = Offset::UTC.to_timestamp(first.at(0, 0, 0, 0)).ok()?;
                    return Some(midnight.as_second().div_euclid(DAY) + day - 1);
                }
            }
            day = 1;
            (year, month) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
        }
    }
}

fn sunday_is_0(weekday: Weekday) -> u32 {
    weekday.to_sunday_zero_offset().unsigned_abs().into()
}

/// The first member of a set that is not below `from`.
fn at_or_after(set: u64, from: i64) -> Option<i64> {
    let rest = set.checked_shr(u32::try_from(from).ok()?).filter(|rest| *rest != 0)?;
    Some(from + i64::from(rest.trailing_zeros()))
}
