//! The two fields of days, and which days of a month they name.

use super::error::CronError;
use super::field::{DAY, WEEKDAY, items, numbers};

/// Day of the month and day of the week.
#[derive(Debug, Clone)]
pub(crate) struct Days {
    /// Bit 1 is the 1st.
    pub dates: u64,
    /// `L`
    pub last: bool,
    /// `LW`
    pub last_weekday: bool,
    /// `nW`, by n.
    pub nearest: u64,
    /// Bit 0 is Sunday.
    pub weekdays: u64,
    /// `dL`, by d.
    pub last_of: u64,
    /// `d#n`, by n - 1 and d.
    pub nth: [u64; 5],
    /// One field is enough: neither begins with `*` or `?`.
    pub either: bool,
}

const SUNDAY: u32 = 0;
const SATURDAY: u32 = 6;

impl Days {
    pub(super) fn parse(day: &str, weekday: &str) -> Result<Self, CronError> {
        let open = |field: &str| field.starts_with(['*', '?']);
        let mut days = Self {
            dates: 0,
            last: false,
            last_weekday: false,
            nearest: 0,
            weekdays: 0,
            last_of: 0,
            nth: [0; 5],
            either: !open(day) && !open(weekday),
        };
        for item in items(&DAY, day)? {
            days.read_day(item)?;
        }
        for item in items(&WEEKDAY, weekday)? {
            days.read_weekday(item)?;
        }
        Ok(days)
    }

    fn read_day(&mut self, item: &str) -> Result<(), CronError> {
        match item.strip_suffix(['W', 'w']) {
            _ if item.eq_ignore_ascii_case("L") => self.last = true,
            Some("L" | "l") => self.last_weekday = true,
            Some(number) => self.nearest |= 1 << DAY.number(item, number)?,
            None => self.dates |= numbers(&DAY, item)?,
        }
        Ok(())
    }

    fn read_weekday(&mut self, item: &str) -> Result<(), CronError> {
        let day = |text: &str| WEEKDAY.number(item, text).map(|day| 1 << (day % 7));
        if let Some((text, nth)) = item.split_once('#') {
            let place = match nth {
                "1" | "2" | "3" | "4" | "5" => usize::from(nth.as_bytes()[0] - b'1'),
                _ => {
                    return Err(WEEKDAY.wrong(
                        item,
                        "is in no month",
                        "a month has a day of the week 1 to 5 times: 5#2",
                    ));
                }
            };
            self.nth[place] |= day(text)?;
        } else if let Some(text) = item.strip_suffix(['L', 'l']) {
            self.last_of |= day(text)?;
        } else {
            self.weekdays |= numbers(&WEEKDAY, item)?;
        }
        Ok(())
    }

    /// The days of a month that match, bit 1 for the 1st; of a month of `length` days whose 1st is the weekday `first`.
    pub(super) fn of(&self, first: u32, length: u32) -> u64 {
        let dates = self.by_date(first, length);
        let weekdays = self.by_weekday(first, length);
        let valid = (1 << (length + 1)) - 2;
        valid & if self.either { dates | weekdays } else { dates & weekdays }
    }

    fn by_date(&self, first: u32, length: u32) -> u64 {
        let weekday = |day: u32| (first + day - 1) % 7;
        let mut set = self.dates;
        if self.last {
            set |= 1 << length;
        }
        if self.last_weekday {
            set |= 1
                << match weekday(length) {
                    SATURDAY => length - 1,
                    SUNDAY => length - 2,
                    _ => length,
                };
        }
        for day in (1..=length).filter(|day| self.nearest >> day & 1 == 1) {
            set |= 1
                << match weekday(day) {
                    SATURDAY if day == 1 => 3,
                    SATURDAY => day - 1,
                    SUNDAY if day == length => day - 2,
                    SUNDAY => day + 1,
                    _ => day,
                };
        }
        set
    }

    fn by_weekday(&self, first: u32, length: u32) -> u64 {
        // Seven days from one that is the weekday `begin`, bit 0 for that day.
        let week = |set: u64, begin: u32| (set >> begin | set << (7 - begin)) & 0x7f;
        let mut days = week(self.last_of, (first + length) % 7) << (length - 6);
        for (place, nth) in (0..5).zip(self.nth) {
            days |= week(self.weekdays | nth, first) << (7 * place + 1);
        }
        days
    }
}
