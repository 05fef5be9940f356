//! What a text must be to stand for a duration, an instant or a word of a list: the same in the file, over the API and
//! on the command line. Pure; where an error stands and how the text is shown is the reader's.

use std::time::Duration;

use jiff::Timestamp;

use super::duration;
use super::nearest::{enumerate, nearest};

/// What is wrong with a text, to be put after it, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// As in “5x” *has a unit that is not known*.
    pub reason: String,
    /// What would be right.
    pub help: String,
}

impl Wrong {
    fn new(reason: impl Into<String>, help: impl Into<String>) -> Self {
        Self { reason: reason.into(), help: help.into() }
    }

    /// The whole, for a text that may be shown as it was typed.
    pub fn of(&self, text: &str) -> String {
        let short: String = text.chars().take(60).collect();
        let more = if short.len() < text.len() { "…" } else { "" };
        format!("“{}{more}” {}: {}", short.escape_debug(), self.reason, self.help)
    }
}

/// A duration of at least `shortest` and at most `longest`.
pub fn span(text: &str, shortest: Duration, longest: Duration) -> Result<Duration, Wrong> {
    let length = duration::parse(text).map_err(|reason| Wrong::new(reason, duration::FORM))?;
    if length < shortest {
        return Err(Wrong::new("is too short", format!("the shortest is {}", duration::format(shortest))));
    }
    if length > longest {
        let help = match longest.as_millis() % 86_400_000 {
            0 => format!("the longest is {}d", longest.as_secs() / 86_400),
            _ => format!("the longest is {}", duration::format(longest)),
        };
        return Err(Wrong::new("is too long", help));
    }
    Ok(length)
}

/// One of a few words.
pub fn word<T: Copy>(text: &str, words: &[(&'static str, T)]) -> Result<T, Wrong> {
    if let Some((_, meaning)) = words.iter().find(|(word, _)| *word == text) {
        return Ok(*meaning);
    }
    let names = || words.iter().map(|(word, _)| *word);
    let near = nearest(text, names()).map(|near| format!("the nearest is “{near}”; "));
    Err(Wrong::new("is none of its values", format!("{}it is {}", near.unwrap_or_default(), enumerate(names(), "or"))))
}

/// An instant.
pub fn instant(text: &str) -> Result<Timestamp, Wrong> {
    let help = "an instant with its offset, such as \"2027-01-01T00:00:00Z\" or \"2027-01-01T00:00:00+01:00\"";
    let text = text.trim();
    text.parse().map_err(|_| match text.starts_with("9999-12-3") {
        true => Wrong::new("is too late", format!("the last instant is {}", Timestamp::MAX.strftime("%FT%TZ"))),
        false => Wrong::new("is no instant that can be read", help),
    })
}
