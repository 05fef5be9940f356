//! What the objects of an export's pickles mean: spans, zones, dates and the fields of a cron trigger, by the names of
//! their classes. Anything else is refused by its name.

use jiff::civil::{Date, DateTime};
use jiff::tz::{Offset, TimeZone};

use super::super::cron::{MONTHS, PLACES, WEEKDAYS};
use super::super::times::{self, Moment};
use super::pickle::{Object, Pickle, Value};
use crate::trigger::Zone;

/// Clocks: those of a zone that has a name, or at a fixed distance from UTC.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Clocks {
    Zone(Zone),
    Fixed(Offset),
}

impl Clocks {
    /// The zone of these clocks, if it has a name.
    pub(super) fn zone(&self) -> Result<Zone, String> {
        match self {
            Self::Zone(zone) => Ok(zone.clone()),
            Self::Fixed(offset) if offset.seconds() == 0 => Ok(Zone::utc()),
            // The names count westwards.
            Self::Fixed(offset) if offset.seconds() % 3600 == 0 => {
                Zone::get(&format!("Etc/GMT{:+}", -offset.seconds() / 3600)).map_err(|error| error.to_string())
            }
            Self::Fixed(offset) => {
                Err(format!("the offset {offset} is no zone with a name: give the job one, such as “Asia/Kolkata”"))
            }
        }
    }

    fn rules(&self) -> TimeZone {
        match self {
            Self::Zone(zone) => zone.local(0).time_zone().clone(),
            Self::Fixed(offset) => TimeZone::fixed(*offset),
        }
    }
}

impl Pickle {
    /// What was to be called, and with what.
    fn call(&self, value: &Value) -> Option<(&Value, &[Value])> {
        let Some(Object::Made { by, args, .. }) = self.object(value) else { return None };
        Some((by, self.items(args)?))
    }

    fn call_of(&self, value: &Value) -> Option<(&str, &[Value])> {
        let (by, args) = self.call(value)?;
        if let Value::Global(name) = by { Some((name, args)) } else { None }
    }

    fn wrong(&self, value: &Value, expected: &str) -> String {
        format!("is a pickled {}, and {expected} is expected", self.describe(value))
    }

    /// A `timedelta`, in microseconds.
    pub(super) fn span(&self, value: &Value) -> Result<i128, String> {
        match self.call_of(value) {
            Some(("datetime.timedelta", [Value::Int(days), Value::Int(seconds), Value::Int(micros)])) => {
                Ok((i128::from(*days) * 86_400 + i128::from(*seconds)) * 1_000_000 + i128::from(*micros))
            }
            _ => Err(self.wrong(value, "a datetime.timedelta")),
        }
    }

    /// A time zone.
    pub(super) fn clocks(&self, value: &Value) -> Result<Clocks, String> {
        let fixed = |span: &Value| -> Result<Clocks, String> {
            let seconds = i32::try_from(self.span(span)? / 1_000_000).ok();
            let offset = seconds.and_then(|seconds| Offset::from_seconds(seconds).ok());
            offset.map(Clocks::Fixed).ok_or_else(|| "is an offset of more than a day".to_owned())
        };
        match self.call_of(value) {
            Some(("datetime.timezone", [span, ..])) => return fixed(span),
            Some(("dateutil.tz.tz.tzoffset", [_, span])) => return fixed(span),
            Some(("dateutil.tz.tz.tzutc", [])) => return Ok(Clocks::Fixed(Offset::UTC)),
            _ => {}
        }
        // getattr(zoneinfo.ZoneInfo, "_unpickle")("Europe/Berlin", 1)
        if let Some((by, [Value::Text(name), ..])) = self.call(value)
            && let Some(("builtins.getattr", [Value::Global(class), Value::Text(maker)])) = self.call_of(by)
            && (class.as_ref(), maker.as_ref()) == ("zoneinfo.ZoneInfo", "_unpickle")
        {
            return Zone::get(name).map(Clocks::Zone).map_err(|error| error.to_string());
        }
        Err(self.wrong(value, "a zone with a name (zoneinfo.ZoneInfo)"))
    }

    /// A `datetime` with its zone.
    pub(super) fn moment(&self, value: &Value) -> Result<Moment, String> {
        let Some(("datetime.datetime", [Value::Bytes(bytes), clocks])) = self.call_of(value) else {
            return Err(self.wrong(value, "a datetime.datetime with a zone"));
        };
        let clocks = self.clocks(clocks)?.rules();
        let wrong = || "is a date that does not exist".to_owned();
        let (local, second_pass) = local(bytes).ok_or_else(wrong)?;
        let moment = Moment::of(local, &clocks).ok_or_else(wrong)?;
        if !second_pass {
            return Ok(moment);
        }
        let ambiguous = clocks.to_ambiguous_timestamp(local);
        let later = ambiguous.later().map_err(|_| wrong())?;
        Ok(Moment { at: later, shown: times::isoformat(&later.to_zoned(clocks)) })
    }

