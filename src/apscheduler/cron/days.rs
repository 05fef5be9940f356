//! The day of the month and the day of the week: both must match in APScheduler, in an expression either, unless one of
//! them begins with `*`. Where that cannot be written the pair is refused.

use super::super::Wrong;
use super::field::{Field, Item};
use super::{DAY, DAY_OF_WEEK, KINDS};

/// All days of a month that may come, bit 1 for the 1st.
const ALL_DATES: u64 = (1 << 32) - 2;
/// The weeks of a month: every day of the week comes once in each, in the last of them at most.
const WEEKS: [u64; 5] = [0x7f << 1, 0x7f << 8, 0x7f << 15, 0x7f << 22, 0x7 << 29];
const FIRST: u64 = 1 << 1;
const SUNDAY: usize = 6;

/// The two fields of days of an expression.
pub(super) fn expression(day: &Field, weekday: &Field) -> Result<(String, String), Wrong> {
    let dates = day.numbers(&KINDS[DAY]);
    let all_dates = dates & ALL_DATES == ALL_DATES;
    let weekdays = week(weekday);
    let places: Vec<_> = day.0.iter().filter_map(place).filter(|(_, day)| weekdays[*day]).collect();
    let has_places = day.0.iter().any(|item| place(item).is_some());
    let has_last = day.0.contains(&Item::Last);
    let open = || "*".to_owned();

    if weekdays == [true; 7] {
        return Ok(match (has_places, dates != 0 || has_last) {
            _ if all_dates => (open(), open()),
            (false, _) => (day.expression(), open()),
            (true, false) => (open(), in_places(&places)),
            // Either is enough, and neither may begin with `*`.
            (true, true) => (numbers(dates, has_last), in_places(&places)),
        });
    }
    if all_dates {
        return Ok((open(), of_week(weekdays)));
    }
    if dates == 0 && !has_last {
        if places.is_empty() {
            return Err(Wrong::new("day", "never comes together with this day_of_week"));
        }
        return Ok((open(), in_places(&places)));
    }
    let both = Wrong::new(
        "day",
        "both must match, it and day_of_week, and no cron expression says so of these two: give one of them, or make a \
         schedule for each",
    );
    if has_places {
        return Err(both);
    }
    // Whichever begins with `*` makes it both.
    let text = day.expression();
    if text.starts_with('*') {
        return Ok((text, of_week(weekdays)));
    }
    if weekdays[SUNDAY] {
        let mut others = weekdays;
        others[SUNDAY] = false;
        let others = Some(of_week(others)).filter(|others| !others.is_empty());
        return Ok((text, ["*/7".to_owned()].into_iter().chain(others).collect::<Vec<_>>().join(",")));
    }
    if dates & FIRST != 0 {
        let others = Some(numbers(dates & !FIRST, has_last)).filter(|others| !others.is_empty());
        let day = ["*/31".to_owned()].into_iter().chain(others).collect::<Vec<_>>().join(",");
        return Ok(match weeks(dates).filter(|_| !has_last) {
            Some(weeks) => (open(), in_weeks(&weeks, weekdays)),
            None => (day, of_week(weekdays)),
        });
    }
    match weeks(dates).filter(|_| !has_last) {
        Some(weeks) => Ok((open(), in_weeks(&weeks, weekdays))),
        None => Err(both),
    }
}

fn place(item: &Item) -> Option<(usize, usize)> {
    if let Item::Nth(place, day) = *item { Some((place, day)) } else { None }
}

/// The days of the week that are named, Monday first.
fn week(field: &Field) -> [bool; 7] {
    let set = field.numbers(&KINDS[DAY_OF_WEEK]);
    std::array::from_fn(|day| set >> day & 1 == 1)
}

/// A day of the week as an expression numbers it: Sunday is 0.
fn number(day: usize) -> usize {
    (day + 1) % 7
}

/// Days of the week as ranges and numbers.
fn of_week(days: [bool; 7]) -> String {
    // Sunday is 0 and ends no range.
    let mut parts = ranges((0..SUNDAY).filter(|day| days[*day]).map(number));
    if days[SUNDAY] {
        parts.push("0".to_owned());
    }
    parts.join(",")
}

/// Dates as ranges and numbers.
fn numbers(dates: u64, last: bool) -> String {
    let mut parts = ranges((1..=31).filter(|day| dates >> day & 1 == 1));
    if last {
        parts.push("L".to_owned());
    }
    parts.join(",")
}

/// Numbers in rising order, three or more neighbours as a range.
fn ranges(numbers: impl Iterator<Item = usize>) -> Vec<String> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => runs.push((number, number)),
        }
    }
    let text = |(first, last): (usize, usize)| match last - first {
        0 => first.to_string(),
        1 => format!("{first},{last}"),
        _ => format!("{first}-{last}"),
    };
    runs.into_iter().map(text).collect()
}

/// `1#1`, `5L`
fn in_places(places: &[(usize, usize)]) -> String {
    let one = |(place, day): &(usize, usize)| match place {
        5 => format!("{}L", number(*day)),
        place => format!("{}#{}", number(*day), place + 1),
    };
    places.iter().map(one).collect::<Vec<_>>().join(",")
}

/// The weeks of which a set of dates is made up, if it is.
fn weeks(dates: u64) -> Option<Vec<usize>> {
    let whole: Vec<_> = (0..WEEKS.len()).filter(|week| dates & WEEKS[*week] == WEEKS[*week]).collect();
    let made_up = whole.iter().fold(0, |set, week| set | WEEKS[*week]);
    (made_up == dates && !whole.is_empty()).then_some(whole)
}

fn in_weeks(weeks: &[usize], days: [bool; 7]) -> String {
    let days = || (0..7).filter(|day| days[*day]);
    in_places(&weeks.iter().flat_map(|week| days().map(|day| (*week, day))).collect::<Vec<_>>())
}
