//! Flask-APScheduler's API and `soloist schedules import` against the real packages: the same calls to both, and files that
//! the real `export_jobs()` wrote.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "apscheduler/exports.rs"]
mod exports;

use std::fs;
use std::path::PathBuf;

use house::{Backend, Node, TestDatabase};

fn beside(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/apscheduler").join(name)
}

fn node(database: &TestDatabase) -> Node {
    let config = format!(
        "[database]\nurl = \"{}\"\n[http]\nflask_apscheduler = true\n[tasks.report]\npull = true\n[tasks.mail]\npull = true\n",
        database.url()
    );
    Node::start(&config).wait_ready()
}

#[test]
fn the_real_one_and_soloist_answer_alike() {
    let Some(mut python) = house::python() else { return };
    let database = TestDatabase::new(Backend::Sqlite).unwrap();
    let node = node(&database);
    let token = fs::read_to_string(node.directory().join("soloist.token")).unwrap();
    let output = python.arg(beside("compare.py")).arg(node.port().to_string()).arg(token.trim()).output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}");
    println!("{said}");
    let runs = "SELECT count(*) FROM soloist_entries WHERE task = 'report' AND payload LIKE '%\"now\": 1%'";
    assert_eq!(database.number(runs), 2, "a date runs once");
}

#[test]
fn it_is_off_by_default() {
    let database = TestDatabase::new(Backend::Sqlite).unwrap();
    let node = Node::start(&format!("[database]\nurl = \"{}\"\n", database.url())).wait_ready();
    assert_eq!(node.api("GET", "/scheduler", "").status, 404);
}

#[test]
fn the_page_names_every_difference() {
    let page = fs::read_to_string(beside("../../docs/flask-apscheduler.md")).unwrap();
    let script = fs::read_to_string(beside("compare.py")).unwrap();
    let table = script.split("DIFFERENCES = {").nth(1).unwrap().split("\n}").next().unwrap();
    let names: Vec<_> = table.lines().filter_map(|line| line.trim().strip_prefix('"')?.split('"').next()).collect();
    assert!(names.len() > 10, "{names:?}");
    for name in names {
        assert!(page.contains(&format!("| {name} |")), "docs/flask-apscheduler.md lacks the difference {name:?}");
    }
}
