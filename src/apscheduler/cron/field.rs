//! One field of a cron trigger: what may stand in it, and its text here and there.

/// What a field may hold.
#[derive(Debug)]
pub(in crate::apscheduler) struct Kind {
    low: u32,
    high: u32,
    /// Names of the numbers from `low` up.
    names: &'static [&'static str],
    /// True for the day of the month, which knows `last` and `1st mon` too.
    days: bool,
}

pub(in crate::apscheduler) const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
pub(in crate::apscheduler) const WEEKDAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
/// The places of a day of the week in a month; the last is the last.
pub(in crate::apscheduler) const PLACES: [&str; 6] = ["1st", "2nd", "3rd", "4th", "5th", "last"];

/// The fields in the order of [`NAMES`](super::NAMES).
pub(in crate::apscheduler) static KINDS: [Kind; 8] = [
    Kind { low: 1970, high: 9999, names: &[], days: false },
    Kind { low: 1, high: 12, names: &MONTHS, days: false },
    Kind { low: 1, high: 31, names: &[], days: true },
    Kind { low: 1, high: 53, names: &[], days: false },
    Kind { low: 0, high: 6, names: &WEEKDAYS, days: false },
    Kind { low: 0, high: 23, names: &[], days: false },
    Kind { low: 0, high: 59, names: &[], days: false },
    Kind { low: 0, high: 59, names: &[], days: false },
];

/// One item of a field's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Item {
    /// `*`, `*/n`
    All(Option<u32>),
    /// `a`, `a-b`, `a/n`, `a-b/n`; `a` alone ends where it begins.
    Range { first: u32, last: Option<u32>, step: Option<u32>, names: Option<&'static [&'static str]> },
    /// `1st mon`: the place in [`PLACES`], Monday is 0.
    Nth(usize, usize),
    /// `last`
    Last,
}

/// A field: a list of items. The default is `*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Field(pub Vec<Item>);

impl Default for Field {
    fn default() -> Self {
        Self(vec![Item::All(None)])
    }
}

impl Field {
    /// Reads a field; the error is a sentence.
    pub(super) fn parse(kind: &Kind, text: &str) -> Result<Self, String> {
        text.trim().split(',').map(|item| kind.item(item.trim())).collect::<Result<_, _>>().map(Self)
    }

    /// True if it leaves out nothing.
    pub(super) fn is_all(&self) -> bool {
        self.0.iter().any(|item| matches!(item, Item::All(None | Some(1))))
    }

    /// As the original writes it.
    pub(super) fn text(&self) -> String {
        self.0.iter().map(Item::text).collect::<Vec<_>>().join(",")
    }

    /// As an expression has it. Items that only days of the month know are left out.
    pub(super) fn expression(&self) -> String {
        self.0.iter().filter_map(Item::expression).collect::<Vec<_>>().join(",")
    }

    /// The numbers of a field that holds none over 63, without `last` and places.
    pub(super) fn numbers(&self, kind: &Kind) -> u64 {
        let bits = |first: u32, last: u32, step: u32| {
            (first..=last).step_by(step.max(1) as usize).filter(|n| *n < 64).fold(0, |set, n| set | 1_u64 << n)
        };
        self.0.iter().fold(0, |set, item| match *item {
            Item::All(step) => set | bits(kind.low, kind.high, step.unwrap_or(1)),
            Item::Range { first, last, step, .. } => {
                set | bits(first, last.unwrap_or(kind.high).min(kind.high), step.unwrap_or(1))
            }
            Item::Nth(..) | Item::Last => set,
        })
    }
}

