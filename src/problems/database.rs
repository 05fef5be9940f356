//! Problems of the database: it cannot be reached, or it takes no writes. They hide what follows from them.

use super::words::{first_line, moment};
use super::{Level, Problem};
use crate::store::status::Facts;

/// The code of a database that takes no writes.
pub(super) const REFUSED: &str = "writes_refused";

/// The database cannot be reached: nothing else is known.
pub(super) fn away(facts: &Facts) -> Option<Problem> {
    let away = facts.away.as_ref()?;
    let sentence = "Soloist cannot reach its database: nothing is claimed or fired here.";
    let mut problem = Problem::new(Level::Stopped, 1, "database_unreachable", sentence.to_owned());
    let others = match away.facts_of {
        Some(of) => format!("What else you see is of {}; other nodes may be able to.", moment(of, away.since)),
        None => "Other nodes may be able to.".to_owned(),
    };
    let since = moment(away.since, facts.now);
    problem.detail = Some(format!("`{}`, since {since}. {others}", first_line(&away.error)));
    problem.command = Some("soloist check".to_owned());
    problem.since = Some(away.since);
    Some(problem)
}

/// The database takes no writes.
pub(super) fn refuses(facts: &Facts) -> Option<Problem> {
    let error = facts.refused.as_ref()?;
    let sentence = "The database refuses writes: nothing can be claimed, finished or fired.";
    let mut problem = Problem::new(Level::Stopped, 2, REFUSED, sentence.to_owned());
    problem.detail = Some(format!("`{}`", first_line(error)));
    problem.command = Some("soloist check".to_owned());
    Some(problem)
}
