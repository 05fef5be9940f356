//! One real node at its edges: memory, sums, secrets.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "nodes/ask.rs"]
mod ask;

use ask::{LIMIT, config, insert, shown, until_count, until_state};
use house::{Answer, Backend, Hook, Node, PrivateServer, Signal, TestDatabase, on_every_backend, soloist, until};
use serde_json::json;

on_every_backend!(sums_are_written_and_right);

/// The most memory that a process has had, in KiB.
fn peak(node: &Node) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", node.pid())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_command_that_floods_its_output_costs_no_memory() {
    let database = TestDatabase::new(Backend::Sqlite).unwrap();
    let tasks = "[tasks.warm]\ncommand = [\"true\"]\n\
         [tasks.flood]\nmax_attempts = 1\n\
         command = [\"sh\", \"-c\", \"yes | head -c 200000000; yes no | head -c 200000000 >&2; echo end; exit 3\"]\n\
         [tasks.deaf]\ncommand = [\"sh\", \"-c\", \"exec <&-; sleep 0.2; exec >&-; exit 0\"]\n";
    let mut node = Node::start(&config(&database, tasks)).wait_ready();
    let warm = insert(&database, "warm", "{}");
    until_state(&database, warm, "completed");
    let before = peak(&node);
    let flood = insert(&database, "flood", "{}");
    until_state(&database, flood, "failed");
    let grown = peak(&node) - before;
    assert!(grown < 20 * 1024, "{grown} KiB");
    let output = shown(&node, flood)["attempts"][0]["output"].as_str().unwrap().to_owned();
    assert!(output.len() <= 16 * 1024 && output.len() > 15 * 1024 && output.ends_with("end\n"), "{}", output.len());
    let big = format!("{{\"x\": \"{}\"}}", "x".repeat(5_000_000));
    let deaf = insert(&database, "deaf", &big);
    until_state(&database, deaf, "completed");
    assert!(node.is_running());
}

fn sums_are_written_and_right(database: &TestDatabase) {
    let hook = Hook::start(|request| match (&request.json()["payload"]["n"], &request.json()["attempt"]) {
        (n, _) if *n == json!(1) => 400,
        (n, attempt) if *n == json!(2) && *attempt == json!(1) => 500,
        _ => 200,
    });
    let tasks = format!(
        "[tasks.t]\nhttp = {{ url = \"{}\" }}\nbackoff = {{ first = \"10ms\", max = \"10ms\" }}\n\
         [tasks.s]\nsql = \"DELETE FROM soloist_minutes WHERE starts_at = 0\"\n",
        hook.url("/")
    );
    let mut node = Node::start(&config(database, &tasks)).wait_ready();
    for n in 0..5 {
        insert(database, "t", &format!("{{\"n\": {n}}}"));
        insert(database, "s", "{}");
    }
    until_count(database, "t", "completed", 4);
    until_count(database, "t", "failed", 1);
    until_count(database, "s", "completed", 5);
    let sums = |task: &str| -> Vec<i64> {
        let rows = database.query(&format!(
            "SELECT COALESCE(sum(started), 0), COALESCE(sum(completed), 0), COALESCE(sum(retried), 0), \
             COALESCE(sum(failed), 0) FROM soloist_minutes WHERE task = '{task}' AND span = 60"
        ));
        rows[0].iter().map(|value| value.as_deref().unwrap().parse().unwrap()).collect()
    };
    until(LIMIT, "the sums are written while it runs", || sums("t")[0] > 0);
    insert(database, "t", "{}");
    until_count(database, "t", "completed", 5);
    node.signal(Signal::TERM);
    assert_eq!(node.exit_code(), Some(0));
    assert_eq!(sums("t"), [7, 5, 1, 1], "started, completed, retried, failed: also what the stop had to write");
    assert_eq!(sums("s"), [5, 5, 0, 0]);
    let buckets = database.query("SELECT waits, runs FROM soloist_minutes WHERE task = 't'");
    for column in [0, 1] {
        let of = |row: &Vec<Option<String>>| -> i64 {
            row[column].as_deref().unwrap().split(',').map(|count| count.parse::<i64>().unwrap()).sum()
        };
        assert_eq!(buckets.iter().map(of).sum::<i64>(), 7);
    }
}

