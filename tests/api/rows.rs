//! Rows of a user's own table that outside workers work.

use house::{Backend, TestDatabase, on_every_backend};
use serde_json::json;
use soloist::config::{Source, WriteBack};

use super::server::Api;

on_every_backend!(a_row_is_read_at_the_claim_and_marked_with_the_report);

fn a_row_is_read_at_the_claim_and_marked_with_the_report(database: &TestDatabase) {
    let set = |text: &str| Some(WriteBack::Set(text.to_owned()));
    let source = Source {
        schema: None,
        table: "images".to_owned(),
        key: vec!["id".to_owned()],
        pending: "processed = 0".to_owned(),
        done: set("processed = 1"),
        failed: set("note = :error"),
        version: Some("version".to_owned()),
        columns: Some(vec!["id".to_owned(), "path".to_owned()]),
        order: None,
        ahead: 100,
        every: None,
    };
    let text = if database.backend() == Backend::Postgres { "TEXT" } else { "VARCHAR(100)" };
    database.sql(&format!(
        "CREATE TABLE images (id BIGINT PRIMARY KEY, path {text}, processed INTEGER DEFAULT 0, version INTEGER DEFAULT 1, \
         note {text})"
    ));
    database.sql("INSERT INTO images (id, path) VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')");
    let api = Api::start_with_rows(database, &source);
    database.sql(
        "INSERT INTO soloist_entries (task, dedupe_key, source) \
         VALUES ('rows', '1', 1), ('rows', '2', 1), ('rows', '3', 1), ('rows', '4', 1)",
    );
    database.sql("UPDATE images SET path = 'changed' WHERE id = 1; UPDATE images SET processed = 1 WHERE id = 4");
    let claimed = api.claim("rows", r#"{"limit": 10}"#);
    assert_eq!(claimed.len(), 3, "a row that is no longer pending is not handed out: {claimed:?}");
    assert_eq!(claimed[0]["payload"], json!({ "id": 1, "path": "changed" }));
    let say = |n: usize, action: &str, more: &str| {
        let body = format!(r#"{{"token": {}{more}}}"#, claimed[n]["token"]);
        let response = api.admin("POST", &format!("/entries/{}/{action}", claimed[n]["id"]), &body);
        assert_eq!(response.status, 200, "{response:?}");
        response.json()["state"].as_str().unwrap().to_owned()
    };
    assert_eq!(say(0, "complete", ""), "completed");
    database.sql("UPDATE images SET version = 2 WHERE id = 2");
    assert_eq!(say(1, "complete", ""), "completed");
    assert_eq!(say(2, "fail", r#", "retry": false, "error": "torn""#), "failed");
    let row = |id: i64| database.query(&format!("SELECT processed, note FROM images WHERE id = {id}")).remove(0);
    assert_eq!(row(1), [Some("1".to_owned()), None]);
    assert_eq!(row(2), [Some("0".to_owned()), None], "it changed while it was worked: left as it is");
    assert_eq!(row(3), [Some("0".to_owned()), Some("torn".to_owned())]);
    let entry = api.get("/entries?key=4");
    assert_eq!(entry["items"][0]["state"], "completed");
}
