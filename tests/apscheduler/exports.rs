//! `soloist schedules import`: files of the real `export_jobs()`, and what is refused.

use std::path::{Path, PathBuf};
use std::process::Output;

use house::{Backend, TestDatabase, soloist};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{beside, node};

/// Files in a directory of their own, written by the script with the real packages.
struct Exports {
    directory: TempDir,
}

impl Exports {
    /// `export.py KIND FILE [ID…]`; what it prints.
    fn write(&self, kind: &str, without: &[String]) -> Option<(PathBuf, Value)> {
        let file = self.directory.path().join(format!("{kind}.json"));
        let output = house::python()?.arg(beside("export.py")).arg(kind).arg(&file).args(without).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some((file, serde_json::from_slice(&output.stdout).unwrap()))
    }
}

fn import(database: &TestDatabase, file: &Path, more: &[&str]) -> Output {
    let mut command = soloist();
    command.args(["schedules", "import"]).arg(file).args(more).env("DATABASE_URL", database.url());
    command.current_dir(file.parent().unwrap()).output().unwrap()
}

#[track_caller]
fn items(output: &Output) -> Vec<Value> {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let made: Value = serde_json::from_slice(&output.stdout).unwrap();
    made["items"].as_array().unwrap().clone()
}

#[track_caller]
fn refused(output: &Output) -> Vec<String> {
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    String::from_utf8_lossy(&output.stderr).lines().skip(1).map(|line| line.trim().to_owned()).collect()
}

fn utc(item: &Value) -> Vec<String> {
    item["next"].as_array().unwrap().iter().map(|next| next["utc"].as_str().unwrap().to_owned()).collect()
}

/// Hundreds of cron triggers, each due at the times that the real one says; or refused where no expression is.
#[test]
fn each_is_due_when_the_real_one_is() {
    let exports = Exports { directory: tempfile::tempdir().unwrap() };
    let database = TestDatabase::new(Backend::Sqlite).unwrap();
    let Some((file, all)) = exports.write("triggers", &[]) else { return };
    let _node = node(&database);
    let lines = refused(&import(&database, &file, &["--dry-run"]));
    let mut left_out = Vec::new();
    for line in lines {
        assert!(line.contains("both must match"), "{line}");
        left_out.push(line.split(':').next().unwrap().to_owned());
    }
    let total = all.as_object().unwrap().len();
    assert!(left_out.len() * 4 < total, "{} of {total} are refused", left_out.len());

    let (file, expected) = exports.write("triggers", &left_out).unwrap();
    let made = items(&import(&database, &file, &["--dry-run", "--json"]));
    assert_eq!(made.len(), total - left_out.len());
    for item in &made {
        let name = item["name"].as_str().unwrap();
        let real: Vec<_> = expected[name]["times"].as_array().unwrap().iter().map(|at| at.as_str().unwrap()).collect();
        let (next, fields) = (utc(item), &expected[name]["fields"]);
        let begin = real.iter().position(|at| *at == next[0]).unwrap_or_else(|| panic!("{fields}: {next:?}, {real:?}"));
        assert!(
            begin <= 1 && real[begin..].starts_with(&next.iter().map(String::as_str).collect::<Vec<_>>()),
            "{item}"
        );
    }
    assert_eq!(database.number("SELECT count(*) FROM soloist_schedules"), 0, "nothing was made");
    println!("{} triggers are due alike, {} are refused", made.len(), left_out.len());
}

