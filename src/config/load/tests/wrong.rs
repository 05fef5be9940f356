//! Wrong files: each error has its place, its key, what is wrong and what would be right.

mod task;

use super::said;

/// Two lines, so that the case itself begins on line 3.
const TASK: &str = "[tasks.t]\nsql = \"SELECT 1\"\n";

/// A task and the head of a schedule; the case begins on line 5.
const SCHEDULE: &str = "[tasks.t]\nsql = \"SELECT 1\"\n[schedules.s]\ntask = \"t\"\n";

/// The case, then `LINE:COLUMN KEY` of the one error, and parts of what is said.
type Case = (&'static str, &'static str, &'static [&'static str]);

fn each(before: &str, cases: &[Case]) {
    for (case, place, parts) in cases {
        let text = format!("{before}{case}");
        let said = said(&text, &[]);
        assert_eq!(said.len(), 1, "{text}\n{said:#?}");
        assert!(said[0].starts_with(&format!("{place} | ")), "{text}\n{said:#?}");
        for part in *parts {
            assert!(said[0].contains(part), "{text}\n{said:#?} lacks {part}");
        }
    }
}

#[test]
fn sections_and_keys() {
    each(
        "",
        &[
            ("[databse]", "1:2 databse", &["unknown section “databse”", "the nearest key of the file is “database”"]),
            ("[zzz]", "1:2 zzz", &["“database”, “node”, “http”, “tasks” and “schedules”"]),
            ("[node]\nleas = \"3s\"", "2:1 node.leas", &["unknown key “leas” in [node]", "is “lease”"]),
            ("[http]\nlease = \"3s\"", "2:1 http.lease", &["“lease” is a key of [node]"]),
            ("node = 5", "1:8 node", &["node: is a table, not the number 5"]),
            ("[tasks]\nt = 5", "2:5 tasks.t", &["is a table"]),
            ("[node]\nlease = \"3s\"\nlease = \"4s\"", "3:1 ", &["not TOML", "duplicate key"]),
            ("[node]\nlease = ", "2:9 ", &["not TOML"]),
            ("[node\nlease = \"3s\"", "1:6 ", &["not TOML"]),
        ],
    );
    each(
        TASK,
        &[
            (
                "concurency = 8",
                "3:1 tasks.t.concurency",
                &["unknown key “concurency” in [tasks.t]", "the nearest key of [tasks.*] is “concurrency”"],
            ),
            ("cron = \"* * * * *\"", "3:1 tasks.t.cron", &["“cron” is a key of [schedules.*]"]),
            ("keep = { complete = \"1d\" }", "3:10 tasks.t.keep.complete", &["is “completed”"]),
        ],
    );
}

