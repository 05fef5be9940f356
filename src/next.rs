//! "What happens next?": one sentence under the state of an entry, the first that is true.
//!
//! Pure over rows of one moment.

use crate::model::State;
use crate::model::time::Micros;
use crate::problems::words::{age, first_line, moment, number};
use crate::store::entries::{EntryShape, Waits};
use crate::store::tasks::TaskShape;

/// What happens next to an entry; `task` is its task, if anything is known of it, and `waits` the limit in its way.
pub fn next(entry: &EntryShape, task: Option<&TaskShape>, waits: Option<&Waits>, now: Micros) -> String {
    match entry.state {
        State::Pending => pending(entry, task, waits, now),
        State::Running => running(entry, now),
        State::Completed => completed(entry),
        State::Failed if entry.attempt >= entry.max_attempts => {
            let (attempt, most) = (entry.attempt, entry.max_attempts);
            format!("Failed for good after {attempt} of {most} attempts. {}", retry(entry))
        }
        State::Failed => {
            format!(
                "Failed for good at attempt {}: its error is one that no repetition mends. {}",
                entry.attempt,
                retry(entry)
            )
        }
        State::Cancelled => {
            let when = entry.finished_at.map(|at| format!(" at {}", moment(at, now))).unwrap_or_default();
            format!("Cancelled{when}. {}", retry(entry))
        }
    }
}

fn retry(entry: &EntryShape) -> String {
    format!("Nothing more happens by itself; to try again: soloist entries retry {}", entry.id)
}

fn pending(entry: &EntryShape, task: Option<&TaskShape>, waits: Option<&Waits>, now: Micros) -> String {
    let name = &entry.task;
    if let Some(paused) = task.and_then(|task| task.paused.as_ref()) {
        let reason = match paused.reason.as_deref().map(first_line) {
            Some(reason) if !reason.is_empty() => format!(": \"{reason}\""),
            _ => String::new(),
        };
        return format!("Waits: `{name}` is paused by {} since {}{reason}.", paused.by, moment(paused.since, now));
    }
    if task.is_none_or(|task| task.handler.is_none()) {
        return format!("Waits: no living node knows `{name}`.");
    }
    if let Some(held) = task.and_then(|task| task.held.as_ref()) {
        let next = match held.next_probe_at {
            Some(at) if at > now => format!("next try in {}", age(at - now)),
            _ => "the next try is due".to_owned(),
        };
        return format!("Waits: the host of `{name}` refuses (`{}`); {next}.", first_line(&held.reason));
    }
    let attempt = entry.attempt.saturating_add(1);
    if entry.run_at > now {
        let (at, after) = (moment(entry.run_at, now), age(entry.run_at - now));
        return format!("Starts at {at}, in {after}: attempt {attempt} of {}.", entry.max_attempts);
    }
    if let Some(waits) = waits {
        return limited(waits);
    }
    let due = format!("Due since {}, for {}", moment(entry.run_at, now), age(now - entry.run_at));
    match task.and_then(|task| task.handler.as_deref()) {
        Some("pull") => format!("{due}: waits for an outside worker that asks for `{name}`."),
        _ => format!("{due}: attempt {attempt} of {} starts when its turn comes.", entry.max_attempts),
    }
}

/// Which limit is in the way of an entry that is due.
fn limited(waits: &Waits) -> String {
    match waits {
        Waits::ForEntry(id) => format!("Waits for entry {id}, which has the same key and came first."),
        Waits::ForRuns { most: 1, running } => {
            let runs = running.first().map(|id| format!(": {id} runs now")).unwrap_or_default();
            format!("Waits for the one run that is allowed over all nodes{runs}.")
        }
        Waits::ForRuns { most, running } => {
            let ids: Vec<_> = running.iter().map(i64::to_string).collect();
            let others = most - i64::try_from(ids.len()).unwrap_or(*most);
            let others = if others > 0 { format!(" and {} more", number(others)) } else { String::new() };
            let most = number(*most);
            format!("Waits for one of {most} runs that are allowed over all nodes: {}{others} run now.", ids.join(", "))
        }
        Waits::ForRate { rate, wait } => format!("Waits for the rate: {}, about {}.", rate.in_words(), age(*wait)),
    }
}

fn running(entry: &EntryShape, now: Micros) -> String {
    let node = entry.node.as_deref().unwrap_or("a node");
    let since = entry.started_at.unwrap_or(now);
    let (moment, age) = (moment(since, now), age(now - since));
    format!(
        "Runs on {node} since {moment}, for {age}. If {node} dies, the entry is pending again when that node's lease ends."
    )
}

