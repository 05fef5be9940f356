//! Problems of work that fails: most of a task's attempts, entries for good, rows that cannot be marked, entries that
//! may not be started again.

use std::collections::{BTreeMap, BTreeSet};

use super::words::{count, first_line, kind, number};
use super::{Level, Problem};
use crate::model::failure;
use crate::store::status::{Facts, Failure};
use crate::store::tasks::TaskShape;

/// What an entry that failed for good is told as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The work is done, its row is not marked.
    Unmarked,
    /// It was cut off, and may not be started again.
    CutOff,
    /// Any other.
    Failed,
}

fn kind_of(facts: &Facts, failure: &Failure) -> Kind {
    let once = || facts.declared.tasks.get(&failure.task).is_some_and(|task| task.at_most_once);
    if failure::is_unmarked(failure.error()) {
        Kind::Unmarked
    } else if failure::is_cut_off(failure.error()) && once() {
        Kind::CutOff
    } else {
        Kind::Failed
    }
}

/// True if most of a task's attempts of late did not work. A task whose host refuses is held back instead.
fn is_failing(task: &TaskShape) -> bool {
    let recent = task.recent;
    task.held.is_none() && recent.failed >= 5 && recent.failed * 2 > recent.attempts
}

/// Tasks most of whose attempts do not work.
pub(super) fn failing(facts: &Facts) -> impl Iterator<Item = Problem> + '_ {
    facts.tasks.iter().filter(|task| is_failing(task)).map(|task| {
        let recent = task.recent;
        let (failed, attempts) = (number(recent.failed), count(recent.attempts, "attempt", "attempts"));
        let sentence = format!("`{}` fails: {failed} of its {attempts} of the last 15 min.", task.name);
        let mut problem = Problem::new(Level::Broken, 8, "task_fails", sentence);
        let of_task = |failure: &&Failure| failure.task == task.name;
        // Attempts are of the same minutes; what failed for good is of the whole day, and the next best.
        let most = most_frequent(facts.attempts.iter().filter(of_task))
            .or_else(|| most_frequent(facts.failures.iter().filter(of_task)));
        let waits = recent.failed - recent.for_good;
        let rest = match (waits, recent.for_good) {
            (0, _) => "All of them failed for good.".to_owned(),
            (_, 0) => "None failed for good: they are tried again.".to_owned(),
            (_, good) => format!("{} failed for good; the others are tried again.", number(good)),
        };
        problem.detail = Some(most.map(|most| format!("{most} {rest}")).unwrap_or(rest));
        problem.command = Some(format!("soloist entries list --task {}", task.name));
        problem.task = Some(task.name.clone());
        problem.since = recent.since;
        problem
    })
}

/// Entries whose work is done and whose row could not be marked.
pub(super) fn unmarked(facts: &Facts) -> Vec<Problem> {
    let problem = |(task, failures): (&str, Vec<&Failure>)| {
        let n = many(&failures);
        let (entries, their) = (count(n, "entry", "entries"), if n == 1 { "its row" } else { "their rows" });
        let sentence = format!("{entries} of `{task}` did the work but could not mark {their}.");
        let mut problem = Problem::new(Level::Broken, 14, "rows_unmarked", sentence);
        let words = failures.first().map(|failure| failure::words_of_unmarked(failure.error())).unwrap_or_default();
        let end = if n == 1 { "It has failed for good" } else { "They have failed for good" };
        problem.detail = Some(format!("`{}`. {end}; the work is done.", first_line(words)));
        problem.command = Some(format!("soloist entries list --task {task} --state failed"));
        problem.task = Some(task.to_owned());
        problem
    };
    by_task(facts, Kind::Unmarked).into_iter().map(problem).collect()
}

