//! What may meet: passes of several nodes, changes, pauses, firings by hand, deletions, and the death of nodes at any
//! moment. Whatever meets, each due time is decided once, and firings and entries belong together.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use house::{Backend, Node, Signal, TestDatabase, numbers, on_every_backend, until};
use soloist::config::NodeRole;
use soloist::config::schedule::{Definition, Overlap, Schedule, Trigger};
use soloist::model::By;
use soloist::store::firings::{Pass, pass};
use soloist::store::nodes::{self, Declaration, DeclarationKind};
use soloist::store::schedules::{self, DeclaredSchedule};
use soloist::store::{Connection, entries};

use crate::cluster::{config, open, schedule, wait};
use crate::ledger::{Item, SOON, assert_paired, assert_unbroken, items};
use crate::setting::{clock, migrate, stop};

on_every_backend!(whatever_meets_each_due_time_is_decided_once, nodes_die_at_any_moment);

const EVERY: Duration = Duration::from_millis(100);
const SCHEDULES: usize = 20;

/// What a node declares: all schedules, with a payload of its own; the last one only now and then.
fn declarations(payload: &str, all: bool) -> Vec<Declaration> {
    let count = if all { SCHEDULES } else { SCHEDULES - 1 };
    let declare = |n: usize| {
        let mut schedule = Schedule::new(format!("s{n}"), "free", Trigger::Every(EVERY));
        schedule.overlap = [Overlap::Allow, Overlap::Skip, Overlap::Queue][n % 3];
        schedule.payload = Some(payload.to_owned());
        let declared = DeclaredSchedule { definition: Definition::from(&schedule), sweeps: false };
        Declaration { kind: DeclarationKind::Schedule, name: schedule.name, body: declared.to_json() }
    };
    (0..count).map(declare).collect()
}

/// Does something again and again until it is told to end, and counts what the database said of it.
fn repeat(
    connection: &mut Connection,
    (end, said): (&AtomicBool, &Mutex<BTreeMap<String, usize>>),
    what: &str,
    mut act: impl FnMut(&mut Connection) -> soloist::Result<()>,
) {
    let mut done = 0;
    while !end.load(Ordering::SeqCst) {
        match act(connection) {
            Ok(()) => done += 1,
            Err(error) if error.is_not_found() => {}
            Err(error) => {
                assert!(error.is_transient() || error.is_conflict(), "{what}: {error}");
                let error: String = error.to_string().chars().filter(|c| !c.is_ascii_digit()).collect();
                *said.lock().unwrap().entry(format!("{what}: {error}")).or_default() += 1;
            }
        }
    }
    *said.lock().unwrap().entry(format!("{what}: done")).or_default() += done;
}

fn whatever_meets_each_due_time_is_decided_once(database: &TestDatabase) {
    migrate(database);
    let lease = Duration::from_mins(10);
    let ids: Vec<_> = (0..3)
        .map(|n| nodes::register(&mut open(database), &format!("n{n}"), &[NodeRole::Scheduler], lease).unwrap())
        .collect();
    for id in &ids {
        nodes::declare(&mut open(database), *id, &declarations("0", true), None).unwrap();
    }
    schedules::reconcile(&mut open(database), None).unwrap();
    let (end, said) = (AtomicBool::new(false), Mutex::default());
    let shared = (&end, &said);
    let any = || format!("s{}", fastrand::usize(..SCHEDULES - 1));
    let entry = || format!("SELECT COALESCE(MAX(id), 0) - {} AS n FROM soloist_entries", fastrand::u32(..200));
    std::thread::scope(|scope| {
        for n in 0..3 {
            scope.spawn(move || {
                let look = Pass {
                    node: format!("n{n}"),
                    lease: Duration::from_secs(15),
                    overdue: Duration::ZERO,
                    leave: Vec::new(),
                };
                repeat(&mut open(database), shared, "pass", |c| {
                    let passed = pass(c, &look)?;
                    wait(passed.next_in.unwrap_or(EVERY).min(EVERY));
                    Ok(())
                });
            });
        }
        for id in &ids[..2] {
            scope.spawn(move || {
                let (mut seen, mut round) = (None, 0);
                repeat(&mut open(database), shared, "declare and reconcile", |c| {
                    round += 1;
                    nodes::declare(c, *id, &declarations(&round.to_string(), round % 2 == 0), None)?;
                    seen = schedules::reconcile(c, seen.as_ref())?.or(seen.take());
                    wait(Duration::from_millis(fastrand::u64(..30)));
                    Ok(())
                });
            });
        }
        scope.spawn(|| {
            repeat(&mut open(database), shared, "pause and resume", |c| {
                let name = any();
                schedules::pause(c, &name, &By::cli("cli"), Some("now and then"))?;
                wait(Duration::from_millis(fastrand::u64(..200)));
                schedules::resume(c, &name, &By::cli("cli"))?;
                Ok(())
            });
        });
        scope.spawn(|| {
            repeat(&mut open(database), shared, "fire", |c| {
                schedules::fire(c, &any(), &By::cli("cli"))?;
                wait(Duration::from_millis(fastrand::u64(..20)));
                Ok(())
            });
        });
        scope.spawn(|| {
            // Ends the work of firings, so that what waits for it goes on.
            repeat(&mut open(database), shared, "cancel and delete", |c| {
                let id = c.number(soloist::store::statement::Statement::new(entry()))?;
                wait(Duration::from_millis(2));
                entries::cancel(c, id, &By::cli("cli"))?;
                if id % 4 == 0 { entries::delete(c, id, &By::cli("cli")) } else { Ok(()) }
            });
        });
        wait(Duration::from_secs(numbers(6, 60)));
        end.store(true, Ordering::SeqCst);
    });
    for (what, count) in said.into_inner().unwrap() {
        println!("{count} × {what}");
    }
    for n in 0..SCHEDULES {
        assert_grid(database, &format!("s{n}"));
    }
    // Deleted entries aside, each firing has its own and each entry its firing.
    database.sql("DELETE FROM soloist_firings WHERE result = 'cancelled'");
    assert_paired(database);
}

