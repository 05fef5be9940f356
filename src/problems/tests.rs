//! Each sentence as it reads, from rows put together by hand.
#![allow(clippy::unwrap_used)]

mod bases;
mod due_times;
mod pace;

use super::*;
use crate::model::time::SECOND;
use crate::store::node_list::{NodeShape, NodeState};
use crate::store::status::Failure;
use crate::store::sweeps::Sweep;
use crate::store::tasks::declared::DeclaredTask;
use crate::store::tasks::{Held, Limits, Paused, Recent, TaskShape};

const NOW: Micros = 1_800_000_000 * SECOND;

fn task(name: &str, due: i64) -> TaskShape {
    TaskShape {
        name: name.into(),
        handler: Some("http".into()),
        source: false,
        declared_by: vec!["web-1".into()],
        limits: Limits::default(),
        concurrency: Some(8),
        max_attempts: 10,
        paused: None,
        pending: due,
        due,
        at_least: false,
        running: 0,
        completed: 0,
        failed: 0,
        rate_per_s: 0.0,
        oldest_due_age_s: (due > 0).then_some(0.1),
        held: None,
        recent: Recent::default(),
        ended_per_s: 0.0,
    }
}

fn node(id: i64, name: &str, state: NodeState) -> NodeShape {
    let seen_at = NOW - 720 * SECOND;
    NodeShape {
        name: name.into(),
        id,
        roles: vec!["scheduler".into(), "worker".into()],
        started_at: 0,
        seen_at,
        lease_until: if state == NodeState::Living { NOW + SECOND } else { seen_at + 15 * SECOND },
        version: "1".into(),
        state,
        stopped_at: (state == NodeState::Stopped).then_some(seen_at),
    }
}

fn facts(tasks: Vec<TaskShape>, nodes: Vec<NodeShape>) -> Facts {
    let declaration: DeclaredTask = serde_json::from_str("{}").unwrap();
    let declared =
        tasks.iter().filter(|t| t.handler.is_some()).map(|t| (t.name.clone(), declaration.clone())).collect();
    Facts {
        now: NOW,
        tasks,
        nodes,
        declared: crate::store::tasks::declared::Declared { tasks: declared },
        ..Facts::default()
    }
}

fn sentences(facts: &Facts) -> Vec<String> {
    find(facts).problems.into_iter().map(|problem| problem.sentence).collect()
}

fn failure(error: &str) -> Failure {
    Failure { task: "mail".to_owned(), error: Some(error.to_owned()) }
}

#[test]
fn no_worker_hides_unknown_tasks() {
    let mut unknown = task("thumbnial", 12);
    unknown.handler = None;
    let mut facts = facts(vec![task("mail", 4800), unknown], vec![node(1, "web-2", NodeState::Stopped)]);
    let found = find(&facts);
    assert_eq!(found.problems.len(), 1);
    assert_eq!(found.problems[0].sentence, "No node is working: 4,812 entries are due and nothing starts them.");
    assert_eq!(found.problems[0].detail.as_deref(), Some("Last beat: web-2 at 07:48 UTC, then a clean stop."));
    facts.nodes.push(node(2, "web-1", NodeState::Living));
    assert_eq!(sentences(&facts), ["No node knows the task `thumbnial`: 12 entries wait for it since 07:59 UTC."]);
}

#[test]
fn an_unknown_task_has_a_nearest_name() {
    let mut unknown = task("thumbnial", 1);
    unknown.handler = None;
    let facts = facts(vec![task("thumbnail", 0), unknown], vec![node(2, "web-1", NodeState::Living)]);
    let found = find(&facts);
    assert_eq!(found.problems[0].detail.as_deref(), Some("The nearest declared task is `thumbnail`."));
    assert_eq!(found.problems[0].level, Level::Broken);
}

#[test]
fn worse_comes_first_and_pauses_are_notes() {
    let mut held = task("thumbnail", 4812);
    let since = NOW - 1140 * SECOND;
    held.held = Some(Held {
        since,
        reason: "POST http://127.0.0.1:8000/x: 401 Unauthorized".into(),
        next_probe_at: Some(NOW + 40 * SECOND),
    });
    let mut paused = task("mail", 2);
    paused.paused = Some(Paused { by: "ivo".into(), since: NOW - 86_400 * SECOND, reason: Some("SMTP quota".into()) });
    let nodes = vec![node(3, "web-1", NodeState::Living), node(1, "web-3", NodeState::Silent)];
    let mut facts = facts(vec![held, paused], nodes);
    facts.taken_over.insert(1, 8);
    let found = find(&facts);
    let sentences: Vec<_> = found.problems.iter().map(|problem| problem.sentence.as_str()).collect();
    assert_eq!(
        sentences,
        [
            "`thumbnail` is held back: its host answers 401 Unauthorized since 07:41 UTC, and 4,812 entries wait.",
            "web-3 has been silent for 12 min; its 8 entries were taken over.",
        ]
    );
    assert_eq!(
        found.problems[0].detail.as_deref(),
        Some("`POST http://127.0.0.1:8000/x: 401 Unauthorized`. Next try in 40 s. No attempts are spent.")
    );
    assert_eq!(
        found.notes[0].sentence,
        "`mail` is paused by ivo since 2027-01-14 08:00 UTC: \"SMTP quota\". 2 entries wait."
    );
    assert_eq!(verdict(&facts, &found).sentence, found.problems[0].sentence);
}