    /// The clocks of a `datetime`.
    pub(super) fn clocks_of(&self, value: &Value) -> Option<Clocks> {
        let (_, [_, clocks]) = self.call_of(value)? else { return None };
        self.clocks(clocks).ok()
    }

    /// A field of a cron trigger: its name, whether it was left at its default, and its text.
    pub(super) fn field(&self, value: &Value) -> Result<(String, bool, String), String> {
        let wrong = || self.wrong(value, "a field of a cron trigger");
        let Some((class, [])) = self.call_of(value) else { return Err(wrong()) };
        if !class.starts_with("apscheduler.triggers.cron.fields.") {
            return Err(wrong());
        }
        let member = |name| self.member(value, name).ok_or_else(wrong);
        let (Value::Text(name), Value::Bool(is_default)) = (member("name")?, member("is_default")?) else {
            return Err(wrong());
        };
        let items = self.items(member("expressions")?).ok_or_else(wrong)?;
        let texts: Vec<_> = items.iter().map(|item| self.expression(item)).collect::<Result<_, _>>()?;
        Ok((name.to_string(), *is_default, texts.join(",")))
    }

    /// One expression of a field, as the original writes it.
    fn expression(&self, value: &Value) -> Result<String, String> {
        let wrong = || self.wrong(value, "an expression of a cron field");
        let Some((class, [])) = self.call_of(value) else { return Err(wrong()) };
        let number = |name| match self.member(value, name) {
            Some(Value::Int(number)) => usize::try_from(*number).ok(),
            _ => None,
        };
        // `low` is the number of the first name.
        let range = |names: &[&str], low: usize| {
            let name = |number: usize| match names {
                [] => Some(number.to_string()),
                names => names.get(number.checked_sub(low)?).map(|name| (*name).to_owned()),
            };
            let first = name(number("first")?)?;
            let last = number("last").and_then(name).map(|last| format!("-{last}")).unwrap_or_default();
            let step = number("step").map(|step| format!("/{step}")).unwrap_or_default();
            Some(format!("{first}{last}{step}"))
        };
        let text = match class.strip_prefix("apscheduler.triggers.cron.expressions.") {
            Some("AllExpression") => Some(number("step").map_or("*".to_owned(), |step| format!("*/{step}"))),
            Some("RangeExpression") => range(&[], 0),
            Some("MonthRangeExpression") => range(&MONTHS, 1),
            Some("WeekdayRangeExpression") => range(&WEEKDAYS, 0),
            Some("WeekdayPositionExpression") => number("option_num")
                .zip(number("weekday"))
                .and_then(|(place, day)| Some(format!("{} {}", PLACES.get(place)?, WEEKDAYS.get(day)?))),
            Some("LastDayOfMonthExpression") => Some("last".to_owned()),
            _ => None,
        };
        text.ok_or_else(wrong)
    }

    /// A member of the state that an object was given.
    fn member(&self, value: &Value, name: &str) -> Option<&Value> {
        let Some(Object::Made { state, .. }) = self.object(value) else { return None };
        let Some(Object::Dict(members)) = self.object(state) else { return None };
        let named = |key: &Value| matches!(key, Value::Text(text) if **text == *name);
        members.iter().rev().find(|(key, _)| named(key)).map(|(_, value)| value)
    }
}

/// The ten bytes of a `datetime`, and whether the second pass of a repeated hour is meant.
fn local(bytes: &[u8]) -> Option<(DateTime, bool)> {
    let [high, low, month, day, hour, minute, second, micros @ ..] = bytes else { return None };
    let [a, b, c] = micros else { return None };
    let micros = i32::from(*a) << 16 | i32::from(*b) << 8 | i32::from(*c);
    let year = i16::from_be_bytes([*high, *low]);
    let date = Date::new(year, (month & 0x7f).try_into().ok()?, (*day).try_into().ok()?).ok()?;
    let [hour, minute, second] = [hour, minute, second].map(|part| i8::try_from(*part).unwrap_or(i8::MAX));
    let time = jiff::civil::Time::new(hour, minute, second, micros.checked_mul(1000)?).ok()?;
    Some((date.to_datetime(time), month & 0x80 != 0))
}