/// What was decided of a schedule, without firings by hand and what waits in the queue, is a grid without a gap.
fn assert_grid(database: &TestDatabase, schedule: &str) -> Vec<Item> {
    let waits =
        format!("SELECT COALESCE(queued_for, 9000000000000000000) FROM soloist_schedules WHERE name = '{schedule}'");
    let waits = database.number(&waits);
    let mut all = items(database, schedule);
    all.retain(|item| item.due < waits && !item.reason.starts_with("fired by"));
    assert_unbroken(&all, EVERY);
    all
}

fn nodes_die_at_any_moment(database: &TestDatabase) {
    let lines = |overlap: &str| format!("every = \"100ms\"\nmisfire = \"all\"\noverlap = \"{overlap}\"");
    let of = |n: usize| schedule(&format!("s{n}"), "free", &lines(["allow", "skip", "queue"][n % 3]));
    let rest = (0..SCHEDULES).map(of).collect::<String>() + "[tasks.free]\ncommand = [\"true\"]\nconcurrency = 1\n";
    let start = |n: usize| Node::start(&config(database, &format!("name = \"n{n}\"\nlease = \"2s\""), &rest));
    let nodes: Vec<_> = (0..3).map(start).collect();
    let mut nodes: Vec<_> = nodes.into_iter().map(Node::wait_ready).collect();
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut chance = fastrand::Rng::with_seed(seed);
    let began = Instant::now();
    let mut done = [0; 4];
    while began.elapsed() < Duration::from_secs(numbers(12, 120)) {
        wait(Duration::from_millis(chance.u64(100..700)));
        let n = chance.usize(..nodes.len());
        let what = chance.usize(..4);
        done[what] += 1;
        match what {
            0 => {
                nodes[n].signal(Signal::TERM);
                nodes[n].wait_exit(SOON);
                nodes[n] = start(n);
            }
            // A process of SQLite's that is stopped inside a transaction stops all others.
            1 if database.backend() != Backend::Sqlite => {
                nodes[n].signal(Signal::STOP);
                wait(Duration::from_millis(chance.u64(100..4000)));
                nodes[n].signal(Signal::CONT);
            }
            2 if nodes[n].log().contains(" ready ") => nodes[n].signal(Signal::HUP),
            _ => {
                nodes[n].signal(Signal::KILL);
                nodes[n] = start(n);
            }
        }
    }
    println!("TERM {}, STOP {}, HUP {}, KILL {}", done[0], done[1], done[2], done[3]);
    let mut nodes: Vec<_> = nodes.into_iter().map(Node::wait_ready).collect();
    let (end, newest) = (clock(database), "SELECT MIN(decided_until) FROM soloist_schedules");
    until(SOON, "all schedules go on", || database.number(newest) > end);
    stop(&mut nodes);
    let mut late = Duration::ZERO;
    for n in 0..SCHEDULES {
        let all = assert_grid(database, &format!("s{n}"));
        if n % 3 == 0 {
            let lost: Vec<_> = all.iter().filter(|item| !item.fired()).collect();
            assert!(lost.is_empty(), "none is lost with misfire = \"all\": {lost:?}");
            late = late.max(all.iter().map(Item::late).max().unwrap());
        }
    }
    println!("the latest of those that may overlap {late:?}");
    assert_paired(database);
}
