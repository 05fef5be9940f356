//! A cron expression that was made elsewhere in the fields of APScheduler, as far as it has them.

use super::field::{Field, PLACES, WEEKDAYS};
use super::{DAY, HOUR, KINDS, MINUTE, MONTH, SECOND};

/// The fields of an expression, the most significant first; nothing if the original has no fields for it.
pub(in crate::apscheduler) fn fields_of(expression: &str) -> Option<Vec<(&'static str, String)>> {
    let fields: Vec<&str> = expression.split_ascii_whitespace().collect();
    let (second, [minute, hour, day, month, weekday]) = match fields[..] {
        [minute, hour, day, month, weekday] => (None, [minute, hour, day, month, weekday]),
        [second, minute, hour, day, month, weekday] => (Some(second), [minute, hour, day, month, weekday]),
        _ => return None,
    };
    let plain = |index: usize, text: &str| Field::parse(&KINDS[index], text).ok().map(|field| field.text());
    let either = ![day, weekday].iter().any(|field| field.starts_with(['*', '?']));
    let dates = day.split(',').map(date).collect::<Option<Vec<_>>>()?;
    let mut found = vec![("month", plain(MONTH, month)?)];
    if weekday.contains(['#', 'L', 'l']) {
        // Places are days of the month there, where either is enough.
        let places = weekday.split(',').map(place).collect::<Option<Vec<_>>>()?;
        let only_places = day == "*" || day == "?";
        let dates = if only_places { Vec::new() } else { dates };
        if !only_places && !either {
            return None;
        }
        found.push(("day", dates.into_iter().chain(places).collect::<Vec<_>>().join(",")));
        found.push(("day_of_week", "*".to_owned()));
    } else {
        if either {
            return None;
        }
        found.push(("day", dates.join(",")));
        let days = weekday.split(',').map(day_of_week).collect::<Option<Vec<_>>>()?;
        found.push(("day_of_week", days.join(",")));
    }
    found.push(("hour", plain(HOUR, hour)?));
    found.push(("minute", plain(MINUTE, minute)?));
    if let Some(second) = second {
        found.push(("second", plain(SECOND, second)?));
    }
    Some(found)
}

fn date(item: &str) -> Option<String> {
    match item {
        "?" => Some("*".to_owned()),
        "L" | "l" => Some("last".to_owned()),
        _ => Field::parse(&KINDS[DAY], item).ok().map(|field| field.text()),
    }
}

/// `1#1`, `5L`
fn place(item: &str) -> Option<String> {
    let (day, place) = match item.split_once('#') {
        Some((day, place)) => (day, place.parse::<usize>().ok()?.checked_sub(1).filter(|place| *place < 5)?),
        None => (item.strip_suffix(['L', 'l'])?, 5),
    };
    Some(format!("{} {}", PLACES[place], WEEKDAYS[monday_is_0(day)?]))
}

fn day_of_week(item: &str) -> Option<String> {
    match item.split_once('-') {
        _ if item == "*" || item == "?" => Some("*".to_owned()),
        Some((first, last)) => {
            let (first, last) = (monday_is_0(first)?, monday_is_0(last)?);
            (first < last).then(|| format!("{}-{}", WEEKDAYS[first], WEEKDAYS[last]))
        }
        None => Some(WEEKDAYS[monday_is_0(item)?].to_owned()),
    }
}

fn monday_is_0(day: &str) -> Option<usize> {
    let named = WEEKDAYS.iter().position(|name| name.eq_ignore_ascii_case(day));
    named.or_else(|| day.parse::<usize>().ok().filter(|day| *day <= 7).map(|day| (day + 6) % 7))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_is_shown_in_fields_where_there_are_any() {
        let shown = |expression: &str| {
            let fields = fields_of(expression)?;
            Some(fields.into_iter().map(|(name, text)| format!("{name}={text}")).collect::<Vec<_>>().join("; "))
        };
        for (expression, fields) in [
            ("0 3 * * *", "month=*; day=*; day_of_week=*; hour=3; minute=0"),
            ("*/5 9-17 ? JAN,3 MON-5", "month=jan,3; day=*; day_of_week=mon-fri; hour=9-17; minute=*/5"),
            ("30 0 0 L * *", "month=*; day=last; day_of_week=*; hour=0; minute=0; second=30"),
            ("0 0 * * 1#1,0L", "month=*; day=1st mon,last sun; day_of_week=*; hour=0; minute=0"),
            ("0 0 1,15 * 2#3", "month=*; day=1,15,3rd tue; day_of_week=*; hour=0; minute=0"),
            ("0 0 */2 * 5,7", "month=*; day=*/2; day_of_week=fri,sun; hour=0; minute=0"),
        ] {
            assert_eq!(shown(expression).as_deref(), Some(fields), "{expression}");
        }
        for expression in ["@daily", "0 0 1 * 1", "0 22-2 * * *", "0 0 LW * *", "0 0 * * */2", "0 0 * * SUN-TUE"] {
            assert_eq!(shown(expression), None, "{expression}");
        }
    }
}