fn completed(entry: &EntryShape) -> String {
    let node = entry.node.as_deref().map(|node| format!(" on {node}")).unwrap_or_default();
    let span = match (entry.started_at, entry.finished_at) {
        (Some(started), Some(finished)) => format!(" in {}", age(finished - started)),
        _ => String::new(),
    };
    let attempt = match entry.attempt {
        ..=1 => "the first attempt".to_owned(),
        n => format!("attempt {n}"),
    };
    format!("Completed{span}{node}, at {attempt}.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::time::SECOND;
    use crate::store::tasks::{Held, Limits, Paused, Recent};

    const NOW: Micros = 1_800_000_000 * SECOND;

    fn entry(state: State) -> EntryShape {
        EntryShape {
            id: 17,
            task: "mail".into(),
            key: None,
            state,
            payload: None,
            priority: 0,
            attempt: 2,
            max_attempts: 10,
            run_at: NOW - 12 * SECOND,
            created_at: NOW - 60 * SECOND,
            started_at: Some(NOW - 17 * SECOND),
            finished_at: state.is_final().then_some(NOW - 16 * SECOND),
            node: Some("web-2".into()),
            schedule: None,
            scheduled_for: None,
            idempotency_key: "x-17".into(),
            error: None,
            attempts: None,
        }
    }

    fn task(handler: &str) -> TaskShape {
        TaskShape {
            name: "mail".into(),
            handler: Some(handler.into()),
            source: false,
            declared_by: Vec::new(),
            concurrency: None,
            limits: Limits::default(),
            max_attempts: 10,
            paused: None,
            pending: 1,
            due: 1,
            at_least: false,
            running: 0,
            completed: 0,
            failed: 0,
            rate_per_s: 0.0,
            oldest_due_age_s: None,
            held: None,
            recent: Recent::default(),
            ended_per_s: 0.0,
        }
    }

    fn say(entry: &EntryShape, task: Option<&TaskShape>) -> String {
        next(entry, task, None, NOW)
    }

    #[test]
    fn what_waits_says_for_what() {
        let http = task("http");
        let due = entry(State::Pending);
        let turn = "Due since 07:59 UTC, for 12 s: attempt 3 of 10 starts when its turn comes.";
        assert_eq!(say(&due, Some(&http)), turn);
        let pull = "Due since 07:59 UTC, for 12 s: waits for an outside worker that asks for `mail`.";
        assert_eq!(say(&due, Some(&task("pull"))), pull);
        assert_eq!(say(&due, None), "Waits: no living node knows `mail`.");
        let later = EntryShape { run_at: NOW + 101 * SECOND, ..due.clone() };
        assert_eq!(say(&later, Some(&http)), "Starts at 08:01 UTC, in 1 min: attempt 3 of 10.");
        let paused = Paused { by: "ivo".into(), since: NOW - 3600 * SECOND, reason: Some("quota".into()) };
        let paused = TaskShape { paused: Some(paused), ..http.clone() };
        assert_eq!(say(&due, Some(&paused)), "Waits: `mail` is paused by ivo since 07:00 UTC: \"quota\".");
        let held = Held { since: NOW, reason: "401".into(), next_probe_at: Some(NOW + 40 * SECOND) };
        let held = TaskShape { held: Some(held), ..http.clone() };
        assert_eq!(say(&due, Some(&held)), "Waits: the host of `mail` refuses (`401`); next try in 40 s.");
    }

    #[test]
    fn what_a_limit_keeps_waiting_says_which() {
        let http = task("http");
        let say = |waits| next(&entry(State::Pending), Some(&http), Some(&waits), NOW);
        assert_eq!(say(Waits::ForEntry(88_000)), "Waits for entry 88000, which has the same key and came first.");
        let runs = |most, running: &[i64]| say(Waits::ForRuns { most, running: running.to_vec() });
        assert_eq!(runs(2, &[7, 9]), "Waits for one of 2 runs that are allowed over all nodes: 7, 9 run now.");
        assert_eq!(runs(1, &[7]), "Waits for the one run that is allowed over all nodes: 7 runs now.");
        assert!(runs(20, &[1, 2, 3, 4]).ends_with(": 1, 2, 3, 4 and 16 more run now."));
        let rate = crate::model::Rate { starts: 100, span: SECOND };
        let rate = Waits::ForRate { rate, wait: 48 * SECOND };
        assert_eq!(say(rate), "Waits for the rate: 100 a second, about 48 s.");
    }

    #[test]
    fn what_has_started_says_where_and_how_long() {
        let say = |entry: &EntryShape| next(entry, None, None, NOW);
        assert!(say(&entry(State::Running)).starts_with("Runs on web-2 since 07:59 UTC, for 17 s. If web-2 dies"));
        assert_eq!(say(&entry(State::Completed)), "Completed in 1 s on web-2, at attempt 2.");
        assert!(
            say(&entry(State::Failed))
                .starts_with("Failed for good at attempt 2: its error is one that no repetition mends.")
        );
        let used_up = EntryShape { attempt: 10, ..entry(State::Failed) };
        assert!(say(&used_up).starts_with("Failed for good after 10 of 10 attempts. Nothing more happens by itself"));
        assert!(say(&entry(State::Cancelled)).ends_with("to try again: soloist entries retry 17"));
    }
}