/// Entries of tasks with `at_most_once` that were cut off.
pub(super) fn cut_off(facts: &Facts) -> Vec<Problem> {
    let problem = |(task, failures): (&str, Vec<&Failure>)| {
        let n = many(&failures);
        let (were, them) = if n == 1 { ("was", "it") } else { ("were", "them") };
        let sentence = format!(
            "{} of `{task}` {were} cut off and will not be started again: check {them} by hand.",
            count(n, "entry", "entries")
        );
        let mut problem = Problem::new(Level::Risk, 20, "cut_off", sentence);
        let most = most_frequent(failures.into_iter()).unwrap_or_default();
        problem.detail = Some(format!("{most} Nobody can know from here whether it took effect.").trim().to_owned());
        problem.command = Some(format!("soloist entries list --task {task} --state failed"));
        problem.task = Some(task.to_owned());
        problem
    };
    by_task(facts, Kind::CutOff).into_iter().map(problem).collect()
}

/// Entries that failed for good in the last day, all tasks together but those that are reported already.
pub(super) fn failed(facts: &Facts) -> Option<Problem> {
    let told =
        |task: &str| facts.failures.iter().filter(|f| f.task == task && kind_of(facts, f) != Kind::Failed).count();
    let left = |task: &TaskShape| task.failed - i64::try_from(told(&task.name)).unwrap_or(0);
    let tasks: Vec<_> = facts.tasks.iter().filter(|task| !is_failing(task) && left(task) > 0).collect();
    let failed: i64 = tasks.iter().map(|task| left(task)).sum();
    if failed == 0 {
        return None;
    }
    let meant = |failure: &&Failure| {
        tasks.iter().any(|task| task.name == failure.task) && kind_of(facts, failure) == Kind::Failed
    };
    let sample = || facts.failures.iter().filter(meant);
    let kinds: BTreeSet<_> = sample().map(|failure| kind(failure.error())).collect();
    let with = match kinds.len() {
        0 => String::new(),
        1 => ", with one kind of error".to_owned(),
        n => format!(", with {n} kinds of error"),
    };
    let sentence = format!("{} failed for good in the last 24 h{with}.", count(failed, "entry", "entries"));
    let mut problem = Problem::new(Level::Risk, 21, "entries_failed", sentence);
    problem.detail = most_frequent(sample());
    problem.command = Some("soloist entries list --state failed".to_owned());
    if let [only] = tasks.as_slice() {
        problem.task = Some(only.name.clone());
    }
    Some(problem)
}

fn by_task(facts: &Facts, kind: Kind) -> BTreeMap<&str, Vec<&Failure>> {
    let mut tasks: BTreeMap<&str, Vec<&Failure>> = BTreeMap::new();
    for failure in facts.failures.iter().filter(|failure| kind_of(facts, failure) == kind) {
        tasks.entry(&failure.task).or_default().push(failure);
    }
    tasks
}

fn many<T>(all: &[T]) -> i64 {
    i64::try_from(all.len()).unwrap_or(i64::MAX)
}

/// The most frequent kind of error, with its newest example as it came.
fn most_frequent<'a>(failures: impl Iterator<Item = &'a Failure>) -> Option<String> {
    struct Kind<'a> {
        example: &'a str,
        n: i64,
        alike: bool,
    }
    let mut kinds: BTreeMap<(String, &str), Kind<'_>> = BTreeMap::new();
    for failure in failures.filter(|failure| !failure.error().is_empty()) {
        let error = failure.error();
        let of = kinds.entry((kind(error), &failure.task)).or_insert(Kind { example: error, n: 0, alike: false });
        of.n += 1;
        of.alike |= first_line(of.example) != first_line(error);
    }
    // Of those that are as frequent the first by name: the same at each look.
    let ((_, task), most) = kinds.into_iter().rev().max_by_key(|(_, kind)| kind.n)?;
    let times = if most.n == 1 { "once".to_owned() } else { format!("{} times", number(most.n)) };
    let alike = if most.alike { " and alike" } else { "" };
    Some(format!("Most: `{}`{alike}, {times} in `{task}`.", first_line(most.example)))
}
