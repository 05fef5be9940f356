//! The query of a request: the parameters that a route knows, each at most once, and nothing else.

use std::collections::BTreeMap;

use actix_web::HttpRequest;
use utoipa::IntoParams;

use super::problem::Problem;
use crate::config::nearest;

/// The most that a list gives at once.
const MOST: usize = 500;
/// What a list gives when not told.
const USUAL: usize = 50;
/// The longest text that is looked for.
const LONGEST: usize = 255;

/// How much of a list, and from where: what [`Query::limit`] and `cursor` read, for the document.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "it only describes")]
pub(super) struct PartOfList {
    /// At most so many items; 50 if left out.
    #[param(required = false, minimum = 1, maximum = 500)]
    limit: u16,
    /// The `next_cursor` of the part before.
    #[param(required = false)]
    cursor: String,
}

/// The parameters of a request's query.
pub(super) struct Query {
    values: BTreeMap<String, String>,
}

impl Query {
    /// Reads the query; a parameter that is not among `known` is refused with the nearest that is.
    pub(super) fn read(request: &HttpRequest, known: &[&str]) -> Result<Self, Problem> {
        let mut values = BTreeMap::new();
        for (name, value) in url::form_urlencoded::parse(request.query_string().as_bytes()) {
            if !known.contains(&name.as_ref()) {
                let detail = format!("the parameter {name:?} is not known{}", nearest(&name, known));
                return Err(Problem::bad_request("unknown_parameter", detail).with("parameter", name.as_ref()));
            }
            if values.insert(name.to_string(), value.into_owned()).is_some() {
                return Err(wrong(&name, "is given twice: give it once"));
            }
        }
        Ok(Self { values })
    }

    /// A parameter's text; an empty one counts as not given.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The same where it goes to the database as it is.
    pub(super) fn plain_text(&self, name: &str) -> Result<Option<String>, Problem> {
        match self.text(name) {
            Some(text) if text.contains('\0') || text.chars().count() > LONGEST => {
                Err(wrong(name, &format!("must have at most {LONGEST} characters, none of them NUL")))
            }
            text => Ok(text.map(str::to_owned)),
        }
    }

    /// How many items a list is asked for.
    pub(super) fn limit(&self) -> Result<usize, Problem> {
        let Some(text) = self.text("limit") else { return Ok(USUAL) };
        match text.parse() {
            Ok(limit) if (1..=MOST).contains(&limit) => Ok(limit),
            _ => Err(wrong("limit", &format!("must be a whole number from 1 to {MOST}"))),
        }
    }
}

/// A parameter whose value is wrong.
pub(super) fn wrong(name: &str, why: &str) -> Problem {
    Problem::bad_request("invalid_parameter", format!("the parameter {name:?} {why}")).with("parameter", name)
}

/// What to say after an unknown name: the nearest known one, else all of them.
pub(super) fn nearest(name: &str, known: &[&str]) -> String {
    match nearest::nearest(name, known.iter().copied()) {
        Some(best) => format!("; did you mean {best:?}?"),
        None if known.is_empty() => ": nothing is taken here".to_owned(),
        None => format!("; known are {}", known.join(", ")),
    }
}