#[test]
fn jobs_are_made_all_of_them_or_none() {
    let exports = Exports { directory: tempfile::tempdir().unwrap() };
    let database = TestDatabase::new(Backend::Sqlite).unwrap();
    let Some((file, _)) = exports.write("jobs", &[]) else { return };
    let node = node(&database);
    let made = items(&import(&database, &file, &["--json"]));
    let named =
        |name: &str| made.iter().find(|item| item["name"] == name).unwrap_or_else(|| panic!("{name}: {made:?}"));
    let cron = named("nightly");
    assert_eq!(
        (&cron["cron"], &cron["timezone"], &cron["task"]),
        (&json!("0 3 * * 1-5"), &json!("Europe/Berlin"), &json!("report"))
    );
    assert_eq!(
        (&cron["misfire"], &cron["misfire_grace"], &cron["overlap"]),
        (&json!("once"), &json!("1s"), &json!("skip"))
    );
    assert_eq!(cron["payload"], json!({"args": [], "kwargs": {}}));
    let often = named("often");
    assert_eq!(
        (&often["every"], &often["jitter"], &often["start"]),
        (&json!("90m"), &json!("5s"), &json!("2099-01-01T00:00:00Z"))
    );
    assert_eq!(
        (&often["misfire"], &often["misfire_grace"], &often["overlap"]),
        (&json!("all"), &Value::Null, &json!("allow"))
    );
    assert_eq!(often["payload"], json!({"args": [1, "two", [3.5]], "kwargs": {"a": {"b": null}}}));
    assert_eq!(named("once")["at"], "2099-01-01T09:00:00Z");
    assert_eq!(named("offset")["start"], "2099-01-01T00:00:00Z");
    assert_eq!(named("bounded")["end"], "2098-12-31T23:00:00Z");
    assert_eq!(named("stopped")["paused"]["reason"], "paused in APScheduler");
    let text = String::from_utf8(import(&database, &file, &["--replace", "--dry-run"]).stdout).unwrap();
    assert!(text.contains("nightly fires report at 03:00 from Monday to Friday (Europe/Berlin); next at "), "{text}");
    assert!(text.ends_with(&format!("{} schedules would be made.\n", made.len())), "{text}");

    // As the API shows them.
    let token = std::fs::read_to_string(node.directory().join("soloist.token")).unwrap();
    let bearer = format!("Bearer {}", token.trim());
    let job = house::request(node.port(), "GET", "/scheduler/jobs/nightly", &[("Authorization", &bearer)], "")
        .unwrap()
        .json();
    assert_eq!((&job["func"], &job["name"]), (&json!("jobs:report"), &json!("Night by night")), "{job}");
    assert_eq!((&job["day_of_week"], &job["hour"]), (&json!("mon-fri"), &json!("3")));

    let again = refused(&import(&database, &file, &[]));
    assert_eq!(again.len(), made.len());
    assert!(
        again.iter().all(|line| line.contains(": id: there is a schedule of this name already: with --replace")),
        "{again:?}"
    );
    assert_eq!(
        items(&import(&database, &file, &["--replace", "--json", "--task-map", "report=mail"])).len(),
        made.len()
    );
    assert_eq!(
        database.number("SELECT count(*) FROM soloist_schedules WHERE task = 'mail'"),
        i64::try_from(made.len()).unwrap()
    );
}

#[test]
fn all_that_is_wrong_is_said_at_once() {
    let exports = Exports { directory: tempfile::tempdir().unwrap() };
    let database = TestDatabase::new(Backend::Sqlite).unwrap();
    let Some((file, _)) = exports.write("wrong", &[]) else { return };
    let _node = node(&database);
    let lines = refused(&import(&database, &file, &["--task-map", "nobody=mail"]));
    for (job, words) in [
        ("arguments", "args[1]: is a Python object (datetime.datetime), and a payload is JSON"),
        ("arguments", "kwargs.deep[0].x: is a Python object (decimal.Decimal)"),
        ("calendar", "trigger: counts months or days of the calendar"),
        ("either", "trigger: is several triggers: make a schedule for each"),
        (
            "unknown",
            "func: no living node declares the task \"repot\" that \"wrong:repot\" names; did you mean \"report\"?",
        ),
        ("a b", "id: ' ' cannot be in the name"),
        ("week", "week: a schedule has no ISO week"),
        ("half-hour", "timezone: the offset +05:30 is no zone with a name"),
        ("--task-map", "nobody: no job has this func"),
    ] {
        assert!(lines.iter().any(|line| line.starts_with(&format!("{job}: {words}"))), "{job}: {words}\n{lines:#?}");
    }
    assert_eq!(lines.len(), 9, "{lines:#?}");
    assert_eq!(database.number("SELECT count(*) FROM soloist_schedules"), 0);

    for (text, words) in [
        (&b"\x80\x05]q\x00."[..], "it is a pickle, which is a program and is not run here"),
        (b"SQLite format 3\0", "it is a database, whose jobs are pickles"),
        (b"[]", "an object is expected, not an array"),
        (b"{\"version\": 2, \"jobs\": []}", "version: it must be 1"),
        (b"{\"version\": 1}", "jobs: there is no array of jobs"),
        (b"{\"version\": 1, \"jobs\": [{}]}", "jobs[0]: trigger: is missing"),
    ] {
        std::fs::write(&file, text).unwrap();
        let lines = refused(&import(&database, &file, &[]));
        assert!(lines.iter().any(|line| line.contains(words)), "{words}: {lines:?}");
    }
    std::fs::write(&file, b"{\"version\": 1, \"jobs\": []}").unwrap();
    assert!(import(&database, &file, &[]).status.success());
}
