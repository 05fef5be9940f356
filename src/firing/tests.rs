//! The rules of misfire, grace, overlap and jitter, case by case.
#![allow(clippy::unwrap_used)]

mod late;

use std::time::Duration;

use super::*;
use crate::config::schedule::{Misfire, Overlap, Trigger};
use crate::model::time::SECOND;
use crate::trigger::Cron;

/// A schedule of every second, anchored at 0, whose due times before 100 s are missed.
struct Case {
    schedule: Schedule,
    next: Micros,
    now: Micros,
    work: Work,
    fired_at: Option<Micros>,
    queued_for: Option<Micros>,
    paused: bool,
    found_late: Option<Micros>,
}

fn case(next: i64, now: i64) -> Case {
    let schedule = Schedule::new("s", "t", Trigger::Every(Duration::from_secs(1)));
    Case {
        schedule,
        next: next * SECOND,
        now: now * SECOND,
        work: Work::Over,
        fired_at: None,
        queued_for: None,
        paused: false,
        found_late: None,
    }
}

impl Case {
    fn decide(&self) -> Decision {
        self.with(100 * SECOND, decide)
    }

    fn with<T>(&self, missed_before: Micros, then: impl FnOnce(&Situation<'_>) -> T) -> T {
        then(&Situation {
            schedule: &self.schedule,
            timer: &self.schedule.timer(0),
            next: Some(self.next),
            queued_for: self.queued_for,
            paused: self.paused,
            work: self.work,
            fired_at: self.fired_at,
            now: self.now,
            missed_before,
            found_late: self.found_late,
            may_wait: true,
        })
    }
}

fn fired(decision: &Decision) -> Vec<i64> {
    decision
        .items
        .iter()
        .filter_map(|item| if let Item::Fire(due) = item { Some(due / SECOND) } else { None })
        .collect()
}

/// Outcome, first and last due time in seconds, count.
fn left(decision: &Decision) -> Vec<(Outcome, i64, i64, u64)> {
    let left = decision.items.iter().filter_map(|item| match item {
        Item::Leave { outcome, from, until, count, .. } => Some((*outcome, from / SECOND, until / SECOND, *count)),
        Item::Fire(_) => None,
    });
    left.collect()
}

#[test]
fn what_is_due_fires_and_what_is_late_too() {
    let mut case = case(100, 102);
    case.schedule.overlap = Overlap::Allow;
    let decision = case.decide();
    assert_eq!(fired(&decision), [100, 101, 102]);
    assert_eq!((decision.next, decision.decided_until), (Some(103 * SECOND), Some(102 * SECOND)));
    assert!(left(&decision).is_empty());
}

#[test]
fn nothing_is_due_before_its_time() {
    let decision = case(103, 102).decide();
    assert!(decision.items.is_empty());
    assert_eq!(decision.next, Some(103 * SECOND));
}

#[test]
fn of_what_was_missed_the_newest_fires() {
    let decision = case(10, 100).decide();
    // 99 is the newest that was missed; 100 is in time, and waits for its work.
    assert_eq!(fired(&decision), [99]);
    assert_eq!(left(&decision), [(Outcome::Missed, 10, 98, 89)]);
    assert_eq!((decision.next, decision.found_late), (Some(100 * SECOND), Some(100 * SECOND)));
}

#[test]
fn skip_makes_nothing_up() {
    let mut case = case(10, 100);
    case.schedule.misfire = Misfire::Skip;
    let decision = case.decide();
    assert_eq!(fired(&decision), [100]);
    assert_eq!(left(&decision), [(Outcome::Missed, 10, 99, 90)]);
}

#[test]
fn all_makes_up_the_newest_thousand_whatever_overlap_says() {
    let mut case = case(-1000, 100);
    case.schedule.start = Some(jiff::Timestamp::from_second(-5000).unwrap());
    case.schedule.misfire = Misfire::All;
    let decision = case.decide();
    let due = fired(&decision);
    assert_eq!((due.len(), due[0], due[999]), (1000, -900, 99));
    assert_eq!(left(&decision), [(Outcome::Missed, -1000, -901, 100)]);
    assert!(decision.found_late.is_some());
}

#[test]
fn what_is_older_than_the_grace_is_not_made_up() {
    let mut case = case(10, 100);
    case.schedule.misfire = Misfire::All;
    case.schedule.misfire_grace = Some(Duration::from_secs(5));
    let decision = case.decide();
    assert_eq!(fired(&decision), [95, 96, 97, 98, 99]);
    assert_eq!(left(&decision), [(Outcome::Missed, 10, 94, 85)]);
    case.now = 500 * SECOND;
    case.schedule.misfire = Misfire::Once;
    case.schedule.trigger = Trigger::At(jiff::Timestamp::from_second(10).unwrap());
    let decision = case.decide();
    assert_eq!((fired(&decision), decision.next), (vec![], None));
    assert_eq!(left(&decision), [(Outcome::Missed, 10, 10, 1)]);
}

#[test]
fn a_fast_interval_that_was_down_for_a_year_is_one_decision() {
    let mut case = case(0, 400 * 86_400);
    case.schedule.trigger = Trigger::Every(Duration::from_millis(100));
    let decision = case.with(case.now + 1, decide);
    assert_eq!(fired(&decision), [400 * 86_400]);
    assert_eq!(left(&decision), [(Outcome::Missed, 0, 400 * 86_400 - 1, 400 * 864_000)]);
}

#[test]
fn a_cron_that_was_down_for_long_is_decided_in_parts() {
    for (misfire, made_up) in [(Misfire::Once, vec![100_000]), (Misfire::Skip, vec![])] {
        let mut case = case(0, 100_000);
        case.schedule.trigger = Trigger::Cron(Cron::parse("* * * * * *").unwrap());
        case.schedule.misfire = misfire;
        let (mut missed, mut all) = (0, Vec::new());
        while case.next <= case.now {
            let decision = case.with(case.now + 1, decide);
            missed += left(&decision).iter().map(|run| run.3).sum::<u64>();
            all.extend(fired(&decision));
            case.next = decision.next.expect("it goes on");
        }
        assert_eq!((missed, case.next), (100_001 - made_up.len() as u64, 100_001 * SECOND), "{misfire:?}");
        assert_eq!(all, made_up);
    }
}

#[test]
fn what_is_given_up_is_on_record() {
    let mut case = case(100, 105);
    (case.queued_for, case.work) = (Some(97 * SECOND), Work::Going);
    let decision = case.with(100 * SECOND, |situation| give_up(situation, true, "gone"));
    assert_eq!(left(&decision), [(Outcome::Skipped, 97, 97, 1), (Outcome::Skipped, 100, 105, 6)]);
    assert_eq!((decision.next, decision.decided_until), (Some(106 * SECOND), Some(105 * SECOND)));
    let decision = case.with(100 * SECOND, |situation| give_up(situation, false, "gone"));
    assert_eq!(left(&decision), [(Outcome::Skipped, 97, 97, 1)]);
    assert_eq!((decision.next, decision.queued_for), (Some(100 * SECOND), None));
}

#[test]
fn overlap_skips_while_the_work_goes_on() {
    let mut case = case(100, 101);
    case.work = Work::Going;
    let decision = case.decide();
    assert_eq!(left(&decision), [(Outcome::Skipped, 100, 101, 2)]);
    assert!(fired(&decision).is_empty() && !decision.bring_forward);
}

#[test]
fn a_waiting_retry_is_brought_forward() {
    let mut case = case(100, 100);
    case.work = Work::WaitsForRetry;
    let decision = case.decide();
    assert!(decision.bring_forward && fired(&decision).is_empty());
    assert_eq!(left(&decision), [(Outcome::Skipped, 100, 100, 1)]);
}

#[test]
fn one_due_time_waits_in_the_queue() {
    let mut case = case(100, 102);
    case.schedule.overlap = Overlap::Queue;
    case.work = Work::Going;
    let decision = case.decide();
    assert_eq!(decision.queued_for, Some(100 * SECOND));
    assert_eq!(left(&decision), [(Outcome::Skipped, 101, 102, 2)]);
    case.queued_for = decision.queued_for;
    case.next = 103 * SECOND;
    assert!(case.decide().items.is_empty());
    case.work = Work::Over;
    let decision = case.decide();
    assert_eq!((fired(&decision), decision.queued_for), (vec![100], None));
}

#[test]
fn a_paused_schedule_goes_on_without_firing() {
    let mut case = case(90, 101);
    case.paused = true;
    let decision = case.decide();
    assert_eq!(left(&decision), [(Outcome::Skipped, 90, 101, 12)]);
    assert_eq!(decision.next, Some(102 * SECOND));
}

#[test]
fn a_moment_comes_once_even_if_it_is_past() {
    let moment = Schedule::new("s", "t", Trigger::At(jiff::Timestamp::from_second(10).unwrap()));
    let timer = moment.timer(0);
    assert_eq!(first_due(&timer, 500 * SECOND, None), Some(10 * SECOND));
    assert_eq!(first_due(&timer, 500 * SECOND, Some(10 * SECOND)), None);
}

#[test]
fn the_grid_of_an_interval_outlives_changes() {
    let schedule = Schedule::new("s", "t", Trigger::Every(Duration::from_secs(6)));
    let timer = schedule.timer(SECOND);
    assert_eq!(first_due(&timer, SECOND, None), Some(7 * SECOND), "the first is one interval after it was first seen");
    assert_eq!(first_due(&timer, 20 * SECOND, Some(25 * SECOND)), Some(31 * SECOND), "never back");
}

#[test]
fn jitter_is_within_its_bound_and_always_the_same() {
    let span = Duration::from_secs(30);
    let all: Vec<_> = (0..200).map(|due| offset("s", due * SECOND, span)).collect();
    assert!(all.iter().all(|put_off| (0..=30 * SECOND).contains(put_off)));
    assert_eq!(all[7], offset("s", 7 * SECOND, span));
    assert!(all.iter().min() < Some(&(3 * SECOND)) && all.iter().max() > Some(&(27 * SECOND)), "spread over the whole");
    assert_eq!(offset("s", 5, Duration::ZERO), 0);
}
