//! What all rests on: the database, nodes and their duties; and how well all is.

use super::*;
use crate::store::duties::{DutyShape, Jump};
use crate::store::status::Away;

fn living() -> Vec<NodeShape> {
    vec![node(3, "web-1", NodeState::Living)]
}

#[test]
fn a_database_that_is_away_hides_all() {
    let mut away = facts(vec![task("mail", 12)], vec![]);
    let error = "cannot connect to PostgreSQL at db:5432/app: connection refused\nIs it running?".to_owned();
    away.away = Some(Away { error, since: NOW - 60 * SECOND, facts_of: Some(NOW - 70 * SECOND) });
    let found = find(&away);
    assert_eq!((found.problems.len(), found.notes.len()), (1, 0));
    assert_eq!(found.problems[0].sentence, "Soloist cannot reach its database: nothing is claimed or fired here.");
    assert_eq!(
        found.problems[0].detail.as_deref(),
        Some(
            "`cannot connect to PostgreSQL at db:5432/app: connection refused`, since 07:59 UTC. \
             What else you see is of 07:58 UTC; other nodes may be able to."
        )
    );
    assert_eq!(verdict(&away, &found).level, Level::Stopped);
}

#[test]
fn a_database_that_refuses_writes_hides_what_follows() {
    let mut failing = task("mail", 12);
    failing.failed = 3;
    let mut refused = facts(vec![failing], vec![node(1, "web-1", NodeState::Silent)]);
    assert_eq!(sentences(&refused).len(), 3);
    refused.refused = Some("could not extend file: No space left on device".into());
    let found = find(&refused).problems;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].sentence, "The database refuses writes: nothing can be claimed, finished or fired.");
    assert_eq!(found[0].detail.as_deref(), Some("`could not extend file: No space left on device`"));
}

fn duty(node_id: i64, name: &str) -> DutyShape {
    DutyShape {
        node: format!("web-{node_id}"),
        node_id,
        name: name.into(),
        every_s: Some(0.5),
        done_at: NOW - SECOND,
        failing_since: None,
        error: None,
        patience: 15 * SECOND,
    }
}

#[test]
fn a_duty_that_fails_or_is_silent() {
    let mut stuck = facts(vec![task("mail", 0)], vec![node(3, "web-3", NodeState::Living)]);
    let failing = DutyShape {
        failing_since: Some(NOW - 1140 * SECOND),
        error: Some("canceling statement due to lock timeout".into()),
        ..duty(3, "rescue")
    };
    stuck.standing.duties = vec![failing.clone()];
    let found = find(&stuck).problems;
    assert_eq!(found[0].sentence, "Rescue has not worked since 07:41 UTC: what a dead node held stays where it is.");
    assert_eq!(found[0].detail.as_deref(), Some("`canceling statement due to lock timeout`, on web-3."));
    assert_eq!((found[0].level, found[0].node.as_deref()), (Level::Broken, Some("web-3")));

    stuck.nodes.push(node(4, "web-4", NodeState::Living));
    stuck.standing.duties.push(duty(4, "rescue"));
    let found = find(&stuck).problems;
    assert_eq!(found[0].sentence, "Rescue has not worked on web-3 since 07:41 UTC; other nodes do it.");
    assert_eq!(found[0].level, Level::Risk);

    stuck.standing.duties[1].done_at = NOW - 16 * SECOND;
    stuck.standing.duties[0] = duty(3, "rescue");
    assert_eq!(sentences(&stuck), ["Rescue has not worked on web-4 since 07:59 UTC; other nodes do it."]);
    stuck.standing.duties[1].done_at = NOW - 14 * SECOND;
    assert!(sentences(&stuck).is_empty(), "it may be silent for 15 s");

    stuck.standing.told = vec![(4, NOW - 40 * SECOND)];
    assert_eq!(sentences(&stuck), ["web-4 keeps its lease and has not said since 07:59 UTC how its duties stand."]);
    stuck.nodes[1].state = NodeState::Draining;
    assert!(sentences(&stuck).is_empty(), "it stops");
}

#[test]
fn a_source_that_cannot_be_read_is_no_fault_of_the_duty() {
    let mut facts = facts(vec![task("mail", 0)], vec![node(3, "web-3", NodeState::Living)]);
    facts.standing.duties = vec![DutyShape { failing_since: Some(0), ..duty(3, "sweep") }];
    assert_eq!(find(&facts).problems[0].code, "duty_fails");
    let mut sweep =
        Sweep { id: 1, task: "mail".into(), collected: 0, passed: 0, error: None, failed_since: None, created_at: 0 };
    sweep.failed_since = Some(NOW - SECOND);
    facts.sweeps.push(sweep);
    assert_eq!(find(&facts).problems.iter().map(|problem| problem.code).collect::<Vec<_>>(), ["sweep_failed"]);
}

#[test]
fn a_clock_that_jumped_and_a_lease_that_was_lost() {
    let mut facts = facts(vec![task("mail", 0)], living());
    let jump = Jump { node: "web-1".into(), at: NOW - 1140 * SECOND, by: 42 * SECOND, lease: 15 * SECOND };
    facts.standing.jumps = vec![jump.clone(), Jump { by: -7 * SECOND, ..jump }];
    assert_eq!(sentences(&facts), ["The database's clock jumped forward by 42 s at 07:41 UTC."]);
    facts.standing.jumps.clear();
    facts.nodes.extend([node(2, "web-1", NodeState::Silent), node(1, "web-1", NodeState::Silent)]);
    facts.taken_over.extend([(1, 20), (2, 3)]);
    let sentence = "web-1 lost its lease 2 times in an hour, and 23 entries of it were taken over.";
    assert_eq!(sentences(&facts), [sentence]);
}

#[test]
fn a_node_that_stops_is_a_note() {
    let mut facts = facts(vec![task("mail", 0)], vec![node(3, "web-2", NodeState::Draining)]);
    facts.nodes[0].lease_until = NOW + SECOND;
    facts.held_by.insert(3, 3);
    assert_eq!(find(&facts).notes[0].sentence, "web-2 is stopping: it finishes 3 entries first.");
}

#[test]
fn all_is_well_with_what_fires_and_what_drains() {
    let say = |facts: &Facts| {
        let verdict = verdict(facts, &find(facts));
        (verdict.sentence, verdict.detail.unwrap_or_default())
    };
    let mut well = facts(vec![task("mail", 0)], living());
    let mut next = schedule("nightly");
    next.next_fire_at = Some(NOW + 1800 * SECOND);
    well.next = vec![next];
    let ready = "Ready. 1 node, 1 task declared, nothing to do.".to_owned();
    assert_eq!(say(&well), (ready, "First firing: `nightly`, 08:30 UTC.".to_owned()));
    (well.tasks[0].completed, well.tasks[0].ended_per_s) = (100, 118.0 / 60.0);
    assert_eq!(
        say(&well),
        (
            "All is well. 1 node, nothing late; next is `nightly` at 08:30 UTC.".to_owned(),
            "118 entries a minute, none waits.".to_owned(),
        )
    );
    (well.tasks[0].pending, well.tasks[0].due, well.tasks[0].oldest_due_age_s) = (48_211, 48_211, Some(30.0));
    well.tasks[0].ended_per_s = 9400.0 / 60.0;
    assert_eq!(
        say(&well),
        (
            "All is well. 48,211 entries wait, and 9,400 a minute go out: done at about 08:05 UTC.".to_owned(),
            "The oldest has been due for 30 s; 1 node.".to_owned(),
        )
    );
}
