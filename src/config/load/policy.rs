//! Reads a task's policies: rate, time-out, backoff, retention.

use std::time::Duration;

use crate::config::walk::Item;
use crate::config::{Timeout, duration};
use crate::model::time::SECOND;
use crate::model::{Backoff, Keep, Rate, Retention};

/// `"100/s"`: starts per second, minute, hour or day.
pub(super) fn rate(item: &Item) -> Option<Rate> {
    let text = item.text()?;
    let parsed = text.text.trim().split_once('/').and_then(|(count, unit)| {
        let seconds = match unit.trim() {
            "s" => 1,
            "m" => 60,
            "h" => 3600,
            "d" => 86_400,
            _ => return None,
        };
        let starts = count.trim().parse().ok().filter(|starts| (1..=1_000_000).contains(starts))?;
        Some(Rate { starts, span: seconds * SECOND })
    });
    if parsed.is_none() {
        let help = "a whole number from 1 to 1000000 and s, m, h or d, such as \"100/s\"; no limit: take the key out";
        item.wrong(format!("{} is not a rate", text.shown()), help);
    }
    parsed
}

/// A duration, or `"none"`.
pub(super) fn timeout(item: &Item) -> Option<Timeout> {
    if item.value.as_str() == Some("none") {
        return Some(Timeout::None);
    }
    item.duration(Duration::from_millis(1), duration::LONGEST).map(Timeout::After)
}

pub(super) fn backoff(item: &Item) -> Option<Backoff> {
    let section = item.table()?.closed("backoff", &["first", "factor", "max", "jitter"]);
    let default = Backoff::default();
    let span = |key: &str, otherwise: Duration| match section.get(key) {
        Some(item) => item.duration(Duration::ZERO, duration::LONGEST),
        None => Some(otherwise),
    };
    let first = span("first", default.first);
    let max = span("max", default.max.max(first.unwrap_or_default()));
    let factor = section.get("factor").map_or(Some(default.factor), |item| item.number(1.0..=1000.0));
    let jitter = section.get("jitter").map_or(Some(default.jitter), |item| item.number(0.0..=1.0));
    let backoff = Backoff { first: first?, factor: factor?, max: max?, jitter: jitter? };
    if backoff.max < backoff.first {
        let later = section.get("max").or_else(|| section.get("first"));
        if let Some(max) = later {
            let help = format!("at least {}, which is “first”", duration::format(backoff.first));
            max.wrong("is shorter than the first wait", help);
        }
        return None;
    }
    Some(backoff)
}

pub(super) fn keep(item: &Item) -> Option<Retention> {
    let section = item.table()?.closed("keep", &["completed", "failed", "cancelled"]);
    let default = Retention::default();
    let one = |key: &str, otherwise: Keep| match section.get(key) {
        Some(item) if item.value.as_str() == Some("forever") => Some(Keep::Forever),
        Some(item) => item.duration(Duration::ZERO, duration::LONGEST).map(Keep::For),
        None => Some(otherwise),
    };
    let (completed, failed) = (one("completed", default.completed), one("failed", default.failed));
    let cancelled = one("cancelled", default.cancelled);
    Some(Retention { completed: completed?, failed: failed?, cancelled: cancelled? })
}
