//! The OpenAPI document: it is current, names the routes that there are with their roles, and a real node does what it
//! says.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use house::{Node, Response, TestDatabase, full, numbers, on_every_backend, request, soloist, until};
use serde_json::Value;

const RENEW: &str = "docs/openapi.json is not current; this renews it: cargo run -q -- openapi > docs/openapi.json";

const TOKENS: [(&str, &str); 3] =
    [("read", "r3ad-token-of-a-test"), ("trigger", "tr1gger-token-of-a-test"), ("admin", "adm1n-token-of-a-test")];

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// Path, method and the role that it asks for.
type Route = (String, String, String);

/// The routes of the table that the server is built of.
fn table() -> BTreeSet<Route> {
    let route = |route: soloist::http::Listed| {
        (route.path.to_owned(), route.method.to_lowercase(), route.role.word().to_owned())
    };
    soloist::http::listed().into_iter().map(route).collect()
}

fn document() -> Value {
    serde_json::from_str(&fs::read_to_string(file("docs/openapi.json")).unwrap()).unwrap()
}

/// The routes of the document.
fn described() -> BTreeSet<Route> {
    let document = document();
    let mut routes = BTreeSet::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let role = operation["security"][0]["token"][0].as_str();
            let role = role.unwrap_or_else(|| panic!("{method} {path} names no role: security((\"token\" = [\"…\"]))"));
            routes.insert((path.clone(), method.clone(), role.to_owned()));
        }
    }
    routes
}

#[test]
fn the_document_in_the_repository_is_current() {
    let printed = soloist().arg("openapi").current_dir("/").output().unwrap();
    assert!(printed.status.success(), "{printed:?}");
    let printed = String::from_utf8(printed.stdout).unwrap();
    assert!(printed == fs::read_to_string(file("docs/openapi.json")).unwrap_or_default(), "{RENEW}");
}

#[test]
fn the_document_names_the_routes_that_there_are_with_their_roles() {
    let (table, described) = (table(), described());
    assert!(table.len() > 20, "the table is read: {table:?}");
    let only =
        |these: &BTreeSet<Route>, others: &BTreeSet<Route>| these.difference(others).cloned().collect::<Vec<_>>();
    let (undescribed, unknown) = (only(&table, &described), only(&described, &table));
    assert!(
        undescribed.is_empty() && unknown.is_empty(),
        "routes in src/http/api.rs that the document lacks: {undescribed:?}\nroutes of the document that src/http/api.rs \
         lacks: {unknown:?}\nTo mend it: write #[utoipa::path(…)] above the handler, as those beside it have, with \
         path, responses and the role in security; name the handler in src/http/api/document.rs; then renew \
         docs/openapi.json: cargo run -q -- openapi > docs/openapi.json"
    );
}

#[test]
fn every_operation_has_a_name_a_summary_and_described_answers() {
    let document = document();
    let mut names = BTreeSet::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let place = format!("{method} {path}");
            assert!(names.insert(operation["operationId"].as_str().unwrap().to_owned()), "{place}: its name is taken");
            assert!(operation["summary"].as_str().is_some_and(|text| text.ends_with('.')), "{place}: a sentence");
            let responses = operation["responses"].as_object().unwrap();
            for (status, response) in responses {
                let common = response["$ref"].as_str().map(|place| document.pointer(&place[1..]).unwrap());
                let response = common.unwrap_or(response);
                let kinds: Vec<_> =
                    response["content"].as_object().into_iter().flat_map(|content| content.keys()).collect();
                assert!(!response["description"].as_str().unwrap().is_empty(), "{place} {status}: when?");
                match status.as_str() {
                    "204" => assert!(kinds.is_empty(), "{place} {status}"),
                    "200" if path == "/events" => assert_eq!(kinds, ["text/event-stream"], "{place} {status}"),
                    "200" | "201" | "202" => assert_eq!(kinds, ["application/json"], "{place} {status}"),
                    _ => assert_eq!(kinds, ["application/problem+json"], "{place} {status}"),
                }
            }
            for status in ["400", "401", "503"] {
                assert!(responses.contains_key(status), "{place}: {status}");
            }
        }
    }
}

/// A node with a token of each role.
fn node(database: &TestDatabase, more: &str) -> Node {
    let tokens = TOKENS.map(|(role, _)| {
        format!("[[http.tokens]]\nname = \"{role}\"\nrole = \"{role}\"\nenv = \"TOKEN_OF_{}\"\n", role.to_uppercase())
    });
    let config = format!(
        "[database]\nurl = \"{}\"\n[node]\npoll = \"100ms\"\n[http]\n{more}{}\
         [tasks.t]\nhttp = {{ url = \"http://127.0.0.1:9/\" }}\n[tasks.p]\npull = true\n\
         [schedules.s]\ntask = \"p\"\nevery = \"1s\"\n",
        database.url(),
        tokens.concat()
    );
    let env = |command: &mut Command| {
        command.envs(TOKENS.map(|(role, token)| (format!("TOKEN_OF_{}", role.to_uppercase()), token)));
    };
    Node::start_with(&config, env)
}