#[test]
fn a_node_that_came_back_is_no_problem() {
    let nodes = vec![node(3, "web-1", NodeState::Living), node(1, "web-1", NodeState::Silent)];
    let mut facts = facts(vec![task("mail", 0)], nodes);
    assert!(sentences(&facts).is_empty());
    facts.held_by.insert(1, 1);
    assert_eq!(sentences(&facts), ["web-1 has been silent for 12 min and still holds 1 entry."]);
}

#[test]
fn failures_are_counted_by_kind() {
    let mut mail = task("mail", 0);
    mail.failed = 131;
    let mut facts = facts(vec![mail, task("report", 0)], vec![node(3, "web-1", NodeState::Living)]);
    facts.failures = ["550 mailbox 1 unavailable", "550 mailbox 22 unavailable", "time-out"].map(failure).into();
    let problem = &find(&facts).problems[0];
    assert_eq!(problem.sentence, "131 entries failed for good in the last 24 h, with 2 kinds of error.");
    assert_eq!(problem.detail.as_deref(), Some("Most: `550 mailbox 1 unavailable` and alike, 2 times in `mail`."));
    assert_eq!((problem.level, problem.task.as_deref()), (Level::Risk, Some("mail")));
}

#[test]
fn all_is_well_is_never_said_out_of_ignorance() {
    let say = |facts: &Facts| verdict(facts, &find(facts)).sentence;
    assert_eq!(say(&facts(vec![task("mail", 0)], vec![])), "No node is running, and no entry is due.");
    let living = || vec![node(3, "web-1", NodeState::Living)];
    assert_eq!(say(&facts(vec![], living())), "Ready, but no task is declared: nothing can run.");
    assert_eq!(say(&facts(vec![task("mail", 0)], living())), "Ready. 1 node, 1 task declared, nothing to do.");
    assert_eq!(say(&facts(vec![task("mail", 2)], living())), "All is well. 1 node, nothing late.");
}

#[test]
fn a_sweep_that_fails_says_so_in_the_databases_words() {
    let mut facts = facts(vec![task("mail", 0)], vec![node(3, "web-1", NodeState::Living)]);
    let error = Some("column \"processed\" does not exist\nLINE 1".to_owned());
    let failed_since = Some(NOW - 1140 * SECOND);
    facts.sweeps.push(Sweep {
        id: 1,
        task: "mail".into(),
        collected: 0,
        passed: 0,
        error,
        failed_since,
        created_at: 0,
    });
    let problem = &find(&facts).problems[0];
    assert_eq!(problem.sentence, "`mail` finds no rows: its source cannot be read since 07:41 UTC.");
    assert_eq!(problem.detail.as_deref(), Some("`column \"processed\" does not exist`"));
}

#[test]
fn entries_for_outside_workers_need_no_worker() {
    let mut pulled = task("export", 3);
    pulled.handler = Some("pull".into());
    let mut door = node(3, "web-1", NodeState::Living);
    door.roles = vec!["http".into()];
    assert!(sentences(&facts(vec![pulled], vec![door])).is_empty());
}

#[test]
fn a_task_that_mostly_fails_hides_its_failed_entries() {
    let mut mail = task("mail", 0);
    mail.failed = 16;
    mail.recent = Recent { attempts: 50, failed: 47, for_good: 16, since: Some(NOW - 900 * SECOND) };
    let mut facts = facts(vec![mail, task("report", 0)], vec![node(3, "web-1", NodeState::Living)]);
    facts.failures = vec![failure("550 mailbox 1 unavailable")];
    let found = find(&facts);
    assert_eq!(found.problems.len(), 1);
    assert_eq!(found.problems[0].sentence, "`mail` fails: 47 of its 50 attempts of the last 15 min.");
    let detail = "Most: `550 mailbox 1 unavailable`, once in `mail`. 16 failed for good; the others are tried again.";
    assert_eq!(found.problems[0].detail.as_deref(), Some(detail));
    facts.tasks[0].recent = Recent { attempts: 100, failed: 47, ..Recent::default() };
    assert_eq!(find(&facts).problems[0].code, "entries_failed");
}

#[test]
fn a_host_that_is_away_is_said_in_short() {
    let sentence = |reason: &str| {
        let mut hook = task("hook", 1);
        hook.held = Some(Held { since: NOW, reason: reason.into(), next_probe_at: None });
        sentences(&facts(vec![hook], vec![node(3, "web-1", NodeState::Living)])).remove(0)
    };
    let waits = "since 08:00 UTC, and 1 entry waits.";
    let away = sentence("POST http://[::1]:9/x: cannot connect: tcp connect error: refused (os error 111)");
    assert_eq!(away, format!("`hook` is held back: its host cannot be connected to {waits}"));
    assert_eq!(sentence("sh: no such program."), format!("`hook` is held back: sh: no such program {waits}"));
}

fn schedule(name: &str) -> crate::store::schedules::ScheduleShape {
    use crate::config::schedule::{Definition, Schedule, Trigger};
    let every = Schedule::new(name, "mail", Trigger::Every(std::time::Duration::from_secs(60)));
    crate::store::schedules::ScheduleShape {
        name: name.into(),
        definition: Definition::from(&every),
        paused: None,
        origin: crate::store::schedules::Origin::Config,
        declared: true,
        next_fire_at: Some(NOW - 60 * SECOND),
        last_fired_at: None,
    }
}
