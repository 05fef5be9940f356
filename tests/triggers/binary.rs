//! `soloist preview`, as people type it.

use std::process::Output;

use house::soloist;
use serde_json::Value;

use crate::cases;

/// Runs it where there is no database and no configuration.
fn preview(arguments: &[&str]) -> Output {
    let directory = tempfile::tempdir().unwrap();
    let mut command = soloist();
    command.current_dir(directory.path()).env("DATABASE_URL", "postgres://127.0.0.1:1/none").arg("preview");
    let output = command.args(arguments).output().unwrap();
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "{arguments:?} made a file");
    output
}

fn shown(arguments: &[&str]) -> String {
    let output = preview(arguments);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The due times in UTC.
#[track_caller]
fn due(arguments: &[&str]) -> Vec<String> {
    let list: Vec<Value> = serde_json::from_str(&shown(&[arguments, &["--json"]].concat())).unwrap();
    for one in &list {
        let instant = |key: &str| one[key].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
        assert_eq!(instant("local"), instant("utc"), "{one}");
    }
    list.iter().map(|one| one["utc"].as_str().unwrap().to_owned()).collect()
}

/// Refused with exit code 2 and these words, nothing on standard output.
#[track_caller]
fn refused(arguments: &[&str], words: &str) {
    let output = preview(arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
    assert!(output.stdout.is_empty() && !said.contains("panicked"), "{arguments:?}: {output:?}");
    assert!(said.contains(words), "{arguments:?}: {words:?} is not in {said}");
}

#[test]
fn the_binary_agrees_with_every_case() {
    for case in cases::cron().into_iter().chain(cases::intervals()) {
        let (from, count) = (case.after.to_string(), case.expect.len().max(1).to_string());
        let anchor = case.anchor.map(|anchor| anchor.to_string());
        let mut arguments = vec![case.expr.as_str(), "--tz", &case.tz, "--from", &from, "-n", &count];
        if let Some(anchor) = &anchor {
            arguments.extend(["--start", anchor]);
        }
        if case.invalid {
            refused(&arguments, "error: ");
        } else {
            assert_eq!(due(&arguments), case.expected(), "{case:?}");
        }
    }
}

/// Rows of a table of failures: trigger, zone, from, and the first due times.
#[test]
fn what_has_failed_elsewhere_is_right() {
    for (trigger, zone, from, expected) in [
        ("0 0 * * *", "America/Los_Angeles", "2022-03-12T20:00", "2022-03-13T08:00 2022-03-14T07:00 2022-03-15T07:00"),
        ("0 0 * * 1-5", "America/Chicago", "2021-03-12T06:00", "2021-03-15T05:00"),
        ("0 0 * * *", "Europe/Berlin", "2025-03-29T23:00", "2025-03-30T22:00"),
        (
            "30 * * * *",
            "Europe/Helsinki",
            "2017-10-28T23:45",
            "2017-10-29T00:30 2017-10-29T01:30 2017-10-29T02:30 2017-10-29T03:30 2017-10-29T04:30",
        ),
        ("0 2 * * *", "America/New_York", "2025-03-09T06:30", "2025-03-09T07:00 2025-03-10T06:00"),
        ("30 2 * * *", "America/New_York", "2026-03-08T06:30", "2026-03-08T07:00 2026-03-09T06:30"),
        ("15 2 * * 0", "America/Winnipeg", "2021-03-08T14:15", "2021-03-14T08:00 2021-03-21T07:15"),
        (
            "0 * * * *",
            "Europe/Berlin",
            "2025-10-25T22:30",
            "2025-10-25T23:00 2025-10-26T00:00 2025-10-26T01:00 2025-10-26T02:00 2025-10-26T03:00",
        ),
        ("0 7 * * 1-5", "Asia/Taipei", "2026-05-08T00:00", "2026-05-10T23:00 2026-05-11T23:00"),
        ("0 0 * * 7", "UTC", "2025-06-01T00:00", "2025-06-08T00:00"),
        ("0 0 * * 0", "UTC", "2025-06-01T00:00", "2025-06-08T00:00"),
        ("0 0 * * SUN", "UTC", "2025-06-01T00:00", "2025-06-08T00:00"),
        ("0 0 29 2 *", "UTC", "2096-03-01T00:00", "2104-02-29T00:00 2108-02-29T00:00"),
        ("0 0 30 2 1", "UTC", "2026-01-01T00:00", "2026-02-02T00:00 2026-02-09T00:00"),
        ("*/7 * * * *", "UTC", "2025-06-01T00:50", "2025-06-01T00:56 2025-06-01T01:00 2025-06-01T01:07"),
        (
            "7m",
            "UTC",
            "2026-01-01T00:00",
            "2026-01-01T00:07 2026-01-01T00:14 2026-01-01T00:21 2026-01-01T00:28 2026-01-01T00:35",
        ),
        (
            "0 9 1-7,15-21 * 1",
            "UTC",
            "2021-12-13T00:00",
            "2021-12-13T09:00 2021-12-15T09:00 2021-12-16T09:00 2021-12-17T09:00 2021-12-18T09:00",
        ),
        (
            "0 0 13 * 5",
            "UTC",
            "2025-06-01T00:00",
            "2025-06-06T00:00 2025-06-13T00:00 2025-06-20T00:00 2025-06-27T00:00 2025-07-04T00:00",
        ),
        (
            "0 0 1-7 * */7",
            "UTC",
            "2025-06-08T00:00",
            "2025-07-06T00:00 2025-08-03T00:00 2025-09-07T00:00 2025-10-05T00:00 2025-11-02T00:00",
        ),
    ] {
        let expected: Vec<String> = expected.split(' ').map(|at| format!("{at}:00Z")).collect();
        let (from, count) = (format!("{from}:00Z"), expected.len().to_string());
        assert_eq!(due(&[trigger, "--tz", zone, "--from", &from, "-n", &count]), expected, "{trigger} in {zone}");
    }
    let long_day = due(&["0 * * * *", "--tz", "Europe/Berlin", "--from", "2025-10-25T21:59:59Z", "-n", "25"]);
    assert_eq!(long_day.last().unwrap(), "2025-10-26T22:00:00Z", "25 on the long day");
}

#[test]
fn what_cannot_be_is_refused_with_the_reason() {
    refused(&["0 0 31 2 *"], "never comes: February has no day 31");
    refused(&["*/0 * * * *"], "has a step of 0");
    refused(&["*/-5 * * * *"], "has no step that can be read");
    refused(&["-1 * * * *"], "is negative");
    for (interval, words) in [
        ("0s", "too short: the shortest interval is 100ms"),
        ("99ms", "too short"),
        ("-5m", "is negative"),
        ("", "is empty"),
        ("5", "has no unit"),
        ("5x", "has a unit that is not known"),
        ("NaNs", "is not a duration"),
        ("1e400s", "has a unit that is not known"),
        ("99999999999d", "after the year 9999"),
        ("18446744073709551616s", "is too long"),
    ] {
        refused(&[interval], words);
        refused(&[interval, "--start", "2027-01-01T00:00:00Z", "--json"], words);
    }
    assert_eq!(due(&["100ms", "--from", "2027-01-01T00:00:00Z", "-n", "1"]), ["2027-01-01T00:00:00.1Z"]);
    refused(&["@daily", "--tz", "berlin"], "the nearest name is “Europe/Berlin”");
    refused(&["@daily", "--from", "yesterday"], "an instant with its offset");
    refused(&["@daily", "-n", "0"], "1..=10000");
    refused(&["0", "3", "*", "*", "*"], "put the expression in quotes");
    refused(&["--form", "@daily"], "--form is no option");
}

#[test]
fn people_read_words_both_clocks_and_what_changes_do() {
    let text = shown(&["30 2 * * *", "--tz", "Europe/Berlin", "--from", "2025-03-29T12:00:00Z", "-n", "2"]);
    let expected = "\
at 02:30 every day (Europe/Berlin)
LOCAL TIME                      UTC                   NOTE
Sun 2025-03-30 03:00:00 +02:00  2025-03-30 01:00:00Z  02:30 does not exist that day: clocks go forward
Mon 2025-03-31 02:30:00 +02:00  2025-03-31 00:30:00Z
";
    assert_eq!(text, expected);
    let text = shown(&["1h", "--start", "2025-03-29T12:00:00Z", "--from", "2025-03-29T12:00:00Z", "-n", "1"]);
    let expected = "\
every hour, from 2025-03-29T12:00:00Z
LOCAL TIME                      UTC
Sat 2025-03-29 13:00:00 +00:00  2025-03-29 13:00:00Z
";
    assert_eq!(text, expected);
    assert!(shown(&["@daily"]).contains("FROM NOW"));
    assert!(shown(&["--help"]).contains("soloist preview '30 2 * * *' --tz Europe/Berlin"));
    let none = shown(&["0 0 31 12 *", "--from", "9999-06-01T00:00:00Z"]);
    assert!(none.ends_with("times end with the year 9999.\n"), "{none}");
    let text = shown(&["2025-03-30T12:00:00+02:00", "--tz", "Europe/Berlin", "--from", "2025-03-01T00:00:00Z"]);
    let expected = "\
once, at 2025-03-30T10:00:00Z
LOCAL TIME                      UTC
Sun 2025-03-30 12:00:00 +02:00  2025-03-30 10:00:00Z
";
    assert_eq!(text, expected);
    assert!(shown(&["2020-01-01T00:00:00Z"]).ends_with("that moment is over.\n"));
    refused(&["2027-01-01"], "an instant with its offset");
    refused(&["7m", "--from", "9999-12-31T00:00:00Z"], "it is too late: the last instant is 9999-12-30T22:00:00Z");
    refused(&["7m", "--from", "9999-12-30T21:59:00Z"], "after the year 9999");
}

#[test]
fn check_reads_schedules_in_words() {
    let directory = tempfile::tempdir().unwrap();
    let config = "\
[database]
url = \"sqlite:absent.db\"
[tasks.hello]
command = [\"true\"]
[schedules.first]
task = \"hello\"
cron = \"0 9 1-7 * MON\"
timezone = \"Europe/Berlin\"
[schedules.grid]
task = \"hello\"
every = \"15m\"
[schedules.once]
task = \"hello\"
at = \"2020-01-01T00:00:00Z\"
[schedules.phase]
task = \"hello\"
every = \"7m\"
start = \"2020-01-01T00:00:00Z\"
";
    std::fs::write(directory.path().join("soloist.toml"), config).unwrap();
    let check = |arguments: &[&str]| {
        let output = soloist().arg("check").args(arguments).current_dir(directory.path()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let text = check(&[]);
    for words in [
        "Schedule first: at 09:00 on day 1-7 of the month or on Monday (Europe/Berlin)\n  next      ",
        "Schedule grid: every 15 minutes, counted from when a node first sees it\n",
        "Schedule once: once, at 2020-01-01T00:00:00Z\n  note      it is past: unless it has fired, it is missed",
        "Schedule phase: every 7 minutes, from 2020-01-01T00:00:00Z\n  next      ",
    ] {
        assert!(text.contains(words), "{words:?} is not in {text}");
    }
    let told: Value = serde_json::from_str(&check(&["--json"])).unwrap();
    let counts: Vec<_> =
        told["triggers"].as_array().unwrap().iter().map(|one| one["next"].as_array().unwrap().len()).collect();
    assert_eq!(counts, [3, 0, 0, 3]);
    std::fs::write(directory.path().join("soloist.toml"), config.replace("0 9 1-7", "0 9 30 2,x")).unwrap();
    let output = soloist().arg("check").current_dir(directory.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("soloist.toml:7:8") && said.contains("schedules.first.cron"), "{said}");
}
