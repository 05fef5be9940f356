//! The example worker on a real node: killed in the middle of an entry, stopped in the middle of another, stopped while
//! it waits, and a node that stops while it waits.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use house::{Node, Signal, until, until_some};
use rustix::process::{Pid, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::root;

const LIMIT: Duration = Duration::from_secs(60);

/// A worker; killed on drop.
struct Worker {
    process: Child,
    said: Receiver<String>,
}

impl Worker {
    fn start(node: &Node, place: &TempDir) -> Option<Self> {
        let mut python = house::python()?;
        python.arg(root().join("examples/worker/worker.py")).current_dir(place.path()).stdout(Stdio::piped());
        let token = fs::read_to_string(node.directory().join("soloist.token")).unwrap();
        let url = format!("http://127.0.0.1:{}", node.port());
        python.env("SOLOIST_TOKEN", token.trim()).env("SOLOIST_URL", url).env("LEASE", "2");
        let mut process = python.spawn().unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let (send, said) = mpsc::channel();
        std::thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| send.send(line)));
        Some(Self { process, said })
    }

    /// Waits until it says this; what it has said before.
    fn until(&self, wanted: &str) -> Vec<String> {
        let mut before = Vec::new();
        loop {
            let line = self.said.recv_timeout(LIMIT).unwrap_or_else(|_| panic!("{wanted:?} in vain: {before:?}"));
            if line == wanted {
                return before;
            }
            before.push(line);
        }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(self.process.id().cast_signed()).unwrap(), signal).unwrap();
    }

    /// Waits for its end; all that it has said since.
    fn end(mut self) -> (ExitStatus, Vec<String>) {
        let status = until_some(LIMIT, "the worker ends", || self.process.try_wait().unwrap());
        (status, self.said.iter().collect())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn node() -> Node {
    let config = fs::read_to_string(root().join("examples/worker/soloist.toml")).unwrap();
    Node::start(&format!("{config}\n[node]\nlease = \"2s\"\n")).wait_ready()
}

fn enqueue(node: &Node, payloads: &[Value]) -> Vec<i64> {
    let entries: Vec<_> = payloads.iter().map(|payload| json!({ "task": "render", "payload": payload })).collect();
    let answer = node.api("POST", "/api/v1/entries", &Value::from(entries).to_string());
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.json()["items"].as_array().unwrap().iter().map(|entry| entry["id"].as_i64().unwrap()).collect()
}

fn entry(node: &Node, id: i64) -> Value {
    node.api("GET", &format!("/api/v1/entries/{id}"), "").json()
}

#[test]
fn a_killed_worker_loses_nothing_and_doubles_nothing_unseen() {
    let place = tempfile::tempdir().unwrap();
    let node = node();
    let Some(first) = Worker::start(&node, &place) else { return };
    // Longer than the lease: whoever works it must extend its claim.
    let long = enqueue(&node, &[json!({ "frame": 0, "seconds": 3 })])[0];
    assert!(first.until(&format!("start {long} 1")).is_empty());
    first.signal(Signal::KILL);
    assert_eq!(first.end().1, [""; 0], "it had not finished");

    let workers = [Worker::start(&node, &place).unwrap(), Worker::start(&node, &place).unwrap()];
    let short = enqueue(&node, &(1..=20).map(|frame| json!({ "frame": frame, "seconds": 0.05 })).collect::<Vec<_>>());
    let all: Vec<_> = short.iter().copied().chain([long]).collect();
    until(LIMIT, "all are completed", || all.iter().all(|id| entry(&node, *id)["state"] == "completed"));
    for worker in &workers {
        worker.signal(Signal::TERM);
    }
    let mut said = Vec::new();
    for worker in workers {
        let (status, lines) = worker.end();
        assert!(status.success(), "{status}: {lines:?}");
        said.extend(lines);
    }
    said.sort();
    let attempt = |id: i64| if id == long { 2 } else { 1 };
    let say = |what: &str| all.iter().map(|id| format!("{what} {id} {}", attempt(*id))).collect::<Vec<_>>();
    let mut wanted = [say("complete"), say("start")].concat();
    wanted.sort();
    assert_eq!(said, wanted, "each once, and the one that was cut off once more as attempt 2");

    let of_long = entry(&node, long);
    let outcomes: Vec<_> = of_long["attempts"].as_array().unwrap().iter().map(|tried| &tried["outcome"]).collect();
    assert_eq!(outcomes, ["lost", "completed"], "{of_long}");
    let file = format!("frames/{}", of_long["idempotency_key"].as_str().unwrap());
    assert_eq!(of_long["attempts"][1]["output"], json!({ "file": file }).to_string().replace(':', ": "));
    assert_eq!(fs::read_to_string(place.path().join(file)).unwrap(), "frame 0\n");
    assert_eq!(fs::read_dir(place.path().join("frames")).unwrap().count(), all.len(), "one file each");
}

#[test]
fn a_worker_and_its_node_stop_at_once_while_they_wait_and_after_what_runs() {
    let place = tempfile::tempdir().unwrap();
    let mut node = node();
    let Some(worker) = Worker::start(&node, &place) else { return };
    let id = enqueue(&node, &[json!({ "frame": 1, "seconds": 1 })])[0];
    worker.until(&format!("start {id} 1"));
    worker.signal(Signal::TERM);
    let (status, said) = worker.end();
    assert_eq!((status.code(), said), (Some(0), vec![format!("complete {id} 1")]));
    assert_eq!(entry(&node, id)["state"], "completed");

    let idle = Worker::start(&node, &place).unwrap();
    let id = enqueue(&node, &[json!({ "frame": 2 })])[0];
    idle.until(&format!("complete {id} 1"));
    let begin = Instant::now();
    idle.signal(Signal::TERM);
    assert_eq!(idle.end().0.code(), Some(0));
    assert!(begin.elapsed() < Duration::from_secs(10), "its wait of 20 s does not hold it up: {:?}", begin.elapsed());

    let waits = Worker::start(&node, &place).unwrap();
    let id = enqueue(&node, &[json!({ "frame": 3 })])[0];
    waits.until(&format!("complete {id} 1"));
    let begin = Instant::now();
    node.signal(Signal::TERM);
    assert_eq!(node.exit_code(), Some(0));
    assert!(begin.elapsed() < Duration::from_secs(10), "nor the node: {:?}", begin.elapsed());
}
