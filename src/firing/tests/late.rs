//! What is found late with the one before it waits for its work, a moment.

use super::*;

#[test]
fn what_is_late_with_the_one_before_waits_for_its_work() {
    let mut case = case(100, 101);
    let decision = case.decide();
    assert_eq!((fired(&decision), left(&decision)), (vec![100], vec![]));
    assert_eq!((decision.next, decision.found_late), (Some(101 * SECOND), Some(101 * SECOND)));
    case.found_late = Some(101 * SECOND);
    // The next look: 100 was fired when 101 was due already.
    (case.next, case.fired_at, case.work) = (101 * SECOND, Some(101 * SECOND), Work::Going);
    let decision = case.decide();
    assert!(decision.items.is_empty() && decision.found_late == Some(101 * SECOND));
    case.work = Work::Over;
    assert_eq!(fired(&case.decide()), [101]);
    // Not for ever, and what comes after it is not late: it is skipped as ever.
    (case.now, case.work) = (103 * SECOND, Work::Going);
    let decision = case.decide();
    assert_eq!(left(&decision), [(Outcome::Skipped, 101, 103, 3)]);
    assert_eq!(decision.found_late, None);
}

#[test]
fn what_is_made_up_waits_for_work_that_is_yet_to_be_rescued() {
    let mut case = case(10, 100);
    case.work = Work::Going;
    let decision = case.decide();
    assert_eq!((fired(&decision), left(&decision)), (vec![], vec![(Outcome::Missed, 10, 98, 89)]));
    assert_eq!((decision.next, decision.found_late), (Some(99 * SECOND), Some(100 * SECOND)));
    (case.next, case.found_late) = (99 * SECOND, Some(100 * SECOND));
    case.work = Work::Over;
    assert_eq!(fired(&case.decide()), [99]);
    // Work that goes on for long is in the way like any other.
    (case.work, case.now) = (Work::Going, 102 * SECOND);
    assert_eq!(left(&case.decide()), [(Outcome::Skipped, 99, 102, 4)]);
}

#[test]
fn work_as_long_as_the_period_is_not_late_for_ever() {
    // Fired every second, and takes 990 ms: found 1.3 s late once.
    const WORK: Micros = 990_000;
    let mut case = case(100, 0);
    case.now = 101_300_000;
    let (mut late, mut skipped, mut over) = (Vec::new(), 0, 0);
    while case.now < 120 * SECOND {
        case.work = if case.now < over { Work::Going } else { Work::Over };
        let decision = case.decide();
        for item in &decision.items {
            match item {
                Item::Fire(due) => {
                    late.push(case.now - due);
                    (case.fired_at, over) = (Some(case.now), case.now + WORK);
                }
                Item::Leave { count, .. } => skipped += count,
            }
        }
        case.next = decision.next.unwrap();
        case.found_late = decision.found_late;
        case.now += 10_000;
    }
    assert!(late[..2].iter().all(|late| *late >= SECOND), "two that are found late both fire: {late:?}");
    assert!(late[4..].iter().all(|late| *late < SECOND / 10), "{late:?}");
    assert!(skipped <= 4, "{skipped} were skipped");
}
