//! Wrong tasks: handlers, policies, sources, and what does not go together.

use super::{TASK, each};

/// A task whose handler is the case.
const BARE: &str = "[tasks.t]\n\n";

#[test]
fn handlers() {
    each(
        BARE,
        &[
            ("concurrency = 1", "1:8 tasks.t", &["has no handler", "exactly one of http, command, sql, pull"]),
            ("pull = true\nsql = \"SELECT 1\"", "3:1 tasks.t.pull", &["two handlers, “sql” and “pull”"]),
            ("pull = false", "3:8 tasks.t.pull", &["pull = true"]),
            ("command = \"ls -l\"", "3:11 tasks.t.command", &["is an array, not text", "[\"python3\", \"thumb.py\"]"]),
            ("command = []", "3:11 tasks.t.command", &["is empty"]),
            ("command = [\"\"]", "3:12 tasks.t.command[0]", &["is empty"]),
            ("sql = \" \"", "3:7 tasks.t.sql", &["is empty"]),
            ("http = \"http://h/\"", "3:8 tasks.t.http", &["is a table, not text", "http = { … }"]),
            ("http = {}", "3:1 tasks.t.http", &["there is no “url”"]),
            ("http = { url = \"h/x\" }", "3:16 tasks.t.http.url", &["is not a URL"]),
            ("http = { url = \"ftp://h/x\" }", "3:16 tasks.t.http.url", &["is not an http or https URL"]),
            (
                "http = { url = \"http://h/\", headers = { \"a b\" = \"x\" } }",
                "3:41 tasks.t.http.headers.a b",
                &["is not the name of a header"],
            ),
            (
                "http = { url = \"http://h/\", headers = { Webhook-Id = \"x\" } }",
                "3:41 tasks.t.http.headers.Webhook-Id",
                &["sets itself"],
            ),
            (
                "http = { url = \"http://h/\", headers = { a = \"x\\ny\" } }",
                "3:45 tasks.t.http.headers.a",
                &["cannot carry"],
            ),
            ("http = { url = \"http://h/\", secret = \"x\" }", "3:29 tasks.t.http.secret", &["is “secret_env”"]),
        ],
    );
    each(
        "",
        &[
            ("[tasks.\"a b\"]\npull = true", "1:8 tasks.a b", &["is not a name", "1 to 100"]),
            ("[tasks.\"\"]\npull = true", "1:8 tasks.", &["is not a name"]),
            ("[tasks.ü]\npull = true", "1:8 ", &["not TOML"]),
        ],
    );
}

#[test]
fn what_does_not_go_together() {
    each(
        BARE,
        &[
            (
                "http = { url = \"http://h/\" }\ntransaction = true",
                "4:15 tasks.t.transaction",
                &["“http” does not run in the database"],
            ),
            ("command = [\"x\"]\ntransaction = true", "4:15 tasks.t.transaction", &["“command” does not"]),
            (
                "pull = true\ntransaction = true",
                "4:15 tasks.t.transaction",
                &["“pull” does not", "transaction = false"],
            ),
            ("command = [\"x\"]\nbatch = 2", "4:9 tasks.t.batch", &["one entry on its standard input", "only http"]),
            ("pull = true\nbatch = 2", "4:9 tasks.t.batch", &["outside workers"]),
        ],
    );
    each(
        TASK,
        &[
            ("batch = 2", "3:9 tasks.t.batch", &["binds the values of one entry"]),
            ("delivery = \"at_most_once\"\ntransaction = true", "4:15 tasks.t.transaction", &["at_most_once"]),
            ("max_running = 1\ntransaction = true", "4:15 tasks.t.transaction", &["max_running"]),
            ("serial_by = \"key\"\ntransaction = true", "4:15 tasks.t.transaction", &["serial_by"]),
            ("delivery = \"at_most_once\"\nmax_attempts = 3", "4:16 tasks.t.max_attempts", &["there is one attempt"]),
        ],
    );
}

#[test]
fn policies() {
    each(
        TASK,
        &[
            ("concurrency = 0", "3:15 tasks.t.concurrency", &["is too small"]),
            ("max_running = -1", "3:15 tasks.t.max_running", &["is too small"]),
            ("max_attempts = 0", "3:16 tasks.t.max_attempts", &["is too small"]),
            ("rate = \"100\"", "3:8 tasks.t.rate", &["“100” is not a rate", "\"100/s\""]),
            ("rate = \"0/s\"", "3:8 tasks.t.rate", &["is not a rate"]),
            ("rate = \"5/w\"", "3:8 tasks.t.rate", &["s, m, h or d"]),
            ("rate = 100", "3:8 tasks.t.rate", &["is text"]),
            ("serial_by = \"task\"", "3:13 tasks.t.serial_by", &["it is “key”"]),
            ("timeout = \"never\"", "3:11 tasks.t.timeout", &["“never” is not a duration"]),
            ("timeout = \"0s\"", "3:11 tasks.t.timeout", &["is too short"]),
            ("delivery = \"exactly_once\"", "3:12 tasks.t.delivery", &["“at_least_once” or “at_most_once”"]),
            ("dedupe = \"until_begin\"", "3:10 tasks.t.dedupe", &["“until_end”, “until_start” or “none”"]),
            ("backoff = { factor = 0.5 }", "3:22 tasks.t.backoff.factor", &["is out of bounds", "from 1 to 1000"]),
            ("backoff = { factor = nan }", "3:22 tasks.t.backoff.factor", &["is out of bounds"]),
            ("backoff = { jitter = 2 }", "3:22 tasks.t.backoff.jitter", &["is out of bounds"]),
            ("backoff = { first = \"2h\", max = \"1h\" }", "3:33 tasks.t.backoff.max", &["at least 2h"]),
            ("keep = { failed = \"ever\" }", "3:19 tasks.t.keep.failed", &["is not a duration"]),
        ],
    );
}

#[test]
fn sources() {
    each(
        "[tasks.t]\nsql = \"SELECT 1\"\n[tasks.t.source]\nkey = \"id\"\npending = \"p\"\n",
        &[
            ("", "3:10 tasks.t.source", &["there is no “table”"]),
            ("table = \"a.b.c\"", "6:9 tasks.t.source.table", &["is not the name of a table"]),
            ("table = \"a\"\ndone = \"SET x = 1\"", "7:8 tasks.t.source.done", &["what stands after SET"]),
            ("table = \"a\"\nfailed = \"\"", "7:10 tasks.t.source.failed", &["is empty"]),
            ("table = \"a\"\ncolumns = []", "7:11 tasks.t.source.columns", &["is empty"]),
            ("table = \"a\"\ncolumns = [\"a\", \"a\"]", "7:17 tasks.t.source.columns[1]", &["twice"]),
            ("table = \"a\"\nahead = 0", "7:9 tasks.t.source.ahead", &["is too small"]),
            ("table = \"a\"\nevery = \"1ms\"", "7:9 tasks.t.source.every", &["the shortest is 100ms"]),
            ("table = \"a\"\npendin = \"x\"", "7:1 tasks.t.source.pendin", &["is “pending”"]),
        ],
    );
    each(
        "[tasks.t]\nsql = \"SELECT 1\"\n[tasks.t.source]\ntable = \"a\"\n",
        &[
            ("key = []\npending = \"p\"", "5:7 tasks.t.source.key", &["is empty"]),
            ("key = \"id\"\npending = \"WHERE p\"", "6:11 tasks.t.source.pending", &["what stands after WHERE"]),
        ],
    );
}
