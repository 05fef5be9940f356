//! Nodes of one test: their configurations, and which of them leads.

use std::time::Duration;

use house::{Hook, Node, TestDatabase, until_some};
use serde_json::Value;
use soloist::config::{ClaimChoice, Database, DatabaseUrl, Synchronous, Wake};
use soloist::store::{Lent, Store};

use crate::ledger::SOON;

/// A configuration: lines of `[node]`, then tasks and schedules.
pub fn config(database: &TestDatabase, of_node: &str, rest: &str) -> String {
    format!("[database]\nurl = \"{}\"\n[node]\n{of_node}\n{rest}\n", database.url())
}

/// A schedule with these lines, and a task of the same name that calls the path of that name.
pub fn scheduled(hook: &Hook, name: &str, lines: &str) -> String {
    task(hook, name) + &schedule(name, name, lines)
}

/// A task that calls the path of its name.
pub fn task(hook: &Hook, name: &str) -> String {
    format!("[tasks.{name}]\nhttp = {{ url = \"{}\" }}\n", hook.url(&format!("/{name}")))
}

/// A schedule of a task.
pub fn schedule(name: &str, task: &str, lines: &str) -> String {
    format!("[schedules.{name}]\ntask = \"{task}\"\n{lines}\n")
}

/// Starts nodes `n0`, `n1`, … at once and waits until all are ready.
pub fn start(database: &TestDatabase, count: usize, of_node: &str, rest: &str) -> Vec<Node> {
    let start = |n: usize| Node::start(&config(database, &format!("name = \"n{n}\"\n{of_node}"), rest));
    let nodes: Vec<_> = (0..count).map(start).collect();
    nodes.into_iter().map(Node::wait_ready).collect()
}

/// Who leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leader {
    pub name: String,
    /// Of the incarnation.
    pub id: i64,
}

impl Leader {
    /// Of nodes made by [`start`].
    pub fn position(&self) -> usize {
        self.name[1..].parse().unwrap()
    }
}

/// Who leads, as a node shows it.
pub fn leader(node: &Node) -> Option<Leader> {
    let shown = status(node)["leader"].clone();
    Some(Leader { name: shown["name"].as_str()?.to_owned(), id: shown["id"].as_i64()? })
}

/// Waits until somebody leads.
#[track_caller]
pub fn until_led(node: &Node) -> Leader {
    until_some(SOON, "a node leads", || leader(node))
}

/// `GET /api/v1/status`
pub fn status(node: &Node) -> Value {
    let answer = node.api("GET", "/api/v1/status", "");
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

/// Lets time pass, where that is what a test is about.
pub fn wait(span: Duration) {
    std::thread::sleep(span);
}

/// An instant as configurations hold it.
pub fn instant(micros: i64) -> String {
    jiff::Timestamp::from_microsecond(micros).unwrap().to_string()
}

/// A connection of the library's, for what people do with schedules.
pub fn open(database: &TestDatabase) -> Lent {
    let settings = Database {
        url: DatabaseUrl::parse(&database.url()).unwrap(),
        connections: 2,
        claim: ClaimChoice::Auto,
        wake: Wake::Notify,
        pooler: false,
        synchronous: Synchronous::Full,
        keep_firings: Duration::from_hours(24),
    };
    Store::new(&settings, Duration::from_secs(15), 1).work().unwrap()
}
