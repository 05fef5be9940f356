//! What a node counts of itself since it started: the figures of `/metrics` that are of this node alone.
//!
//! Labels are bounded: a task or a schedule stands under its name only if this node declares it, a request under the
//! pattern of its route. Nothing here is written to the database, and nothing depends on it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::model::Spread;
use crate::model::sums::{End, Sample};
use crate::store::firings::Told;

/// What stands for all schedules that this node does not declare. No name may hold a bracket.
pub const OTHERS: &str = "(other)";

/// Counts of one task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OfTask {
    /// Attempts that began.
    pub started: u64,
    /// Attempts that completed their entry.
    pub completed: u64,
    /// Attempts after which the entry is tried again.
    pub retried: u64,
    /// Attempts that failed their entry for good.
    pub failed: u64,
    /// Claims that no longer stood.
    pub lost: u64,
    /// From due to start.
    pub waits: Spread,
    /// From start to end.
    pub runs: Spread,
}

impl OfTask {
    /// Adds an attempt that has ended and is recorded.
    pub fn note(&mut self, sample: &Sample) {
        match sample.end {
            End::Completed => self.completed += 1,
            End::Retried => self.retried += 1,
            End::Failed => self.failed += 1,
            End::Uncounted => return,
        }
        self.waits.note(sample.wait);
        self.runs.note(sample.run);
    }

    fn add(&mut self, other: &Self) {
        self.started += other.started;
        self.completed += other.completed;
        self.retried += other.retried;
        self.failed += other.failed;
        self.lost += other.lost;
        self.waits.add(&other.waits);
        self.runs.add(&other.runs);
    }
}

/// What was decided about due times.
#[derive(Debug, Clone, Default)]
pub struct OfFirings {
    /// How many, by schedule and outcome.
    pub decided: BTreeMap<(String, &'static str), u64>,
    /// How late those were that fired.
    pub late: Spread,
    declared: BTreeSet<String>,
}

/// Requests by method, pattern of the route and first digit of the status.
pub type OfRequests = BTreeMap<(&'static str, String, u16), u64>;

#[derive(Debug)]
struct Counted {
    since: Instant,
    tasks: Mutex<BTreeMap<String, OfTask>>,
    firings: Mutex<OfFirings>,
    duties: Mutex<BTreeMap<&'static str, u64>>,
    requests: Mutex<OfRequests>,
    rescued: Mutex<u64>,
    leads_until: Mutex<Option<Instant>>,
}

/// The counts of a node; cheap to clone, all clones are one.
#[derive(Debug, Clone)]
pub struct Meters(Arc<Counted>);

impl Default for Meters {
    fn default() -> Self {
        Self(Arc::new(Counted {
            since: Instant::now(),
            tasks: Mutex::default(),
            firings: Mutex::default(),
            duties: Mutex::default(),
            requests: Mutex::default(),
            rescued: Mutex::default(),
            leads_until: Mutex::default(),
        }))
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Meters {
    /// Has these counted from zero on, so that the first of each kind is seen to come.
    pub fn declare<'a>(&self, tasks: impl Iterator<Item = &'a str>, schedules: impl Iterator<Item = &'a str>) {
        let mut of = lock(&self.0.tasks);
        for task in tasks {
            if !of.contains_key(task) {
                of.insert(task.to_owned(), OfTask::default());
            }
        }
        drop(of);
        lock(&self.0.firings).declared = schedules.map(str::to_owned).collect();
    }

    /// Attempts of a task have begun.
    pub fn started(&self, task: &str, entries: usize) {
        self.add(task, &OfTask { started: entries as u64, ..OfTask::default() });
    }

    /// Claims of a task no longer stood.
    pub fn lost(&self, task: &str, claims: usize) {
        self.add(task, &OfTask { lost: claims as u64, ..OfTask::default() });
    }

    /// Adds to the counts of a task of this node.
    pub fn add(&self, task: &str, more: &OfTask) {
        let mut tasks = lock(&self.0.tasks);
        match tasks.get_mut(task) {
            Some(of) => of.add(more),
            None => {
                tasks.insert(task.to_owned(), more.clone());
            }
        }
    }

    /// Due times were decided.
    pub fn fired(&self, told: &[Told]) {
        let mut firings = lock(&self.0.firings);
        for told in told {
            let known = firings.declared.contains(&told.schedule);
            let schedule = if known { told.schedule.clone() } else { OTHERS.to_owned() };
            *firings.decided.entry((schedule, told.outcome.word())).or_default() += told.count;
            if let Some(late) = told.late {
                firings.late.note(late);
            }
        }
    }

    /// Entries were taken over from the dead.
    pub fn rescued(&self, entries: usize) {
        *lock(&self.0.rescued) += entries as u64;
    }

    /// A duty failed.
    pub fn duty_failed(&self, duty: &'static str) {
        *lock(&self.0.duties).entry(duty).or_default() += 1;
    }

    /// This node fires first until then; nothing if another does.
    pub fn leads(&self, until: Option<Instant>) {
        *lock(&self.0.leads_until) = until;
    }

    /// A request was answered.
    pub fn answered(&self, method: &'static str, route: &str, status: u16) {
        *lock(&self.0.requests).entry((method, route.to_owned(), status / 100)).or_default() += 1;
    }

    /// Since when it counts.
    pub fn since(&self) -> Instant {
        self.0.since
    }

    /// By task.
    pub fn of_tasks(&self) -> BTreeMap<String, OfTask> {
        lock(&self.0.tasks).clone()
    }

    /// Of due times.
    pub fn of_firings(&self) -> OfFirings {
        lock(&self.0.firings).clone()
    }

    /// How often each duty failed.
    pub fn of_duties(&self) -> BTreeMap<&'static str, u64> {
        lock(&self.0.duties).clone()
    }

    /// Of requests.
    pub fn of_requests(&self) -> OfRequests {
        lock(&self.0.requests).clone()
    }

    /// Entries that were taken over from the dead.
    pub fn of_rescues(&self) -> u64 {
        *lock(&self.0.rescued)
    }

    /// True if this node fires first.
    pub fn is_leading(&self) -> bool {
        lock(&self.0.leads_until).is_some_and(|until| Instant::now() < until)
    }
}

impl OfFirings {
    /// Counts of all schedules and outcomes, those that have not been yet too.
    pub fn all(&self, outcomes: [&'static str; 3]) -> BTreeMap<(String, &'static str), u64> {
        let mut all = self.decided.clone();
        for schedule in self.declared.iter().map(String::as_str).chain([OTHERS]) {
            for outcome in outcomes {
                all.entry((schedule.to_owned(), outcome)).or_default();
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::firing::Outcome;

    #[test]
    fn a_schedule_is_named_only_while_it_is_declared() {
        let meters = Meters::default();
        meters.declare(std::iter::empty(), ["nightly"].into_iter());
        let told =
            |schedule: &str| Told { schedule: schedule.to_owned(), outcome: Outcome::Fired, count: 1, late: Some(20) };
        meters.fired(&[told("nightly"), told("of-somebody"), told("of-another")]);
        let decided = meters.of_firings().decided;
        let count = |schedule: &str| decided.get(&(schedule.to_owned(), "fired")).copied();
        assert_eq!((count("nightly"), count(OTHERS), count("of-somebody")), (Some(1), Some(2), None));
        assert_eq!(meters.of_firings().late.count(), 3);
    }
}