#[test]
fn values() {
    each(
        "[database]\n",
        &[
            ("connections = 0", "2:15 database.connections", &["0 is too small", "from 1 to 256"]),
            ("connections = -1", "2:15 database.connections", &["is too small"]),
            ("connections = 99999999999999999999999", "2:15 database.connections", &["is too large"]),
            (
                "connections = \"4\"",
                "2:15 database.connections",
                &["is a whole number, not the text “4”", "without quotes"],
            ),
            ("connections = 4.0", "2:15 database.connections", &["not the number 4.0"]),
            (
                "claim = \"skiplocked\"",
                "2:9 database.claim",
                &["“skiplocked” is none of its values", "nearest is “skip_locked”"],
            ),
            ("claim = \"skip_locked\"", "2:9 database.claim", &["SQLite has no locks"]),
            ("pooler = \"yes\"", "2:10 database.pooler", &["is true or false, not the text “yes”"]),
            ("pooler = 1", "2:10 database.pooler", &["is true or false, not the number 1"]),
            ("url = 5", "2:7 database.url", &["is text, not the number 5"]),
            ("url = \"\"", "2:7 database.url", &["the database URL is empty"]),
            ("url = \"oracle://db/x\"", "2:7 database.url", &["“oracle:”, which is not known"]),
            ("url = \"postgre://db/x\"", "2:7 database.url", &["the nearest is “postgres:”"]),
            ("url = \"soloist.db\"", "2:7 database.url", &["has no scheme"]),
            ("url = \"mysql://db\"", "2:7 database.url", &["names no database"]),
            (
                "keep_firings = \"${NONE}\"",
                "2:16 database.keep_firings",
                &["the environment variable NONE is not set", "${NONE:-…}"],
            ),
        ],
    );
    each(
        "[node]\n",
        &[
            ("name = \" \"", "2:8 node.name", &["is empty"]),
            ("lease = \"500ms\"", "2:9 node.lease", &["“500ms” is too short", "the shortest is 1s"]),
            ("lease = 15", "2:9 node.lease", &["the number 15 has no unit", "lease = \"15s\""]),
            ("lease = \"2d\"", "2:9 node.lease", &["is too long", "the longest is 1d"]),
            ("drain = true", "2:9 node.drain", &["is text, not true"]),
            ("roles = []", "2:9 node.roles", &["is empty"]),
            ("roles = \"worker\"", "2:9 node.roles", &["is an array, not text"]),
            ("roles = [\"worker\", \"wroker\"]", "2:20 node.roles[1]", &["“wroker”", "nearest is “worker”"]),
            ("roles = [\"worker\", \"worker\"]", "2:20 node.roles[1]", &["twice"]),
        ],
    );
    each(
        "[http]\n",
        &[
            ("bind = \"example.org:80\"", "2:8 http.bind", &["is not an IP address with a port"]),
            ("bind = \":7070\"", "2:8 http.bind", &["0.0.0.0:7070"]),
            ("bind = \"127.0.0.1\"", "2:8 http.bind", &["with a port"]),
            ("bind = \"0.0.0.0:7070\"", "2:8 http.bind", &["without a token", "[[http.tokens]]"]),
            ("bind = \"[::]:7070\"", "2:8 http.bind", &["without a token"]),
            ("prefix = \"soloist\"", "2:10 http.prefix", &["“soloist”", "\"/soloist\""]),
            ("prefix = \"/a/\"", "2:10 http.prefix", &["none at its end"]),
            ("prefix = \"/a/../b\"", "2:10 http.prefix", &["is not such a path"]),
            ("show_payload = \"trigger\"", "2:16 http.show_payload", &["“read” or “admin”"]),
            ("tokens = { name = \"x\" }", "2:10 http.tokens", &["[[http.tokens]]"]),
        ],
    );
}

#[test]
fn intervals_without_sense() {
    for (typed, reason) in [
        ("0s", "is too short"),
        ("1ms", "is too short"),
        ("-5m", "is negative"),
        ("", "is empty"),
        ("5", "has no unit"),
        ("5x", "has a unit that is not known"),
        ("NaNs", "is not a duration"),
        ("1e400s", "has a unit that is not known"),
        ("99999999999d", "is too long"),
        ("18446744073709551616s", "is too long"),
        ("2920000d", "is too long"),
    ] {
        let said = said(&format!("{SCHEDULE}every = \"{typed}\""), &[]);
        assert_eq!(said.len(), 1, "{said:#?}");
        let start = format!("5:9 schedules.s.every | schedules.s.every: “{typed}” {reason}");
        assert!(said[0].starts_with(&start), "{said:#?}");
    }
    each(
        SCHEDULE,
        &[
            ("every = 5", "5:9 schedules.s.every", &["the number 5 has no unit", "every = \"5s\""]),
            ("every = -5", "5:9 schedules.s.every", &["has no unit"]),
            ("every = nan", "5:9 schedules.s.every", &["is text"]),
        ],
    );
}

