//! Schedules and their due times.

use super::*;
use crate::store::schedules::ScheduleShape;
use crate::store::status::{Lateness, Unfired};

#[test]
fn a_schedule_that_nobody_fires() {
    let mut late = facts(vec![task("mail", 0)], vec![node(1, "web-1", NodeState::Living)]);
    late.next = vec![schedule("nightly")];
    assert!(find(&late).problems.is_empty(), "a living scheduler fires it");
    late.nodes[0].roles = vec!["worker".into()];
    let found = find(&late).problems;
    assert_eq!(found[0].sentence, "No node fires schedules: `nightly` was due at 07:59 UTC.");
    assert_eq!(found[0].detail.as_deref(), Some("web-1 lives, without the role scheduler."));
    assert_eq!((found[0].level, found[0].schedule.as_deref()), (Level::Stopped, Some("nightly")));
}

#[test]
fn schedules_that_do_not_fire() {
    let mut silent = facts(vec![task("mail", 0)], vec![node(1, "web-1", NodeState::Living)]);
    let mut paused = schedule("hourly");
    paused.paused = Some(Paused { by: "ivo".into(), since: NOW - 60 * SECOND, reason: Some("quota".into()) });
    silent.silent = vec![crate::store::schedules::ScheduleShape { declared: false, ..schedule("nightly") }, paused];
    silent.differing = vec![("hourly".into(), vec!["web-2".into(), "web-1".into()])];
    let found = find(&silent);
    assert_eq!(found.problems[1].sentence, "Nodes declare `hourly` differently: web-1 speaks, not web-2.");
    assert_eq!(found.problems[0].sentence, "`nightly` no longer fires: no living node declares it.");
    assert_eq!(found.notes[0].sentence, "The schedule `hourly` is paused by ivo since 07:59 UTC: \"quota\".");
    let by = Paused { by: "ops".into(), since: NOW - 120 * SECOND, reason: Some("the move".into()) };
    silent.held = Some(crate::store::schedules::Hold { stopped: true, paused: by });
    let note = find(&silent).notes.remove(0);
    assert_eq!(note.sentence, "All schedules are paused by ops since 07:58 UTC: \"the move\".");
    assert_eq!(note.command.as_deref(), Some("soloist schedules resume --all"));
}

#[test]
fn stopped_schedules_are_one_problem() {
    let mut silent = facts(vec![task("mail", 0)], vec![node(1, "web-1", NodeState::Living)]);
    silent.silent = ["a", "b", "c", "d", "e"].map(|name| ScheduleShape { declared: false, ..schedule(name) }).into();
    let found = find(&silent).problems;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].sentence, "5 schedules no longer fire: no living node declares `a`, `b`, `c` and 2 more.");
}

#[test]
fn schedules_that_are_declared_where_nobody_fires() {
    let mut unheard = facts(vec![task("mail", 0)], vec![node(1, "web-1", NodeState::Living)]);
    unheard.nodes[0].roles = vec!["worker".into()];
    unheard.unheard = vec!["hourly".into(), "nightly".into()];
    let found = find(&unheard).problems;
    assert_eq!(found[0].sentence, "No node fires schedules, and 2 are declared: `hourly` and `nightly`.");
    assert_eq!((found[0].level, found[0].code), (Level::Broken, "no_scheduler"));
    unheard.nodes[0].roles = vec!["scheduler".into()];
    assert!(find(&unheard).problems.is_empty());
}

fn unfired(outcome: &str, reason: &str) -> Unfired {
    Unfired {
        schedule: "nightly".into(),
        outcome: outcome.into(),
        reason: Some(reason.into()),
        scheduled_for: NOW - 3600 * SECOND,
        until: None,
        count: None,
        decided_at: NOW,
        entry_id: None,
        started_at: None,
        entry_for: None,
        sweep_id: None,
        swept_from: None,
    }
}

