//! One field as a set of numbers: lists, ranges, steps and names. What only fields of days know is `days`.

use super::error::{CronError, quoted};

/// What a field may hold.
pub(super) struct Field {
    pub name: &'static str,
    pub low: u32,
    pub high: u32,
    /// Names of the numbers from `low` up.
    names: &'static [&'static str],
    /// What the field's numbers are, for help texts.
    range: &'static str,
    /// The unit of an interval that people mean by a step too large.
    unit: Option<char>,
}

const MONTHS: &[&str] = &["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const DAYS: &[&str] = &["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

pub(super) const SECOND: Field =
    Field { name: "second", low: 0, high: 59, names: &[], range: "a second is 0-59", unit: Some('s') };
pub(super) const MINUTE: Field =
    Field { name: "minute", low: 0, high: 59, names: &[], range: "a minute is 0-59", unit: Some('m') };
pub(super) const HOUR: Field =
    Field { name: "hour", low: 0, high: 23, names: &[], range: "an hour is 0-23", unit: Some('h') };
pub(super) const DAY: Field = Field {
    name: "day of the month",
    low: 1,
    high: 31,
    names: &[],
    range: "a day of the month is 1-31, L (the last), LW (the last weekday) or 15W (the weekday nearest to the 15th)",
    unit: Some('d'),
};
pub(super) const MONTH: Field =
    Field { name: "month", low: 1, high: 12, names: MONTHS, range: "a month is 1-12 or JAN-DEC", unit: None };
pub(super) const WEEKDAY: Field = Field {
    name: "day of the week",
    low: 0,
    high: 7,
    names: DAYS,
    range: "a day of the week is 0-7 (0 and 7 are Sunday), SUN-SAT, 5L (the last Friday) or 5#2 (the second Friday)",
    unit: None,
};

/// A field of numbers alone as a set of bits.
pub(super) fn parse(field: &Field, text: &str) -> Result<u64, CronError> {
    items(field, text)?.try_fold(0, |set, item| Ok(set | numbers(field, item)?))
}

/// The items of a list, none of them empty.
pub(super) fn items<'a>(field: &Field, text: &'a str) -> Result<std::str::Split<'a, char>, CronError> {
    match text.split(',').any(str::is_empty) {
        true => Err(field.wrong(text, "has an empty list item", "take the extra comma out")),
        false => Ok(text.split(',')),
    }
}

/// `*`, `n`, `a-b`, each with or without `/step`, as a set of bits. Sunday is bit 0.
pub(super) fn numbers(field: &Field, item: &str) -> Result<u64, CronError> {
    let (range, step) = match item.split_once('/') {
        Some((range, step)) => (range, Some(field.step(item, step)?)),
        None => (item, None),
    };
    let (first, last) = match range.split_once('-') {
        _ if range == "*" || range == "?" && field.has_days() => (field.low, field.high),
        Some(("", _)) => return Err(field.wrong(item, "is negative", field.range)),
        Some((_, "")) => return Err(field.wrong(item, "is a range without an end", field.range)),
        Some((_, end)) if end.contains('-') => return Err(field.wrong(item, "is a range of three", field.range)),
        Some((first, last)) => (field.number(item, first)?, field.number(item, last)?),
        None if step.is_some() => (field.number(item, range)?, field.high),
        None => field.number(item, range).map(|number| (number, number))?,
    };
    Ok(field.set(first, last, step.unwrap_or(1)))
}

impl Field {
    pub(super) fn has_days(&self) -> bool {
        self.name == DAY.name || self.name == WEEKDAY.name
    }

    pub(super) fn wrong(&self, item: &str, what: &str, help: &str) -> CronError {
        CronError::new(Some(self.name), format!("the {} {} {what}", self.name, quoted(item)), help)
    }

    /// A number or a name of this field.
    pub(super) fn number(&self, item: &str, text: &str) -> Result<u32, CronError> {
        if let Some(named) = (self.low..).zip(self.names).find(|(_, name)| name.eq_ignore_ascii_case(text)) {
            return Ok(named.0);
        }
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(self.wrong(item, "cannot be read", self.range));
        }
        let number = text.parse().ok().filter(|number| (self.low..=self.high).contains(number));
        number.ok_or_else(|| self.wrong(item, "is out of range", self.range))
    }

    fn step(&self, item: &str, text: &str) -> Result<u32, CronError> {
        const HELP: &str = "a step is a whole number from 1 up, as in */5";
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(self.wrong(item, "has no step that can be read", HELP));
        }
        let step: u32 = text.parse().unwrap_or(u32::MAX);
        if step == 0 {
            return Err(self.wrong(item, "has a step of 0", HELP));
        }
        if step > self.high {
            let interval = match self.unit {
                Some(unit) if step < 1000 => {
                    format!(": an interval is written {step}{unit}, in a file every = \"{step}{unit}\"")
                }
                _ => String::new(),
            };
            let help = format!("a step divides one field, here up to {}, and is no interval{interval}", self.high);
            return Err(self.wrong(item, "has a step that is larger than its field", &help));
        }
        Ok(step)
    }

    /// Every `step`th number from `first` to `last`, over the end of the field where `last` is the smaller.
    fn set(&self, first: u32, last: u32, step: u32) -> u64 {
        let days = self.name == WEEKDAY.name;
        let first = if days && first > last { first % 7 } else { first };
        let end = if days { 6 } else { self.high };
        let step = step as usize;
        let bits = |numbers: &mut dyn Iterator<Item = u32>| {
            numbers.fold(0, |set, number| set | 1 << if days { number % 7 } else { number })
        };
        match first <= last {
            true => bits(&mut (first..=last).step_by(step)),
            false => bits(&mut (first..=end).chain(self.low..=last).step_by(step)),
        }
    }
}