fn sqlite() -> TestDatabase {
    TestDatabase::new(house::Backend::Sqlite).unwrap()
}

fn call(node: &Node, method: &str, path: &str, token: Option<&str>) -> Response {
    let bearer = format!("Bearer {}", token.unwrap_or_default());
    let headers: &[_] = if token.is_some() { &[("Authorization", bearer.as_str())] } else { &[] };
    request(node.port(), method, path, headers, "").unwrap()
}

#[test]
fn every_route_asks_for_its_role() {
    let database = sqlite();
    let node = node(&database, "").wait_ready();
    for (path, method, role) in described() {
        let (method, path) = (method.to_uppercase(), path.replace(['{', '}'], ""));
        let path = format!("/api/v1{}", path.replace("/id", "/1"));
        for token in [None, Some("unknown")] {
            let answer = call(&node, &method, &path, token);
            let told = (answer.status, answer.json()["code"].clone());
            // Many wrong ones are told to wait.
            let waits = token.is_some() && told == (429, "too_many_failures".into());
            assert!(waits || told == (401, "unauthenticated".into()), "{method} {path}: {told:?}");
        }
        for (name, token) in TOKENS.into_iter().take_while(|(name, _)| *name != role) {
            let answer = call(&node, &method, &path, Some(token));
            let told = (answer.status, answer.json()["code"].clone());
            assert_eq!(told, (403, "forbidden".into()), "{method} {path} with the role {name}");
        }
    }
}

#[test]
fn the_document_and_its_page_are_for_everybody() {
    let database = sqlite();
    let node = node(&database, "prefix = \"/jobs\"\n");
    until(Duration::from_secs(30), "it listens", || request(node.port(), "GET", "/jobs/healthz", &[], "").is_ok());
    let served = call(&node, "GET", "/jobs/api/v1/openapi.json", None);
    assert_eq!((served.status, served.header("content-type")), (200, Some("application/json")));
    let mut expected = document();
    expected["servers"][0]["url"] = "/jobs/api/v1".into();
    assert!(served.json() == expected, "{RENEW}");
    assert_eq!(expected["openapi"], "3.1.0");

    let page = call(&node, "GET", "/jobs/api/v1/docs", None);
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    assert!(
        !page.body.contains("<style") && !page.body.contains("style=") && !page.body.contains("://"),
        "{}",
        page.body
    );
    for (name, kind) in [("docs.css", "text/css"), ("docs.js", "text/javascript")] {
        assert!(page.body.contains(&format!("\"{name}\"")), "{}", page.body);
        let answer = call(&node, "GET", &format!("/jobs/api/v1/{name}"), None);
        assert!(answer.status == 200 && answer.header("content-type").unwrap().starts_with(kind), "{answer:?}");
        assert!(!answer.body.contains("://") && !answer.body.contains("innerHTML"), "nothing from elsewhere");
    }
    assert_eq!(call(&node, "POST", "/jobs/api/v1/docs", None).status, 405);
}

on_every_backend!(schemathesis_finds_nothing);

/// Requests made from the document, right ones and wrong ones, to a real node: no 5xx, and no status, content type or
/// body that the document does not tell of.
fn schemathesis_finds_nothing(database: &TestDatabase) {
    let Some(mut python) = house::python() else { return };
    if database.backend() != house::Backend::Sqlite && !full() {
        return;
    }
    let node = node(database, "").wait_ready();
    let place = tempfile::tempdir().unwrap();
    python.args(["-m", "schemathesis.cli", "--config-file"]).arg(file("tests/openapi/schemathesis.toml"));
    // A stream of events does not end.
    python.args(["run", "--no-color", "--exclude-path", "/events", "--max-examples", numbers("10", "50")]);
    python.args(if full() { &["--generation-database", "none"] as &[_] } else { &["--generation-deterministic"] });
    python.arg("--header").arg(format!("Authorization: Bearer {}", TOKENS[2].1));
    python.arg(format!("http://127.0.0.1:{}/api/v1/openapi.json", node.port()));
    python.current_dir(place.path()).env("PYTHONPATH", file("tests/openapi")).env("SCHEMATHESIS_HOOKS", "hooks");
    let output = python.output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}\n{}\n{}", String::from_utf8_lossy(&output.stderr), node.log());
    assert!(!node.log().contains("a request failed"), "{}", node.log());
    println!("{told}");
}
