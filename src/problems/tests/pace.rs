//! What stands still, falls behind, runs long, or may not be started again.

use super::*;
use crate::model::failure;
use crate::store::status::{LongRun, Usual};
use crate::store::tasks::kept::Kept;

pub(super) fn long_run(id: i64, schedule: Option<&str>, started_at: Micros) -> LongRun {
    LongRun { id, task: "export".into(), schedule: schedule.map(str::to_owned), node_id: 3, started_at }
}

fn waiting(due: i64, age: f64) -> Facts {
    let mut report = task("report", due);
    report.oldest_due_age_s = Some(age);
    facts(vec![report], vec![node(3, "web-1", NodeState::Living)])
}

#[test]
fn a_task_that_stands_still() {
    let mut still = waiting(12, 300.0);
    assert!(sentences(&still).is_empty(), "it is not known when it last started");
    still.last_starts.insert("report".into(), NOW - 180 * SECOND);
    let sentence = "`report` stands still: 12 entries are due, 8 slots are free, and nothing has started for 3 min.";
    assert_eq!(sentences(&still), [sentence]);
    assert_eq!(find(&still).problems[0].since, Some(NOW - 180 * SECOND));
    for change in [
        |task: &mut TaskShape| task.running = 8,
        |task: &mut TaskShape| task.handler = Some("pull".into()),
        |task: &mut TaskShape| task.oldest_due_age_s = Some(9.0),
        |task: &mut TaskShape| task.paused = Some(Paused { by: "ivo".into(), since: 0, reason: None }),
    ] {
        let mut changed = still.clone();
        change(&mut changed.tasks[0]);
        assert!(find(&changed).problems.is_empty(), "{:?}", changed.tasks[0]);
    }
    still.declared.tasks.get_mut("report").unwrap().limits.serial = true;
    assert!(find(&still).problems.is_empty(), "a limit keeps it waiting");
}

#[test]
fn a_task_that_falls_behind() {
    let mut behind = waiting(1000, 1140.0);
    (behind.tasks[0].running, behind.tasks[0].ended_per_s) = (8, 74.0 / 60.0);
    let kept = Kept { pending: 1000, due: 1000, counted_at: NOW, earlier: Some((780, NOW - 300 * SECOND)) };
    behind.kept.insert("report".into(), kept);
    behind.usual.insert("report".into(), Usual { wait: Some(SECOND), run: Some(13 * SECOND) });
    let found = find(&behind).problems;
    let sentence = "`report` falls behind: 118 a minute come in, 74 go out, and the oldest has waited 19 min.";
    assert_eq!(found[0].sentence, sentence);
    assert_eq!(found[0].detail.as_deref(), Some("All 8 slots on 1 node are busy; an attempt takes 13 s."));
    behind.usual.insert("report".into(), Usual { wait: Some(300 * SECOND), run: None });
    assert!(sentences(&behind).is_empty(), "it usually waits for 5 min");
    behind.usual.clear();
    behind.kept.insert("report".into(), Kept { due: 700, ..kept });
    assert!(sentences(&behind).is_empty(), "it drains");
}

#[test]
fn what_runs_for_long() {
    let mut long = facts(vec![task("export", 0)], vec![node(3, "web-2", NodeState::Living)]);
    let first = NOW - 7200 * SECOND;
    let usual = Some(13 * SECOND);
    long.long = vec![(long_run(7, None, first), usual), (long_run(8, None, NOW - 64 * SECOND), usual)];
    let found = find(&long).problems;
    assert_eq!(found[0].sentence, "Entry 7 of `export` has run for 2 h; 13 s is usual.");
    assert_eq!(found[0].detail.as_deref(), Some("On web-2, which is alive; it started at 06:00 UTC."));
    long.long[1].0.started_at = NOW - 66 * SECOND;
    assert_eq!(sentences(&long), ["2 entries of `export` run for long, entry 7 for 2 h; 13 s is usual."]);
    long.long.iter_mut().for_each(|(_, usual)| *usual = None);
    assert!(sentences(&long).is_empty(), "nobody knows what is usual");
}

#[test]
fn entries_that_could_not_mark_their_row_or_were_cut_off() {
    let mut mail = task("mail", 0);
    mail.failed = 6;
    let mut facts = facts(vec![mail], vec![node(3, "web-1", NodeState::Living)]);
    let unmarked = failure::unmarked("permission denied for table images");
    facts.failures = vec![
        failure(&unmarked),
        failure(&unmarked),
        failure("node web-3 (incarnation 1) was lost while it worked this entry"),
    ];
    facts.failures.push(failure("550 no mailbox"));
    let found = find(&facts).problems;
    assert_eq!(found[0].sentence, "2 entries of `mail` did the work but could not mark their rows.");
    let detail = "`permission denied for table images`. They have failed for good; the work is done.";
    assert_eq!(found[0].detail.as_deref(), Some(detail));
    assert_eq!(found[1].sentence, "4 entries failed for good in the last 24 h, with 2 kinds of error.");
    facts.declared.tasks.get_mut("mail").unwrap().at_most_once = true;
    let found = find(&facts).problems;
    let sentence = "1 entry of `mail` was cut off and will not be started again: check it by hand.";
    assert_eq!(found[1].sentence, sentence);
    assert!(found[1].detail.as_deref().unwrap().starts_with("Most: `node web-3 (incarnation 1) was lost"));
    assert_eq!(found[2].sentence, "3 entries failed for good in the last 24 h, with one kind of error.");
}