#[test]
fn secrets_are_nowhere() {
    for backend in [Backend::Postgres, Backend::MariaDb] {
        secrets_are_nowhere_on(backend);
    }
}

fn secrets_are_nowhere_on(backend: Backend) {
    let Some(mut server) = PrivateServer::start_new(backend) else { return };
    let database = TestDatabase::on(backend, server.url());
    let hook = Hook::start(|request| {
        let headers: Vec<_> = request.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        Answer::Status(500, headers.join("\n"))
    });
    const SECRETS: [(&str, &str); 3] = [
        ("TEST_BEARER", "bearer-of-the-application-81"),
        ("TEST_SIGNING", "signing-key-of-the-application-82"),
        ("TEST_API", "token-of-the-api-83"),
    ];
    let tasks = format!(
        "[tasks.hook]\nmax_attempts = 1\n\
         http = {{ url = \"{}\", token_env = \"TEST_BEARER\", secret_env = \"TEST_SIGNING\" }}\n\
         [tasks.environment]\nmax_attempts = 1\ncommand = [\"sh\", \"-c\", \"env; cat; exit 1\"]\n\
         [http]\n[[http.tokens]]\nname = \"all\"\nrole = \"admin\"\nenv = \"TEST_API\"\n",
        hook.url("/?a=1")
    );
    let mut node = Node::start_with(&config(&database, &tasks), |command| {
        command.envs(SECRETS).env("SOLOIST_LOG", "debug");
        // The run's own servers have a password in their URLs, which the node knows nothing of and hands on.
        for variable in ["SOLOIST_TEST_POSTGRES_URL", "SOLOIST_TEST_MARIADB_URL", "SOLOIST_TEST_MYSQL_URL"] {
            command.env_remove(variable);
        }
    })
    .wait_ready();
    let hooked = insert(&database, "hook", "{}");
    let listed = insert(&database, "environment", "{}");
    until_state(&database, hooked, "failed");
    until_state(&database, listed, "failed");
    assert_eq!(hook.received()[0].header("authorization"), Some("Bearer bearer-of-the-application-81"));

    let mut said = String::new();
    let bearer = ("Authorization", "Bearer token-of-the-api-83");
    for path in [
        "status".to_owned(),
        "tasks".to_owned(),
        "tasks/hook".to_owned(),
        "nodes".to_owned(),
        "entries".to_owned(),
        format!("entries/{hooked}"),
        format!("entries/{listed}"),
    ] {
        let answer = house::request(node.port(), "GET", &format!("/api/v1/{path}"), &[bearer], "").unwrap();
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        said += &answer.body;
    }
    let wrong = house::request(node.port(), "GET", "/api/v1/status", &[("Authorization", "Bearer no")], "").unwrap();
    assert_eq!(wrong.status, 401);
    for arguments in [["status", "--json"], ["tasks", "list"]] {
        let mut command = soloist();
        command.arg("--config").arg(node.config()).args(arguments).envs(SECRETS);
        let output = command.output().unwrap();
        said += &String::from_utf8_lossy(&output.stdout);
        said += &String::from_utf8_lossy(&output.stderr);
    }
    server.kill();
    until(LIMIT, "the node has said that the database is gone", || node.log().contains("could not be renewed"));
    server.start();
    node.signal(Signal::TERM);
    node.exit_code();
    said += &node.log();
    for row in database.query("SELECT body FROM soloist_declarations") {
        said += &row[0].clone().unwrap_or_default();
    }
    for secret in SECRETS.map(|(_, secret)| secret).into_iter().chain(["hush-for-tests"]) {
        let shown = said.find(secret).map(|at| said[at.saturating_sub(200)..].chars().take(400).collect::<String>());
        assert_eq!(shown, None, "{secret} is shown");
    }
}
