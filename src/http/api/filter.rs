//! Which entries are meant: the filter of a list's query and of a bulk action's body.

use jiff::Timestamp;

use crate::config::duration;
use crate::http::fields::{Fields, invalid};
use crate::http::problem::Problem;
use crate::http::query::{self, Query};
use crate::model::State;
use crate::model::new_entry::{check_key, check_name};
use crate::model::time::{self, micros};
use crate::store::entries::Filter;

/// What may be asked for, beside ids.
pub(super) const NAMES: [&str; 7] = ["task", "state", "key", "error", "schedule", "before", "older_than"];

/// The longest text to look for in errors, in characters.
const LONGEST_ERROR: usize = 1000;

/// The filter of a query.
pub(super) fn of_query(query: &Query) -> Result<Filter, Problem> {
    read(|name| Ok(query.text(name).map(str::to_owned)), |name, why| query::wrong(name, &why))
}

/// The same as members of a body.
pub(super) fn of_fields(fields: &mut Fields<'_>) -> Result<Filter, Problem> {
    read(|name| fields.text(name), invalid)
}

fn read(
    mut text: impl FnMut(&'static str) -> Result<Option<String>, Problem>,
    wrong: impl Fn(&'static str, String) -> Problem,
) -> Result<Filter, Problem> {
    let mut filter = Filter::default();
    for (name, into) in [("task", &mut filter.task), ("schedule", &mut filter.schedule)] {
        if let Some(given) = text(name)? {
            check_name(name, &given).map_err(|error| wrong(name, format!("is wrong: {}", error.message)))?;
            *into = Some(given);
        }
    }
    if let Some(word) = text("state")? {
        let words = State::ALL.map(State::word);
        let unknown = || wrong("state", format!("has no value {word:?}{}", query::nearest(&word, &words)));
        filter.state = Some(State::parse(&word).ok_or_else(unknown)?);
    }
    if let Some(key) = text("key")? {
        check_key(&key).map_err(|error| wrong("key", format!("is wrong: {}", error.message)))?;
        filter.key = Some(key);
    }
    if let Some(error) = text("error")? {
        if error.is_empty() || error.contains('\0') || error.chars().count() > LONGEST_ERROR {
            return Err(wrong("error", format!("must have 1 to {LONGEST_ERROR} characters, none of them NUL")));
        }
        filter.error = Some(error);
    }
    if let Some(before) = text("before")? {
        let at = before.parse::<Timestamp>().ok().map(|at| at.as_microsecond()).filter(|at| *at >= 0);
        let no_instant =
            || wrong("before", format!("must be an instant since 1970 such as {}, not {before:?}", time::rfc3339(0)));
        filter.before = Some(at.ok_or_else(no_instant)?);
    }
    if let Some(age) = text("older_than")? {
        let span =
            duration::parse(&age).map_err(|why| wrong("older_than", format!("{age:?} {why}: {}", duration::FORM)))?;
        if span > duration::LONGEST {
            return Err(wrong("older_than", "is longer than 100 years".to_owned()));
        }
        filter.older_than = Some(micros(span));
    }
    Ok(filter)
}