#[test]
fn schedules() {
    each(
        SCHEDULE,
        &[
            ("", "3:12 schedules.s", &["nothing says when it fires", "exactly one of every"]),
            ("cron = \"\"", "5:8 schedules.s.cron", &["the expression is empty", "five fields"]),
            ("cron = 5", "5:8 schedules.s.cron", &["is text"]),
            ("cron = \"60 * * * *\"", "5:8 schedules.s.cron", &["minute “60” is out of range", "a minute is 0-59"]),
            ("cron = \"0 0 30 2 *\"", "5:8 schedules.s.cron", &["“0 0 30 2 *” never comes: February has no day 30"]),
            ("cron = \"* * * * *\"\nevery = \"1h\"", "5:1 schedules.s.cron", &["two triggers, “every” and “cron”"]),
            ("at = \"tomorrow\"", "5:6 schedules.s.at", &["“tomorrow” is no instant"]),
            ("at = \"2027-01-01T00:00:00\"", "5:6 schedules.s.at", &["with its offset"]),
            ("at = 2027-01-01", "5:6 schedules.s.at", &["“2027-01-01” is no instant"]),
            ("every = \"1h\"\ntimezone = \"berlin\"", "6:12 schedules.s.timezone", &["is “Europe/Berlin”"]),
            (
                "every = \"1h\"\ntimezone = \"Europe/Berln\"",
                "6:12 schedules.s.timezone",
                &["the nearest name is “Europe/Berlin”"],
            ),
            ("every = \"1h\"\nmisfire = \"al\"", "6:11 schedules.s.misfire", &["“once”, “skip” or “all”"]),
            ("every = \"1h\"\noverlap = \"wait\"", "6:11 schedules.s.overlap", &["“skip”, “queue” or “allow”"]),
            ("every = \"1h\"\njitter = \"-1s\"", "6:10 schedules.s.jitter", &["is negative"]),
            ("every = \"1h\"\npayload = { a = nan }", "6:17 schedules.s.payload.a", &["JSON has no such number"]),
            (
                "every = \"1h\"\nstart = \"2027-01-01T00:00:00Z\"\nend = \"2027-01-01T00:00:00Z\"",
                "7:7 schedules.s.end",
                &["is not after “start”"],
            ),
            (
                "cron = \"0 3 * * *\"\nstart = \"2027-01-01T04:00:00Z\"\nend = \"2027-01-01T05:00:00Z\"",
                "7:7 schedules.s.end",
                &["is before the first due time after “start”", "would never fire"],
            ),
            (
                "at = \"2027-01-02T00:00:00Z\"\nend = \"2027-01-01T00:00:00Z\"",
                "5:6 schedules.s.at",
                &["is after “end”", "would never fire"],
            ),
            (
                "at = \"2027-01-01T00:00:00Z\"\nstart = \"2027-01-02T00:00:00Z\"",
                "5:6 schedules.s.at",
                &["is before “start”"],
            ),
            ("every = \"1m\"\njitter = \"2m\"", "6:10 schedules.s.jitter", &["is longer than the interval", "1m"]),
            ("at = \"9999-12-31T00:00:00Z\"", "5:6 schedules.s.at", &["is too late", "9999-12-30T22:00:00"]),
        ],
    );
    each(
        "[tasks.thumbnail]\npull = true\n[schedules.s]\nevery = \"1h\"\n",
        &[
            ("", "3:12 schedules.s", &["there is no “task”"]),
            (
                "task = \"thumbnial\"",
                "5:8 schedules.s.task",
                &["no task “thumbnial”", "the nearest task is “thumbnail”"],
            ),
            ("task = \"x\"", "5:8 schedules.s.task", &["the tasks are “thumbnail”"]),
        ],
    );
}

#[test]
fn all_errors_of_a_file_are_said_in_its_order() {
    let text = "[schedules.a]\ntask = \"x\"\nevery = \"0s\"\n[node]\nlease = 1\n[tasks.t]\nconcurency = 8\n";
    let places: Vec<String> =
        said(text, &[]).iter().map(|said| said.split(" | ").next().unwrap_or_default().to_owned()).collect();
    let expected =
        ["2:8 schedules.a.task", "3:9 schedules.a.every", "5:9 node.lease", "6:8 tasks.t", "7:1 tasks.t.concurency"];
    assert_eq!(places, expected);
}

#[test]
fn a_syntax_error_hides_what_may_follow_from_it_and_nothing_else() {
    let said = said("[node]\nlease = \"0s\"\n[tasks.t]\nsql = SELECT\n[http]\nbnd = 1\n", &[]);
    let starts: Vec<&str> = said.iter().map(|said| said.split(' ').next().unwrap_or_default()).collect();
    assert_eq!(starts, ["2:9", "4:7", "6:1"], "{said:#?}");
}