#[test]
fn a_due_time_that_was_missed() {
    let mut back = node(3, "web-1", NodeState::Living);
    back.started_at = NOW - 1800 * SECOND;
    let mut missed = facts(vec![task("mail", 0)], vec![back, node(1, "web-2", NodeState::Stopped)]);
    missed.nodes[1].stopped_at = Some(NOW - 7200 * SECOND);
    missed.unfired = vec![(unfired("missed", "missed, and misfire is skip"), None)];
    let found = find(&missed).problems;
    assert_eq!(found[0].sentence, "`nightly` did not run at 07:00 UTC.");
    let detail = "No scheduler lived from 06:00 UTC to 07:30 UTC. It was missed, and misfire is skip.";
    assert_eq!(found[0].detail.as_deref(), Some(detail));
    assert_eq!((found[0].level, found[0].code), (Level::Broken, "firing_missed"));
    let run = Unfired { count: Some(59), until: Some(NOW - 120 * SECOND), ..missed.unfired[0].0.clone() };
    missed.unfired = vec![(run, None)];
    assert_eq!(sentences(&missed), ["`nightly` did not run at 59 due times from 07:00 UTC to 07:58 UTC."]);
    missed.nodes.remove(0);
    missed.next = vec![schedule("nightly")];
    assert_eq!(sentences(&missed), ["No node fires schedules: `nightly` was due at 07:59 UTC."], "the cause hides it");
}

#[test]
fn a_due_time_that_was_skipped_hides_what_runs_long() {
    let mut skipped = facts(vec![task("export", 0)], vec![node(3, "web-2", NodeState::Living)]);
    let since = NOW - 88_080 * SECOND;
    let run = Unfired {
        entry_id: Some(80_900),
        started_at: Some(since),
        entry_for: Some(since),
        ..unfired("skipped", "the one before still goes on")
    };
    skipped.unfired = vec![(run, Some(2460 * SECOND))];
    skipped.long = vec![(pace::long_run(80_900, Some("nightly"), since), Some(2460 * SECOND))];
    let found = find(&skipped).problems;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].sentence, "`nightly` skipped 07:00 UTC: the run of 2027-01-14 07:32 UTC still goes on.");
    assert_eq!(found[0].detail.as_deref(), Some("It has run for 1 d; 41 min is usual."));
    skipped.unfired[0].0.started_at = Some(NOW - 30 * SECOND);
    skipped.long.clear();
    assert!(find(&skipped).problems.is_empty(), "a run of half a minute is how the schedule is meant");
}

#[test]
fn firings_that_are_late() {
    let mut late = facts(vec![task("mail", 0)], vec![node(3, "web-1", NodeState::Living)]);
    late.lateness = Lateness { fired: 300, late: 12, latest: 4 * SECOND, since: NOW - 60 * SECOND };
    let sentence = "Firings are late: 12 of 300 of the last 5 min by more than a second, one by 4 s.";
    assert_eq!(sentences(&late), [sentence]);
    late.lateness.late = 2;
    assert!(sentences(&late).is_empty(), "another node took over");
}

#[test]
fn a_change_of_clocks_is_told_a_week_before() {
    use crate::config::schedule::{Definition, Schedule, Trigger};
    use crate::trigger::{Cron, Zone};
    let at = |text: &str| text.parse::<jiff::Timestamp>().unwrap().as_microsecond();
    let mut soon = facts(vec![task("mail", 0)], vec![node(3, "web-1", NodeState::Living)]);
    soon.now = at("2027-03-26T01:58:19Z");
    let mut nightly = Schedule::new("nightly", "mail", Trigger::Cron(Cron::parse("30 2 * * *").unwrap()));
    nightly.timezone = Zone::get("Europe/Berlin").unwrap();
    let mut shape = schedule("nightly");
    shape.definition = Definition::from(&nightly);
    shape.next_fire_at = Some(at("2027-03-27T01:30:00Z"));
    soon.next = vec![shape];
    let note = &find(&soon).notes[0];
    assert_eq!(note.sentence, "Clocks change on Sunday 28 March in Europe/Berlin: `nightly` fires at 03:00, once.");
    assert_eq!(note.detail.as_deref(), Some("02:30 does not exist that day: clocks go forward."));
    soon.now = at("2027-03-01T00:00:00Z");
    assert!(find(&soon).notes.is_empty());
}

#[test]
fn a_rolling_upgrade_is_no_difference() {
    let mut other = node(4, "web-2", NodeState::Living);
    (other.version, other.started_at) = ("2".into(), NOW - 60 * SECOND);
    let mut rolling = facts(vec![task("mail", 0)], vec![other, node(3, "web-1", NodeState::Living)]);
    rolling.differing = vec![("hourly".into(), vec!["web-1".into(), "web-2".into()])];
    assert!(find(&rolling).problems.is_empty() && find(&rolling).notes.is_empty());
    rolling.nodes[0].started_at = NOW - 1200 * SECOND;
    assert_eq!(sentences(&rolling), ["Nodes declare `hourly` differently: web-2 speaks, not web-1."]);
    assert_eq!(find(&rolling).notes[0].sentence, "Nodes run 1 and 2 side by side since 07:40 UTC.");
}
