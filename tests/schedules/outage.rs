//! Row 14, its second half: the database goes away and comes back, and the same processes go on.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use house::{Backend, Hook, Node, PrivateServer, TestDatabase, numbers, until, until_some};

use crate::cluster::{leader, scheduled, start, status, wait};
use crate::ledger::{SOON, assert_paired, assert_unbroken, calls, items, listed, until_fired};
use crate::setting::stop;

const HALF: Duration = Duration::from_millis(500);

#[test]
fn postgres() {
    firings_go_on_when_the_server_does(Backend::Postgres);
}

#[test]
fn mariadb() {
    firings_go_on_when_the_server_does(Backend::MariaDb);
}

fn firings_go_on_when_the_server_does(backend: Backend) {
    let Some(mut server) = PrivateServer::start_new(backend) else { return };
    let database = TestDatabase::on(backend, server.url());
    let hook = Hook::start(|_| 200);
    let rest = scheduled(&hook, "half", "every = \"500ms\"\nmisfire = \"all\"");
    let mut nodes = start(&database, 3, "lease = \"3s\"", &rest);
    let fired = "SELECT count(*) FROM soloist_firings WHERE outcome = 'fired'";
    for round in 0..numbers(1, 3) {
        until_fired(&database, "half", database.number(fired).unsigned_abs() as usize + 3);
        // As a crash and as an administrator would.
        if round == 0 {
            server.kill()
        } else {
            server.stop()
        }
        wait(Duration::from_secs(numbers(5, 10)));
        server.start();
        let back = Instant::now();
        let before = until_some(SOON, "it answers", || {
            let newest = "SELECT MAX(decided_at) FROM soloist_firings";
            database.try_sql("SELECT 1").is_ok().then(|| database.number(newest))
        });
        let newer = format!("SELECT count(*) FROM soloist_firings WHERE decided_at > {before}");
        until(SOON, "firings go on", || database.number(&newer) > 0);
        let took = back.elapsed();
        println!("round {round}: it fires {took:?} after the server accepts");
        assert!(took < Duration::from_secs(3), "round {round}: it fired after {took:?}");
        // What was seen before the outage is shown until the next look.
        let away = |problem: &serde_json::Value| problem["code"] == "database_unreachable";
        let shows = |node: &Node| !status(node)["problems"].as_array().unwrap().iter().any(away);
        until(SOON, "each node shows who leads", || nodes.iter().all(|node| shows(node) && leader(node).is_some()));
        let leads = leader(&nodes[0]);
        for node in &mut nodes {
            assert!(node.is_running());
            assert_eq!(leader(node), leads);
        }
    }
    until_fired(&database, "half", database.number(fired).unsigned_abs() as usize + 3);
    stop(&mut nodes);
    let all = items(&database, "half");
    assert_unbroken(&all, HALF);
    assert!(all.iter().all(|item| item.fired()), "none is lost with misfire = \"all\": {}", listed(&all));
    // A call whose end could not be written is made again: at least once.
    let called: BTreeSet<_> = calls(&hook, "half").into_iter().collect();
    let pending =
        database.number("SELECT count(*) FROM soloist_entries WHERE state = 'pending'").unsigned_abs() as usize;
    assert!(called.len() + pending >= all.len(), "{} of {} were called", called.len(), all.len());
    assert_paired(&database);
}