impl Kind {
    fn item(&self, item: &str) -> Result<Item, String> {
        let short: String = item.chars().take(60).collect();
        let wrong = |why: String| format!("“{}” {why}", short.escape_debug());
        if item.is_empty() {
            return Err("an item of the list is empty: take the extra comma out".to_owned());
        }
        let (range, step) = match item.split_once('/') {
            Some((range, step)) => (range, Some(number(step).filter(|step| *step > 0))),
            None => (item, None),
        };
        if let Some(None) = step {
            return Err(wrong(
                "has no step that can be read: a step is a whole number from 1 up, as in */5".to_owned(),
            ));
        }
        let step = step.flatten();
        if range == "*" {
            return self.check_step(step, self.high - self.low).map_err(wrong).map(|()| Item::All(step));
        }
        let (first, last) = match range.split_once('-') {
            Some((first, last)) => (first, Some(last)),
            None => (range, None),
        };
        if let (Some(start), end) = (number(first), last.map(number))
            && end != Some(None)
        {
            let end = end.flatten();
            let last = end.or(step.is_none().then_some(start));
            self.check(start, last, step).map_err(wrong)?;
            return Ok(Item::Range { first: start, last, step, names: None });
        }
        if let (Some(start), end) = (self.named(first), last.map(|last| self.named(last)))
            && end != Some(None)
            && step.is_none()
        {
            let last = end.flatten().or(Some(start));
            self.check(start, last, None).map_err(wrong)?;
            return Ok(Item::Range { first: start, last, step, names: Some(self.names) });
        }
        self.of_days(item).ok_or_else(|| wrong(format!("cannot be read: {}", self.help())))
    }

    /// `last`, `1st mon`
    fn of_days(&self, item: &str) -> Option<Item> {
        if !self.days {
            return None;
        }
        if item.eq_ignore_ascii_case("last") {
            return Some(Item::Last);
        }
        let (place, day) = item.split_once(' ')?;
        let find = |names: &[&str], text: &str| names.iter().position(|name| name.eq_ignore_ascii_case(text));
        Some(Item::Nth(find(&PLACES, place)?, find(&WEEKDAYS, day.trim_start())?))
    }

    fn named(&self, text: &str) -> Option<u32> {
        (self.low..).zip(self.names).find(|(_, name)| name.eq_ignore_ascii_case(text)).map(|(number, _)| number)
    }

    fn check(&self, first: u32, last: Option<u32>, step: Option<u32>) -> Result<(), String> {
        let range = self.low..=self.high;
        if !range.contains(&first) || last.is_some_and(|last| !range.contains(&last)) {
            return Err(format!("is out of range: {}", self.help()));
        }
        if last.is_some_and(|last| last < first) {
            return Err("begins after its end: APScheduler's ranges do not wrap".to_owned());
        }
        self.check_step(step, last.unwrap_or(self.high) - first)
    }

    /// The original refuses a step that leads out of the range, so that it cannot be taken for an interval.
    fn check_step(&self, step: Option<u32>, range: u32) -> Result<(), String> {
        match step {
            Some(step) if step > range => Err(format!("has a step of {step}, larger than the range of {range}")),
            _ => Ok(()),
        }
    }

    fn help(&self) -> String {
        let names = match (self.names.first(), self.names.last()) {
            (Some(first), Some(last)) => format!(" or {first}-{last}"),
            _ if self.days => ", last, or as in “1st mon” and “last fri”".to_owned(),
            _ => String::new(),
        };
        format!("it is *, numbers from {}-{}{names}, in lists and with steps", self.low, self.high)
    }
}

fn number(text: &str) -> Option<u32> {
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
}

impl Item {
    fn text(&self) -> String {
        match *self {
            Self::All(None) => "*".to_owned(),
            Self::All(Some(step)) => format!("*/{step}"),
            Self::Range { first, last, step, names } => {
                let name = |number: u32| match names {
                    // Only months have names from 1 up.
                    Some(names) if names.len() == 12 => names[(number as usize + 11) % 12].to_owned(),
                    Some(names) => names[number as usize % names.len()].to_owned(),
                    None => number.to_string(),
                };
                let range = match last.filter(|last| *last != first) {
                    Some(last) => format!("{}-{}", name(first), name(last)),
                    None => name(first),
                };
                step.map_or(range.clone(), |step| format!("{range}/{step}"))
            }
            Self::Nth(place, day) => format!("{} {}", PLACES[place % 6], WEEKDAYS[day % 7]),
            Self::Last => "last".to_owned(),
        }
    }

    /// The same in numbers, as an expression has it.
    pub(super) fn expression(&self) -> Option<String> {
        match *self {
            Self::Nth(..) => None,
            Self::Last => Some("L".to_owned()),
            Self::Range { first, last, step, .. } => Some(Self::Range { first, last, step, names: None }.text()),
            Self::All(_) => Some(self.text()),
        }
    }
}
