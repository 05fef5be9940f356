//! What the pages show is true: the example application works its rows, the README holds what the demo prints.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "examples/worker.rs"]
mod worker;

use std::fs;
use std::io::{BufRead as _, BufReader, Lines};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

use house::{free_port, soloist};
use tempfile::TempDir;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The example in a directory of its own, with its application running; ended on drop.
struct Example {
    directory: TempDir,
    app: Child,
    said: Lines<BufReader<ChildStdout>>,
    port: u16,
}

impl Example {
    fn start(mut python: Command, secret: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        for name in ["app.py", "soloist.toml"] {
            fs::copy(root().join("examples/hook").join(name), directory.path().join(name)).unwrap();
        }
        let port = free_port();
        python.arg("app.py").current_dir(directory.path()).stdout(Stdio::piped());
        python.env("PORT", port.to_string()).env("APP_SIGNING_SECRET", secret);
        let mut app = python.spawn().unwrap();
        let mut said = BufReader::new(app.stdout.take().unwrap()).lines();
        assert_eq!(said.next().unwrap().unwrap(), "ready");
        Self { directory, app, said, port }
    }

    fn work(&self, secret: &str) -> (Option<i32>, String) {
        let mut command = soloist();
        command.arg("work").current_dir(self.directory.path());
        let output = command.env("PORT", self.port.to_string()).env("APP_SIGNING_SECRET", secret).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    }
}

impl Drop for Example {
    fn drop(&mut self) {
        let _ = self.app.kill();
        let _ = self.app.wait();
    }
}

const SECRET: &str = "a-secret-of-at-least-24-bytes";

#[test]
fn the_example_application_works_its_rows() {
    let Some(python) = house::python() else { return };
    let mut example = Example::start(python, SECRET);
    assert_eq!(example.work(SECRET), (Some(0), "thumbnail: 10 completed, 0 failed\n".to_owned()));
    let mut made: Vec<_> = example.said.by_ref().take(10).map(Result::unwrap).collect();
    made.sort();
    let mut wanted: Vec<_> = (1..=10).map(|n| format!("thumbnail of {n}.png")).collect();
    wanted.sort();
    assert_eq!(made, wanted);
}

#[test]
fn the_example_application_refuses_a_wrong_signature() {
    let Some(python) = house::python() else { return };
    let example = Example::start(python, SECRET);
    let (code, told) = example.work("another-secret-of-24-bytes");
    assert!(code == Some(1) && told.contains("0 completed, 0 failed") && told.contains("401"), "{told}");
}

/// Digits as one `N`, so that only the words are compared.
fn words(text: &str) -> String {
    let mut words = String::new();
    for part in text.split_inclusive(|c: char| !(c.is_ascii_digit() || ",.".contains(c))) {
        let number = part.trim_end_matches(|c: char| !c.is_ascii_digit());
        match number.is_empty() {
            true => words.push_str(part),
            false => words.push_str(&format!("N{}", &part[number.len()..])),
        }
    }
    words
}

#[test]
fn the_picture_holds_what_the_demo_prints() {
    let picture = fs::read_to_string(root().join("docs/demo.svg")).unwrap();
    let temporary = tempfile::tempdir().unwrap();
    let mut command = soloist();
    let output =
        command.args(["demo", "--kill", "--entries", "2000"]).env("TMPDIR", temporary.path()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let shown = words(&picture);
    let first = String::from_utf8(output.stderr).unwrap();
    let lines = first.lines().take(1).map(str::to_owned).collect::<Vec<_>>();
    let said = String::from_utf8(output.stdout).unwrap();
    for line in lines.iter().map(String::as_str).chain(said.lines()) {
        assert!(shown.contains(&words(line)), "{line:?} is not in docs/demo.svg");
    }
}

#[test]
fn links_between_pages_lead_somewhere() {
    let pages =
        ["README.md", "CONTRIBUTING.md", "docs/architecture.md", "docs/delivery-semantics.md", "docs/handlers.md"];
    let pages = pages.into_iter().chain(["docs/operations.md", "docs/schedules.md", "docs/sources.md"]);
    let pages = pages.chain(["docs/flask-apscheduler.md"]);
    let mut dead = Vec::new();
    for page in pages {
        let text = fs::read_to_string(root().join(page)).unwrap();
        let beside = root().join(page);
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let path = link.split('#').next().unwrap_or_default();
            if !link.contains("://") && !path.is_empty() && !beside.parent().unwrap().join(path).exists() {
                dead.push(format!("{page}: {link}"));
            }
        }
    }
    assert!(dead.is_empty(), "{dead:?}");
}
