//! Right files: what is read, and the defaults of what is left out.

use std::time::Duration;

use super::super::Purpose;
use super::{read, read_for, right};
use crate::config::*;
use crate::model::{Delivery, Keep, Rate};
use crate::trigger::Cron;

const CONTRACT: &str = r#"
[database]
url = "postgres://app@db/app"
connections = 4
claim = "auto"
wake = "notify"
pooler = false
synchronous = "full"
keep_firings = "30d"

[node]
name = "web-1"
lease = "15s"
drain = "25s"
poll = "1s"
roles = ["scheduler", "worker", "http"]

[http]
bind = "127.0.0.1:7070"
prefix = ""
show_payload = "read"
flask_apscheduler = true
[[http.tokens]]
name = "cron"
role = "trigger"
env = "SOLOIST_CRON_TOKEN"

[tasks.thumbnail]
http = { url = "http://127.0.0.1:8000/internal/thumbnail", token_env = "APP_TOKEN", secret_env = "APP_SIGNING_SECRET", headers = { X-Team = "img" } }
concurrency = 8
max_running = 0
rate = "100/s"
serial_by = "key"
batch = 1
timeout = "60s"
max_attempts = 10
backoff = { first = "5s", factor = 3.0, max = "6h", jitter = 0.1 }
delivery = "at_least_once"
dedupe = "until_start"
keep = { completed = "0s", failed = "14d", cancelled = "forever" }

[tasks.thumbnail.source]
table = "images"
key = "id"
pending = "processed = FALSE"
done = "processed = TRUE"
failed = "failed_at = CURRENT_TIMESTAMP"
version = "updated_at"
columns = ["id", "path"]
order = "created_at"
ahead = 10000
every = "2s"

[schedules.nightly]
task = "thumbnail"
cron = "0 3 * * *"
timezone = "Europe/Berlin"
payload = { full = true }
start = "2026-12-01T00:00:00Z"
jitter = "0s"
misfire = "once"
misfire_grace = "1d"
overlap = "skip"
"#;

