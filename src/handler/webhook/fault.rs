//! What a connection that could not be made, or that broke, means.

use std::error::Error as _;

/// Why there is no answer, or half of one.
#[derive(Debug)]
pub(super) enum Fault {
    /// The host cannot be connected to: no entry of the task can be worked.
    Host(String),
    /// The host was reached; the next attempt may work.
    Passing(String),
}

/// Why a request got no answer.
pub(super) fn of_sending(error: reqwest::Error) -> Fault {
    if error.is_connect() {
        Fault::Host(format!("cannot connect: {}", reasons(error)))
    } else {
        Fault::Passing(format!("no answer: {}", reasons(error)))
    }
}

/// Why an answer was not read to its end.
pub(super) fn of_reading(error: reqwest::Error) -> String {
    format!("the answer broke off: {}", reasons(error))
}

/// What lies below the client's own words, which only say that something was being sent; without the URL, which
/// can hold secrets.
fn reasons(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut words: Vec<String> = Vec::new();
    let mut source = error.source();
    while let Some(error) = source {
        let text = error.to_string();
        let said = words.last().is_some_and(|last| last.contains(&text));
        if !said && !text.starts_with("client error") {
            words.push(text);
        }
        source = error.source();
    }
    if words.is_empty() { error.to_string() } else { words.join(": ") }
}
