//! What a single value must look like: text, number, truth, duration, word of a list, instant.
//!
//! Every reader answers `None` after it has said what is wrong. A message shows a value as it was typed, never as it
//! came out of the environment.

use std::ops::RangeInclusive;
use std::time::Duration;

use toml::de::DeValue;

use super::mask;
use super::plain::{self, Wrong};
use super::walk::Item;

/// A text after expansion.
pub(super) struct Text {
    pub(super) text: String,
    /// True if it was one `${…}` and may stand for a number.
    whole: bool,
    typed: String,
}

impl Text {
    /// True if nothing in it came out of the environment.
    pub(super) fn is_as_typed(&self) -> bool {
        self.text == self.typed
    }

    /// How a message names it: as it was typed, without secrets, and short.
    pub(super) fn shown(&self) -> String {
        let masked = mask::masked(&self.typed);
        let short: String = masked.chars().take(60).collect();
        let more = if short.len() < masked.len() { "…" } else { "" };
        format!("“{short}{more}”")
    }
}

impl Item<'_> {
    /// What the value is, in words.
    pub(super) fn described(&self) -> String {
        match self.value {
            DeValue::String(_) => "text".into(),
            DeValue::Integer(number) => format!("the number {number}"),
            DeValue::Float(number) => format!("the number {number}"),
            DeValue::Boolean(truth) => truth.to_string(),
            DeValue::Datetime(_) => "a time".into(),
            DeValue::Array(_) => "an array".into(),
            DeValue::Table(_) => "a table".into(),
        }
    }

    fn expand(&self, typed: &str) -> Option<Text> {
        match self.walk.environment.expand(typed) {
            Ok(expanded) => Some(Text { text: expanded.text, whole: expanded.whole, typed: typed.to_owned() }),
            Err(why) => {
                self.wrong(why.message, why.help);
                None
            }
        }
    }

    /// A text, which may be empty.
    pub(super) fn text(&self) -> Option<Text> {
        let DeValue::String(typed) = self.value else {
            let help = format!("write it in quotes: {} = \"…\"", self.key);
            self.wrong(format!("is text, not {}", self.described()), help);
            return None;
        };
        self.expand(typed)
    }

    /// A text that says something.
    pub(super) fn filled(&self) -> Option<String> {
        let text = self.text()?;
        if text.text.trim().is_empty() {
            self.wrong("is empty", "give it a text, or take the key out");
            return None;
        }
        if text.text.contains('\0') {
            self.wrong("holds a zero byte", "take it out");
            return None;
        }
        Some(text.text)
    }

    /// A whole number within bounds.
    pub(super) fn whole(&self, bounds: RangeInclusive<i64>) -> Option<i64> {
        let (low, high) = (bounds.start(), bounds.end());
        let help = format!("a whole number from {low} to {high}, without quotes");
        let (number, shown) = match self.value {
            DeValue::Integer(number) => (i64::from_str_radix(number.as_str(), number.radix()).ok(), number.to_string()),
            DeValue::String(typed) => {
                let text = self.expand(typed)?;
                let Some(number) = text.text.trim().parse().ok().filter(|_| text.whole) else {
                    self.wrong(format!("is a whole number, not the text {}", text.shown()), help);
                    return None;
                };
                (Some(number), text.shown())
            }
            _ => {
                self.wrong(format!("is a whole number, not {}", self.described()), help);
                return None;
            }
        };
        let within = number.filter(|number| bounds.contains(number));
        if within.is_none() {
            let small = number.map_or(shown.starts_with('-'), |number| number < *low);
            self.wrong(format!("{shown} is too {}", if small { "small" } else { "large" }), help);
        }
        within
    }

    /// A whole number that fits a count.
    pub(super) fn count(&self, bounds: RangeInclusive<i64>) -> Option<usize> {
        self.whole(bounds).and_then(|number| usize::try_from(number).ok())
    }

    /// A number within bounds.
    pub(super) fn number(&self, bounds: RangeInclusive<f64>) -> Option<f64> {
        let help = format!("a number from {} to {}, without quotes", bounds.start(), bounds.end());
        let number = match self.value {
            DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix()).ok().map(|n| n as f64),
            DeValue::Float(number) => number.as_str().parse().ok(),
            DeValue::String(typed) => {
                let text = self.expand(typed)?;
                let number: Option<f64> = text.text.trim().parse().ok();
                if !text.whole || number.is_none() {
                    self.wrong(format!("is a number, not the text {}", text.shown()), help);
                    return None;
                }
                number
            }
            _ => {
                self.wrong(format!("is a number, not {}", self.described()), help);
                return None;
            }
        };
        let within = number.filter(|number| bounds.contains(number));
        if within.is_none() {
            self.wrong("is out of bounds", help);
        }
        within
    }

    /// `true` or `false`.
    pub(super) fn truth(&self) -> Option<bool> {
        let help = "write true or false, without quotes";
        match self.value {
            DeValue::Boolean(truth) => Some(*truth),
            DeValue::String(typed) => {
                let text = self.expand(typed)?;
                let truth = text.text.trim().parse().ok().filter(|_| text.whole);
                if truth.is_none() {
                    self.wrong(format!("is true or false, not the text {}", text.shown()), help);
                }
                truth
            }
            _ => {
                self.wrong(format!("is true or false, not {}", self.described()), help);
                None
            }
        }
    }

    /// A duration of at least `shortest` and at most `longest`.
    pub(super) fn duration(&self, shortest: Duration, longest: Duration) -> Option<Duration> {
        if let DeValue::Integer(number) = self.value {
            let help = format!("write it in quotes with a unit, such as {} = \"{number}s\"", self.key);
            self.wrong(format!("the number {number} has no unit"), help);
            return None;
        }
        let text = self.text()?;
        self.right(&text, plain::span(&text.text, shortest, longest))
    }

    /// One of a few words.
    pub(super) fn choice<T: Copy>(&self, words: &[(&'static str, T)]) -> Option<T> {
        let text = self.text()?;
        self.right(&text, plain::word(&text.text, words))
    }

    /// An instant, in quotes or as a time of TOML.
    pub(super) fn instant(&self) -> Option<jiff::Timestamp> {
        let (typed, shown) = match self.value {
            DeValue::Datetime(time) => (time.to_string(), format!("“{time}”")),
            _ => self.text().map(|text| (text.text.clone(), text.shown()))?,
        };
        plain::instant(&typed).map_err(|wrong| self.wrong(format!("{shown} {}", wrong.reason), wrong.help)).ok()
    }

    /// What a text stands for; or says what is wrong with it.
    fn right<T>(&self, text: &Text, read: Result<T, Wrong>) -> Option<T> {
        read.map_err(|wrong| self.wrong(format!("{} {}", text.shown(), wrong.reason), wrong.help)).ok()
    }

    /// An array of texts that say something, at least one.
    pub(super) fn texts(&self, example: &str) -> Option<Vec<String>> {
        let Some(items) = self.array() else {
            self.wrong(format!("is an array, not {}", self.described()), format!("write {} = {example}", self.key));
            return None;
        };
        if items.is_empty() {
            self.wrong("is empty", format!("write {} = {example}, or take the key out", self.key));
            return None;
        }
        let texts: Vec<Option<String>> = items.iter().map(Item::filled).collect();
        texts.into_iter().collect()
    }

    /// As `texts`, and none twice.
    pub(super) fn names(&self, example: &str) -> Option<Vec<String>> {
        let names = self.texts(example)?;
        for (index, name) in names.iter().enumerate() {
            if names[..index].contains(name)
                && let Some(again) = self.array().and_then(|items| items.get(index).cloned())
            {
                again.wrong("stands in the array twice", "take one of them out");
                return None;
            }
        }
        Some(names)
    }
}
