//! The members of a JSON object, taken one by one: wrong types, unknown and doubled names are refused by name.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use actix_web::http::StatusCode;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::problem::Problem;
use super::query::nearest;
use crate::model::time::{self, Micros};

/// The members of one object.
pub(super) struct Fields<'a> {
    /// What stands before a name in an error: empty, or the place in an array.
    place: String,
    members: Vec<(Cow<'a, str>, &'a RawValue)>,
    /// The names asked for so far.
    known: Vec<&'static str>,
}

/// Reads one object.
pub(super) fn object(text: &str) -> Result<Fields<'_>, Problem> {
    let raw: &RawValue = parse(text)?;
    one(raw, String::new())
}

/// Reads an array of objects, one after the other.
pub(super) fn array(text: &str) -> Result<impl Iterator<Item = Result<Fields<'_>, Problem>>, Problem> {
    let items: Vec<&RawValue> = parse(text)?;
    Ok(items.into_iter().enumerate().map(|(position, raw)| one(raw, format!("[{position}]."))))
}

fn parse<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, Problem> {
    serde_json::from_str(text).map_err(|error| {
        let problem = Problem::bad_request("bad_json", format!("the body is not JSON: {error}"));
        problem.with("line", error.line()).with("column", error.column())
    })
}

fn one(raw: &RawValue, place: String) -> Result<Fields<'_>, Problem> {
    let at = if place.is_empty() { "the body".to_owned() } else { place.trim_end_matches('.').to_owned() };
    if !raw.get().starts_with('{') {
        return Err(Problem::bad_request("bad_json", format!("{at} must be a JSON object, not {}", kind(raw))));
    }
    let Members(members) = serde_json::from_str(raw.get())
        .map_err(|error| Problem::bad_request("bad_json", format!("a name in {at} cannot be read: {error}")))?;
    let mut seen = HashSet::new();
    if let Some((name, _)) = members.iter().find(|(name, _)| !seen.insert(name.as_ref())) {
        return Err(invalid(&format!("{place}{name}"), "is given twice: give it once"));
    }
    Ok(Fields { place, members, known: Vec::new() })
}

/// A field whose value is wrong: 400, with the field's name.
pub(super) fn invalid(field: &str, why: impl fmt::Display) -> Problem {
    Problem::field(StatusCode::BAD_REQUEST, "invalid_field", field, format!("{field} {why}"))
}

impl<'a> Fields<'a> {
    /// No members at all.
    pub(super) fn none() -> Self {
        Self { place: String::new(), members: Vec::new(), known: Vec::new() }
    }

    /// A field's full name, for errors.
    pub(super) fn path(&self, name: &str) -> String {
        format!("{}{name}", self.place)
    }

    /// A member as it stands, `null` too.
    pub(super) fn raw(&mut self, name: &'static str) -> Option<&'a RawValue> {
        self.known.push(name);
        self.members.iter().find(|(member, _)| member == name).map(|(_, raw)| *raw)
    }

    fn given(&mut self, name: &'static str) -> Option<&'a RawValue> {
        self.raw(name).filter(|raw| raw.get() != "null")
    }

    fn typed<T: Deserialize<'a>>(&mut self, name: &'static str, expected: &str) -> Result<Option<T>, Problem> {
        let Some(raw) = self.given(name) else { return Ok(None) };
        match serde_json::from_str(raw.get()) {
            Ok(value) => Ok(Some(value)),
            Err(_) => Err(invalid(&self.path(name), format!("must be {expected}, not {}", kind(raw)))),
        }
    }

    /// A text.
    pub(super) fn text(&mut self, name: &'static str) -> Result<Option<String>, Problem> {
        self.typed(name, "text")
    }

    /// A text that is to say something of a kind.
    pub(super) fn text_of(&mut self, name: &'static str, expected: &str) -> Result<Option<String>, Problem> {
        self.typed(name, expected)
    }

    /// The members of an object inside this one.
    pub(super) fn object(&mut self, name: &'static str) -> Result<Option<Self>, Problem> {
        let Some(raw) = self.given(name) else { return Ok(None) };
        let path = self.path(name);
        if !raw.get().starts_with('{') {
            return Err(invalid(&path, format!("must be an object, not {}", kind(raw))));
        }
        one(raw, format!("{path}.")).map(Some)
    }

    /// A text that must be there.
    pub(super) fn required_text(&mut self, name: &'static str) -> Result<String, Problem> {
        let path = self.path(name);
        let missing = || {
            let detail = format!("{path} is missing: it must be text");
            Problem::field(StatusCode::BAD_REQUEST, "missing_field", &path, detail)
        };
        self.text(name)?.ok_or_else(missing)
    }

    /// A boolean.
    pub(super) fn boolean(&mut self, name: &'static str) -> Result<Option<bool>, Problem> {
        self.typed(name, "true or false")
    }

    /// A whole number in a range.
    pub(super) fn integer(&mut self, name: &'static str, least: i64, most: i64) -> Result<Option<i64>, Problem> {
        let expected = format!("a whole number from {least} to {most}");
        let value: Option<i64> = self.typed(name, &expected)?;
        match value {
            Some(value) if !(least..=most).contains(&value) => {
                Err(invalid(&self.path(name), format!("must be {expected}, not {value}")))
            }
            value => Ok(value),
        }
    }

    /// Whole numbers.
    pub(super) fn integers(&mut self, name: &'static str) -> Result<Option<Vec<i64>>, Problem> {
        self.typed(name, "an array of whole numbers")
    }

    /// An instant, as RFC 3339.
    pub(super) fn instant(&mut self, name: &'static str) -> Result<Option<Micros>, Problem> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        let at = text.parse::<jiff::Timestamp>().ok().map(|at| at.as_microsecond()).filter(|at| *at >= 0);
        at.map(Some).ok_or_else(|| {
            let path = self.path(name);
            invalid(&path, format!("must be an instant since 1970 such as {}, not {text:?}", time::rfc3339(0)))
        })
    }

    /// Refuses members that nobody asked for, with the nearest name that is known.
    pub(super) fn finish(self) -> Result<(), Problem> {
        let stranger = self.members.iter().find(|(name, _)| !self.known.contains(&name.as_ref()));
        let Some((name, _)) = stranger else { return Ok(()) };
        let path = self.path(name);
        let detail = format!("{path} is not a known field{}", nearest(name, &self.known));
        Err(Problem::field(StatusCode::BAD_REQUEST, "unknown_field", &path, detail))
    }
}

/// What a value is, for errors.
fn kind(raw: &RawValue) -> String {
    let text = raw.get();
    match text.as_bytes().first() {
        Some(b'{') => "an object".to_owned(),
        Some(b'[') => "an array".to_owned(),
        Some(b'"') => "this text".to_owned(),
        _ => text.chars().take(40).collect(),
    }
}

/// An object's members in their order.
struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Each;
        impl<'de> Visitor<'de> for Each {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some((name, value)) = map.next_entry::<Name<'de>, &'de RawValue>()? {
                    members.push((name.0, value));
                }
                Ok(Members(members))
            }
        }
        from.deserialize_map(Each)
    }
}

#[derive(serde::Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);