#[test]
fn every_key_of_the_contract_is_read() {
    let variables =
        [("SOLOIST_CRON_TOKEN", "s3cret"), ("APP_TOKEN", "abc"), ("APP_SIGNING_SECRET", "whsec_AAAA whsec_BBBB")];
    let config = read(CONTRACT, &variables).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(config.node.name, "web-1");
    assert!(config.http.flask_apscheduler);
    assert_eq!(config.http.tokens.len(), 1);
    assert_eq!((config.http.tokens[0].role, config.http.tokens[0].secret.expose()), (Role::Trigger, "s3cret"));
    let task = &config.tasks["thumbnail"];
    let HandlerKind::Http(hook) = &task.handler else { panic!("{:?}", task.handler) };
    assert_eq!(hook.token.as_ref().unwrap().expose(), "abc");
    assert_eq!(hook.secrets.iter().map(Secret::expose).collect::<Vec<_>>(), ["whsec_AAAA", "whsec_BBBB"]);
    assert_eq!(hook.headers, [("X-Team".to_owned(), "img".to_owned())]);
    assert_eq!(task.rate, Some(Rate { starts: 100, span: 1_000_000 }));
    assert!(task.serial);
    assert_eq!(task.dedupe, Dedupe::UntilStart);
    assert_eq!((task.keep.completed, task.keep.cancelled), (Keep::For(Duration::ZERO), Keep::Forever));
    let source = task.source.as_ref().unwrap();
    assert_eq!((source.schema.as_deref(), source.table.as_str()), (None, "images"));
    assert_eq!(source.done, Some(WriteBack::Set("processed = TRUE".into())));
    assert_eq!(source.every, Some(Duration::from_secs(2)));
    let schedule = &config.schedules["nightly"];
    assert_eq!(schedule.trigger, Trigger::Cron(Cron::parse("0 3 * * *").unwrap()));
    assert_eq!(schedule.payload.as_deref(), Some(r#"{"full":true}"#));
    assert_eq!(schedule.start.unwrap().to_string(), "2026-12-01T00:00:00Z");
    assert!(!format!("{config:?}").contains("s3cret"));
}

#[test]
fn what_is_left_out_has_its_default() {
    let config = right(
        "[tasks.a]\ncommand = [\"x\"]\n[tasks.b]\nsql = \"SELECT 1\"\n[tasks.c]\nsql = \"SELECT 1\"\ndelivery = \"at_most_once\"\n[tasks.d]\nsql = \"SELECT 1\"\nmax_running = 2\n[tasks.e]\npull = true\ntimeout = \"none\"\nbackoff = { first = \"7h\" }\n",
    );
    let plain = Config::default();
    assert_eq!(config.database, plain.database);
    assert_eq!(config.node, plain.node);
    assert_eq!(config.http, plain.http);
    assert!(config.node.name.ends_with(&format!("-{}", std::process::id())));
    assert_eq!(config.node.lease, Duration::from_secs(15));
    assert_eq!(config.database.connections, 4);
    let task = |name: &str| &config.tasks[name];
    assert_eq!(task("a").timeout, Timeout::After(Duration::from_secs(3600)));
    assert_eq!(task("b").timeout, Timeout::After(Duration::from_secs(60)));
    assert_eq!(task("e").timeout, Timeout::None);
    assert_eq!(task("b").max_attempts, 10);
    assert_eq!((task("c").max_attempts, task("c").delivery), (1, Delivery::AtMostOnce));
    let transactions: Vec<Option<bool>> = config.tasks.values().map(|task| task.transaction).collect();
    assert_eq!(transactions, [Some(false), None, Some(false), Some(false), Some(false)]);
    assert_eq!(task("e").backoff.max, Duration::from_secs(7 * 3600));
}

#[test]
fn a_key_that_says_the_order_keeps_no_other_away() {
    let config = right(
        "[tasks.a]\nsql = \"SELECT 1\"\nserial_by = \"key\"\n[tasks.b]\npull = true\nserial_by = \"key\"\ndedupe = \"until_end\"\n[tasks.c]\nsql = \"SELECT 1\"\nrate = \"30/m\"\ntransaction = true\ndedupe = \"none\"\n",
    );
    let dedupes: Vec<_> = config.tasks.values().map(|task| task.dedupe).collect();
    assert_eq!(dedupes, [Dedupe::None, Dedupe::UntilEnd, Dedupe::None]);
    let transactions: Vec<_> = config.tasks.values().map(|task| task.transaction).collect();
    assert_eq!(transactions, [Some(false), Some(false), Some(true)], "a rate goes with a transaction");
    assert_eq!(config.tasks["c"].rate.unwrap().to_string(), "30/m");
}

#[test]
fn variables_stand_for_text_numbers_and_truth() {
    let variables = [("N", "7"), ("HALF", "0.5"), ("YES", "true"), ("LEASE", "3s"), ("HOST", "db"), ("ROLE", "worker")];
    let text = "[database]\nurl = \"postgres://app@${HOST}/app\"\nconnections = \"${N}\"\npooler = \"${YES}\"\n[node]\nlease = \"${LEASE}\"\nname = \"$${N}\"\nroles = [\"${ROLE}\"]\n[tasks.t]\nsql = \"SELECT 1\"\nbackoff = { jitter = \"${HALF}\" }\nconcurrency = \"${NONE:-3}\"\n";
    let config = read(text, &variables).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!((config.database.connections, config.database.pooler), (7, true));
    assert!(config.database.url.shown().starts_with("postgresql://…@db/app"), "{}", config.database.url.shown());
    assert_eq!((config.node.lease, config.node.name.as_str()), (Duration::from_secs(3), "${N}"));
    assert_eq!(config.node.roles, [NodeRole::Worker]);
    assert_eq!((config.tasks["t"].backoff.jitter, config.tasks["t"].concurrency), (0.5, 3));
}

#[test]
fn a_payload_keeps_its_digits_and_its_order() {
    let text = "[tasks.t]\npull = true\n[schedules.s]\ntask = \"t\"\nat = 2027-01-01T00:00:00+01:00\npayload = { z = 1_000, a = 0.10, h = 0xff, m = -0, e = 1e3, t = 2027-01-01, l = [1, \"x\\\"\", true], o = { b = \"é\" } }\n";
    let config = right(text);
    let expected = r#"{"z":1000,"a":0.10,"h":255,"m":-0,"e":1e3,"t":"2027-01-01","l":[1,"x\"",true],"o":{"b":"é"}}"#;
    assert_eq!(config.schedules["s"].payload.as_deref(), Some(expected));
    assert!(serde_json::from_str::<serde_json::Value>(expected).is_ok());
    assert_eq!(config.schedules["s"].trigger, Trigger::At("2026-12-31T23:00:00Z".parse().unwrap()));
}

#[test]
fn the_sample_loads_as_it_is_and_with_everything_switched_on() {
    let config = right(sample::TEXT);
    assert_eq!(config.tasks["hello"].handler, HandlerKind::Command(vec!["cat".into()]));
    // Every key that is commented out but handlers and what only goes with http.
    let on: String = sample::TEXT
        .lines()
        .map(|line| {
            let inside = line.strip_prefix("# ").unwrap_or(line);
            let handler = ["http = ", "sql = ", "pull = "].iter().any(|kind| inside.starts_with(kind));
            let is_line = inside.starts_with('[') || inside.split(' ').nth(1) == Some("=");
            format!("{}\n", if is_line && !handler { inside } else { line })
        })
        .collect();
    let config = read(&on, &[("SOLOIST_CRON_TOKEN", "x")]).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!((config.http.tokens.len(), config.schedules.len()), (1, 1));
    assert!(config.tasks["hello"].source.is_some());
}

#[test]
fn without_a_file_the_environment_says_where_the_database_is() {
    let with = |variables: &[(&str, &str)]| {
        super::super::super::Config::without_file(&Environment::of(variables.iter().copied()))
    };
    assert_eq!(with(&[]).unwrap().database.url.shown(), "sqlite:soloist.db");
    assert_eq!(with(&[("DATABASE_URL", "sqlite:a.db")]).unwrap().database.url.shown(), "sqlite:a.db");
    for (url, said) in [("", "DATABASE_URL is empty"), ("postgres:hunter2", "DATABASE_URL has no “//”")] {
        let error = with(&[("DATABASE_URL", url)]).unwrap_err().to_string();
        assert!(error.contains(said) && !error.contains("hunter2"), "{error}");
    }
    let config = read("[node]\n", &[("DATABASE_URL", "sqlite:b.db")]).unwrap();
    assert_eq!(config.database.url.shown(), "sqlite:b.db");
}

#[test]
fn a_bind_open_to_others_needs_a_token_or_no_http() {
    let token = "[[http.tokens]]\nname = \"a\"\nrole = \"read\"\nenv = \"T\"\n";
    let open = "[http]\nbind = \"0.0.0.0:0\"\n";
    assert!(read(&format!("{open}{token}"), &[("T", "x")]).is_ok());
    assert!(read_for(&format!("{open}{token}"), &[], Purpose::Work).is_ok());
    assert!(read(&format!("{open}[node]\nroles = [\"worker\"]\n"), &[]).is_ok());
    assert_eq!(right("[http]\nbind = \"localhost:80\"").http.bind.to_string(), "127.0.0.1:80");
    assert!(right("[http]\nbind = \"127.9.9.9:80\"\nprefix = \"/a/b-c\"").http.prefix == "/a/b-c");
}
