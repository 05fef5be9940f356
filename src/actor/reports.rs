//! What became last of each background duty of this process: noted by whoever does it, told to the database now and
//! then for all to see. Cheap to clone; decides nothing.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::model::time::Micros;
use crate::store::duties::{Told, ToldDuty, ToldJump};

/// The duty that keeps this node's lease: what is refused to it is refused to all.
pub const LEASE: &str = "lease";

/// A duty may be silent for three of its periods, and never for less than this.
const PATIENCE: Duration = Duration::from_secs(15);

/// Characters of an error that are told.
const LONGEST: usize = 300;

/// What became of a duty last.
#[derive(Debug, Clone)]
pub struct Report {
    /// When it was last done, or else when it was first to be done.
    pub done: Instant,
    /// Since when it fails, and why, if it failed last.
    pub failing: Option<(Instant, String)>,
    /// How far apart it is done; nothing if it is done when there is something to do.
    pub every: Option<Duration>,
    patience: Duration,
}

#[derive(Debug, Default)]
struct Notes {
    duties: BTreeMap<&'static str, Report>,
    jump: Option<(Instant, Micros, Duration)>,
}

/// The reports of this process.
#[derive(Debug, Clone, Default)]
pub struct Reports(Arc<Mutex<Notes>>);

impl Reports {
    /// A duty is to be done this often from now on; it may be silent for three times as long, or for `patience`.
    pub fn expect(&self, name: &'static str, every: Option<Duration>, patience: Duration) {
        let patience = every.map_or(patience, |every| patience.max(every * 3)).max(PATIENCE);
        let report = Report { done: Instant::now(), failing: None, every, patience };
        self.notes().duties.insert(name, report);
    }

    /// It was done.
    pub fn done(&self, name: &'static str) {
        if let Some(report) = self.notes().duties.get_mut(name) {
            report.done = Instant::now();
            report.failing = None;
        }
    }

    /// It was tried in vain.
    pub fn failed(&self, name: &'static str, error: &Error) {
        if let Some(report) = self.notes().duties.get_mut(name) {
            let since = report.failing.take().map_or_else(Instant::now, |(since, _)| since);
            report.failing = Some((since, error.to_string().chars().take(LONGEST).collect()));
        }
    }

    /// The database's clock has jumped; for one lease nothing is taken over.
    pub fn jumped(&self, by: Micros, lease: Duration) {
        self.notes().jump = Some((Instant::now(), by, lease));
    }

    /// All of it.
    pub fn all(&self) -> BTreeMap<&'static str, Report> {
        self.notes().duties.clone()
    }

    /// Why a duty fails, if it does.
    pub fn error_of(&self, name: &str) -> Option<String> {
        self.notes().duties.get(name)?.failing.as_ref().map(|(_, error)| error.clone())
    }

    /// All of it, to be told.
    pub fn told(&self) -> Told {
        let ms = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
        let notes = self.notes();
        let duties = notes.duties.iter().map(|(name, report)| ToldDuty {
            name: (*name).to_owned(),
            every_ms: report.every.map(ms),
            patience_ms: ms(report.patience),
            done_ms_ago: ms(report.done.elapsed()),
            failing_ms: report.failing.as_ref().map(|(since, _)| ms(since.elapsed())),
            error: report.failing.as_ref().map(|(_, error)| error.clone()),
        });
        let jump =
            notes.jump.map(|(at, by, lease)| ToldJump { ms_ago: ms(at.elapsed()), by_micros: by, lease_ms: ms(lease) });
        Told { duties: duties.collect(), jump }
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_is_told_since_when_and_until_it_works() {
        let reports = Reports::default();
        reports.expect("rescue", Some(Duration::from_millis(500)), Duration::ZERO);
        reports.failed("rescue", &Error::transient("first"));
        reports.failed("rescue", &Error::transient("second"));
        reports.failed("nobody", &Error::transient("it is not expected"));
        let told = reports.told();
        assert_eq!(told.duties.len(), 1);
        let duty = &told.duties[0];
        assert_eq!((duty.every_ms, duty.patience_ms), (Some(500), 15_000));
        assert_eq!(duty.error.as_deref(), Some("second"));
        assert!(duty.failing_ms.is_some());
        reports.done("rescue");
        assert!(reports.error_of("rescue").is_none() && reports.told().duties[0].error.is_none());
    }
}
