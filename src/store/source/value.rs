//! A row's texts as JSON: the payload of its entry, and its key as text.

use serde_json::value::RawValue;

use super::catalog::{self, Column, Kind};
use crate::error::{Error, Result};
use crate::store::dialect::Dialect;

/// The longest key that an entry holds.
const LONGEST_KEY: usize = 255;

/// A row's payload: a JSON object of these columns.
pub(super) fn payload(dialect: Dialect, columns: &[Column], texts: &[Option<String>]) -> String {
    let mut object = String::from("{");
    for (column, text) in columns.iter().zip(texts) {
        if object.len() > 1 {
            object.push(',');
        }
        object.push_str(&string(&column.name));
        object.push(':');
        match text {
            Some(text) => {
                let (kind, text) = catalog::decode(dialect, column, text);
                object.push_str(&json(kind, &text));
            }
            None => object.push_str("null"),
        }
    }
    object.push('}');
    object
}

/// A key as an entry holds it: the bare text, or a JSON array if it has several columns. `None` for one that no entry
/// can hold.
pub(super) fn key(dialect: Dialect, columns: &[Column], texts: &[Option<String>]) -> Option<String> {
    let mut parts = Vec::with_capacity(columns.len());
    for (column, text) in columns.iter().zip(texts) {
        let (kind, text) = catalog::decode(dialect, column, text.as_deref()?);
        parts.push(if columns.len() == 1 { text.into_owned() } else { json(kind, &text) });
    }
    let key = if columns.len() == 1 { parts.pop()? } else { format!("[{}]", parts.join(",")) };
    (key.chars().count() <= LONGEST_KEY && !key.contains('\0')).then_some(key)
}

/// The texts of a key's columns; `None` if no row of this table can have the key.
pub(super) fn key_texts(columns: &[Column], key: &str) -> Option<Vec<String>> {
    let texts = if columns.len() == 1 {
        vec![key.to_owned()]
    } else {
        let parts: Vec<Box<RawValue>> = serde_json::from_str(key).ok()?;
        let text =
            |part: &RawValue| serde_json::from_str::<String>(part.get()).unwrap_or_else(|_| part.get().to_owned());
        parts.iter().map(|part| text(part)).collect()
    };
    let fits = |(column, text): (&Column, &String)| match column.kind {
        Kind::Integer => text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok(),
        Kind::Uuid => !column.declared.eq_ignore_ascii_case("uuid") || text.len() >= 32,
        _ => true,
    };
    (texts.len() == columns.len() && columns.iter().zip(&texts).all(fits)).then_some(texts)
}

/// One value.
fn json(kind: Kind, text: &str) -> String {
    let number = |text: &str| text.starts_with(['-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']) && valid(text);
    match kind {
        Kind::Integer | Kind::Decimal | Kind::Real => {
            // MySQL's ZEROFILL.
            let bare = text.trim_start_matches('0');
            let bare = if bare.starts_with(|c: char| c.is_ascii_digit()) { bare } else { text };
            if number(bare) { bare.to_owned() } else { string(text) }
        }
        Kind::Boolean => match text {
            "1" | "t" | "true" => "true".to_owned(),
            "0" | "f" | "false" => "false".to_owned(),
            other if number(other) => other.to_owned(),
            other => string(other),
        },
        Kind::Instant => string(&instant(text)),
        Kind::Json if valid(text) => text.to_owned(),
        _ => string(text),
    }
}

/// A date and time as RFC 3339; what is none ("infinity", a year before 1) as it is.
fn instant(text: &str) -> String {
    if let Ok(at) = text.parse::<jiff::Timestamp>() {
        return at.to_string();
    }
    match text.parse::<jiff::civil::DateTime>() {
        Ok(at) if text.len() > "2026-01-01".len() => format!("{at}Z"),
        _ => text.to_owned(),
    }
}

fn valid(json: &str) -> bool {
    serde_json::from_str::<&RawValue>(json).is_ok()
}

fn string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// What is told of a key that no entry can hold.
pub(super) fn unusable_key(dialect: Dialect, table: &str, columns: &[Column], texts: &[Option<String>]) -> Error {
    let shown = columns.iter().zip(texts).map(|(column, text)| match text {
        Some(text) => catalog::decode(dialect, column, text).1.into_owned(),
        None => "NULL".to_owned(),
    });
    let shown: String = shown.collect::<Vec<_>>().join(", ").chars().take(60).collect();
    Error::refused(format!(
        "a row of {table} is left out: an entry holds keys of up to {LONGEST_KEY} characters without NUL, and its key \
         begins {shown:?}"
    ))
}

/// Texts by the column that they belong to, in an order other than the array's.
pub(super) fn picked(texts: &[Option<String>], places: &[usize]) -> Result<Vec<String>> {
    let text = |place: &usize| texts.get(*place).cloned().flatten();
    places.iter().map(|place| text(place).ok_or_else(|| Error::internal("a key's column is NULL"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_digits() {
        assert_eq!(json(Kind::Decimal, "12345678901234567890.1234567890"), "12345678901234567890.1234567890");
        assert_eq!(json(Kind::Integer, "0007"), "7");
        assert_eq!(json(Kind::Integer, "0"), "0");
        assert_eq!(json(Kind::Decimal, "0.50"), "0.50");
        assert_eq!(json(Kind::Decimal, "NaN"), "\"NaN\"");
        assert_eq!(json(Kind::Real, "-Infinity"), "\"-Infinity\"");
    }

    #[test]
    fn times_are_rfc_3339() {
        assert_eq!(json(Kind::Instant, "2026-01-02 03:04:05"), "\"2026-01-02T03:04:05Z\"");
        assert_eq!(json(Kind::Instant, "2026-01-02T03:04:05.123400"), "\"2026-01-02T03:04:05.1234Z\"");
        assert_eq!(json(Kind::Instant, "2026-01-02 03:04:05+02:00"), "\"2026-01-02T01:04:05Z\"");
        assert_eq!(json(Kind::Instant, "infinity"), "\"infinity\"");
    }
}
