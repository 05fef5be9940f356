//! The next due times of a trigger as people and programs read them.

use serde::Serialize;

use crate::model::time::{Micros, rfc3339};
use crate::problems::words::age;
use crate::trigger::{Kind, Timer, Zone, moved};

/// One due time.
#[derive(Debug, Serialize)]
pub(super) struct DueTime {
    local: String,
    utc: String,
    /// What a change of clocks did to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    #[serde(skip)]
    at: Micros,
    #[serde(skip)]
    shown: String,
}

impl DueTime {
    /// The first `count` later than `from`.
    pub(super) fn next(timer: &Timer, zone: &Zone, from: Micros, count: usize) -> Vec<Self> {
        let times = std::iter::successors(timer.next(from), |at| timer.next(*at));
        times.take(count).map(|at| Self::new(timer, zone, at)).collect()
    }

    fn new(timer: &Timer, zone: &Zone, at: Micros) -> Self {
        let local = zone.local(at);
        let note = match &timer.kind {
            Kind::Cron { cron, zone } => moved(cron, zone, at).map(|moved| moved.to_string()),
            _ => None,
        };
        Self {
            local: local.strftime("%Y-%m-%dT%H:%M:%S%.f%:z").to_string(),
            utc: rfc3339(at),
            note,
            at,
            shown: local.strftime("%a %Y-%m-%d %H:%M:%S%.f %:z").to_string(),
        }
    }

    /// Headings and rows. How far it is from `now`, and what changes of clocks did, have columns where there is any.
    pub(super) fn table(due: Vec<Self>, now: Option<Micros>) -> (Vec<&'static str>, Vec<Vec<String>>) {
        let noted = due.iter().any(|due| due.note.is_some());
        let optional = [now.map(|_| "FROM NOW"), noted.then_some("NOTE")];
        let headings = ["LOCAL TIME", "UTC"].into_iter().chain(optional.into_iter().flatten()).collect();
        let row = |due: Self| {
            let away = now.map(|now| format!("in {}", age(due.at - now)));
            let note = noted.then(|| due.note.unwrap_or_default());
            [due.shown, due.utc.replace('T', " ")].into_iter().chain(away).chain(note).collect()
        };
        (headings, due.into_iter().map(row).collect())
    }

    /// In UTC, for a list in a line.
    pub(super) fn in_utc(&self) -> String {
        self.utc.replace('T', " ")
    }

    /// One line.
    pub(super) fn line(&self) -> String {
        let note = self.note.as_ref().map(|note| format!("   {note}")).unwrap_or_default();
        format!("{}   {}{note}", self.shown, self.utc.replace('T', " "))
    }
}
