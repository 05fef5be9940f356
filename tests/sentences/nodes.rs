//! Real nodes and real commands: duties that are told, and what they say while the database is away.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use house::{Backend, Node, PrivateServer, Signal, TestDatabase, on_every_backend, soloist, until};
use serde_json::Value;

/// For what takes a moment; long, since the machine may be busy.
const SOON: Duration = Duration::from_secs(60);

const UNREACHABLE: &str = "Soloist cannot reach its database: nothing is claimed or fired here.";

on_every_backend!(a_node_tells_how_its_duties_stand);

fn start(database: &TestDatabase) -> Node {
    let tasks = "[tasks.mail]\npull = true\n[schedules.often]\ntask = \"mail\"\nevery = \"1h\"";
    let config = format!("[database]\nurl = \"{}\"\n[node]\nname = \"web-1\"\nlease = \"3s\"\n{tasks}", database.url());
    Node::start(&config).wait_ready()
}

fn status(node: &Node) -> Value {
    let answer = node.api("GET", "/api/v1/status", "");
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

fn a_node_tells_how_its_duties_stand(database: &TestDatabase) {
    let node = start(database);
    let mut wanted: BTreeSet<_> =
        ["counts", "firing", "leadership", "lease", "prune", "rescue", "sums", "sweep", "verify"].into();
    if database.backend() == Backend::Postgres {
        wanted.insert("wake-up");
    }
    let mut last = Value::Null;
    until(SOON, "all duties are told", || {
        last = status(&node);
        let duties = last["duties"].as_array().unwrap();
        duties.iter().map(|duty| duty["name"].as_str().unwrap()).collect::<BTreeSet<_>>() == wanted
    });
    for duty in last["duties"].as_array().unwrap() {
        assert_eq!((&duty["node"], &duty["error"]), (&"web-1".into(), &Value::Null), "{duty}");
        assert!(duty["done_at"].as_str().unwrap().ends_with('Z'), "{duty}");
    }
    assert_eq!(last["problems"], serde_json::json!([]));
    let sentence = last["verdict"]["sentence"].as_str().unwrap();
    assert_eq!(sentence, "Ready. 1 node, 1 task declared, nothing to do.");
    let mut list = soloist();
    let list = list.args(["nodes", "list"]).arg("--config").arg(node.config()).output().unwrap();
    let list = String::from_utf8(list.stdout).unwrap();
    assert!(list.contains("leads") && list.contains("rescue"), "{list}");
}

fn ask(database: &TestDatabase, arguments: &[&str]) -> Command {
    let mut command = soloist();
    command.args(arguments).env("DATABASE_URL", database.url()).current_dir(std::env::temp_dir());
    command
}

/// What is printed, line by line, as it comes.
fn lines(child: &mut Child) -> mpsc::Receiver<String> {
    let (tell, told) = mpsc::channel();
    let out = BufReader::new(child.stdout.take().unwrap());
    std::thread::spawn(move || out.lines().map_while(Result::ok).try_for_each(|line| tell.send(line)));
    told
}

#[track_caller]
fn wait_for(lines: &mpsc::Receiver<String>, words: &str) {
    loop {
        let line = lines.recv_timeout(SOON).unwrap_or_else(|error| panic!("{words:?} in vain: {error}"));
        assert!(!line.contains('\u{1b}'), "not on a terminal: {line:?}");
        if line.contains(words) {
            return;
        }
    }
}

#[test]
fn an_outage_is_shown_and_survived() {
    let Some(mut server) = PrivateServer::start_new(Backend::Postgres) else { return };
    let database = TestDatabase::on(Backend::Postgres, server.url());
    let node = start(&database);
    assert_eq!(status(&node)["leader"]["name"], "web-1");
    let mut watch = ask(&database, &["status", "--watch"]).stdout(Stdio::piped()).spawn().unwrap();
    let shown = lines(&mut watch);
    wait_for(&shown, "web-1");

    server.kill();
    wait_for(&shown, UNREACHABLE);
    wait_for(&shown, "web-1");
    let away = status(&node);
    assert_eq!(
        (&away["problems"][0]["sentence"], &away["problems"][0]["level"]),
        (&UNREACHABLE.into(), &"stopped".into())
    );
    assert_eq!((&away["nodes"][0]["name"], away["problems"].as_array().unwrap().len()), (&"web-1".into(), 1));
    let once = ask(&database, &["status", "--json"]).output().unwrap();
    assert_eq!(once.status.code(), Some(1), "{once:?}");
    let said: Value = serde_json::from_slice(&once.stdout).unwrap();
    assert_eq!((&said["verdict"]["sentence"], &said["tasks"]), (&UNREACHABLE.into(), &serde_json::json!([])));

    server.start();
    wait_for(&shown, "Ready. ");
    until(SOON, "the node shows what is", || status(&node)["problems"] == serde_json::json!([]));
    let pid = rustix::process::Pid::from_raw(watch.id().cast_signed()).unwrap();
    rustix::process::kill_process(pid, Signal::INT).unwrap();
    assert_eq!(watch.wait().unwrap().code(), Some(0));
}
