//! Schedules and firings over the API.

use std::time::Duration;

use house::{Backend, Node, TestDatabase, on_every_backend, until_some};
use serde_json::{Value, json};
use soloist::config::ShowPayload;
use soloist::store::{nodes, schedules};

use super::server::{ADMIN, Api, READ, TRIGGER, problem};

on_every_backend!(
    a_schedule_is_made_and_shown,
    a_schedule_is_changed_and_keeps_its_phase,
    a_schedule_is_paused_resumed_fired_and_removed,
    a_declared_schedule_is_not_changed,
    one_of_eight_makes_the_schedule,
    firings_are_listed_newest_first,
    a_new_schedule_fires_in_time,
    what_is_fired_follows_the_task,
);

#[track_caller]
fn make(api: &Api, body: &str) -> Value {
    let response = api.admin("POST", "/schedules", body);
    assert_eq!(response.status, 201, "{body}: {response:?}");
    response.json()
}

fn names(list: &Value) -> Vec<&str> {
    list["items"].as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap()).collect()
}

fn a_schedule_is_made_and_shown(database: &TestDatabase) {
    let api = Api::start(database);
    let body = r#"{"name": "nightly", "task": "t", "cron": " 0 3 * * * ", "timezone": "europe/berlin",
                   "payload": {"n": 12345678901234567890.10}, "start": "2020-01-01T01:00:00+01:00", "jitter": "90s",
                   "misfire": "all", "misfire_grace": "1d", "overlap": "queue"}"#;
    let response = api.admin("POST", "/schedules", body);
    assert_eq!(response.status, 201, "{response:?}");
    assert!(response.body.contains(r#""payload":{"n": 12345678901234567890.10}"#), "{}", response.body);
    let made = response.json();
    let expected = [
        ("name", "nightly"),
        ("task", "t"),
        ("cron", "0 3 * * *"),
        ("timezone", "Europe/Berlin"),
        ("start", "2020-01-01T00:00:00Z"),
        ("jitter", "90s"),
        ("misfire", "all"),
        ("misfire_grace", "1d"),
        ("overlap", "queue"),
        ("origin", "api"),
    ];
    for (member, value) in expected {
        assert_eq!(made[member], value, "{made}");
    }
    for member in ["end", "paused", "last_fired_at"] {
        assert_eq!(made.get(member), Some(&Value::Null), "{member}: {made}");
    }
    let next: jiff::Timestamp = made["next_fire_at"].as_str().unwrap().parse().unwrap();
    assert_eq!(next.to_zoned(jiff::tz::TimeZone::get("Europe/Berlin").unwrap()).hour(), 3, "{made}");
    assert_eq!(api.get("/schedules/nightly"), made);
    assert_eq!((api.firing_wakes(), api.wakes()), (1, 0), "the node looks when it is due next");

    // What was read may be sent.
    let copy = response.body.replace("nightly", "copy");
    assert_eq!(make(&api, &copy)["next_fire_at"], made["next_fire_at"]);
    let at = make(&api, r#"{"name": "at", "task": "rows", "at": "2099-01-01T00:00:00+01:00", "paused": true}"#);
    assert_eq!((&at["at"], &at["paused"]["by"]), (&json!("2098-12-31T23:00:00Z"), &json!("admin")), "{at}");
    assert_eq!((&at["timezone"], &at["misfire"], &at["overlap"]), (&json!("UTC"), &json!("once"), &json!("skip")));
    let first = api.get("/schedules?limit=2");
    assert_eq!(names(&first), ["at", "copy"]);
    let next = api.get(&format!("/schedules?limit=2&cursor={}", first["next_cursor"].as_str().unwrap()));
    assert_eq!((names(&next), &next["next_cursor"]), (vec!["nightly"], &Value::Null));
    let document = problem(&api.admin("GET", "/schedules/nighlty", ""), 404, "schedule_not_found");
    assert!(document["detail"].as_str().unwrap().contains("nightly"), "{document}");
    problem(&api.admin("GET", "/schedules/a%20b", ""), 404, "schedule_not_found");
}

fn a_schedule_is_changed_and_keeps_its_phase(database: &TestDatabase) {
    let api = Api::start(database);
    let made = make(&api, r#"{"name": "s", "task": "t", "every": "1h", "payload": 7}"#);
    let patch = |body: &str| api.admin("PATCH", "/schedules/s", body);
    let changed = |body: &str| {
        let response = patch(body);
        assert_eq!(response.status, 200, "{body}: {response:?}");
        response.json()
    };
    for _ in 0..5 {
        assert_eq!(changed(r#"{"every": "1h"}"#), made, "the same changes nothing");
    }
    assert_eq!(changed("{}"), made);
    let skips = changed(r#"{"every": "60m", "misfire": "skip", "jitter": "5s", "payload": null, "task": "thumbnail"}"#);
    assert_eq!(skips["next_fire_at"], made["next_fire_at"], "the phase stays");
    assert_eq!(
        (&skips["misfire"], &skips["jitter"], &skips["task"]),
        (&json!("skip"), &json!("5s"), &json!("thumbnail"))
    );
    assert_eq!(skips["payload"], Value::Null);
    let faster = changed(r#"{"every": "30m", "misfire": null, "jitter": null}"#);
    assert_eq!((&faster["misfire"], &faster["jitter"]), (&json!("once"), &json!("0s")));
    let next = |schedule: &Value| schedule["next_fire_at"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    let earlier = next(&made).as_microsecond() - next(&faster).as_microsecond();
    assert_eq!(earlier, 1_800_000_000, "on the grid of its anchor: {faster}");
    let cron = changed(r#"{"cron": "0 3 * * *", "every": null}"#);
    assert_eq!((&cron["cron"], cron.get("every")), (&json!("0 3 * * *"), None), "{cron}");
    assert_eq!(changed(r#"{"every": null}"#), cron);
    let paused = changed(r#"{"paused": {"reason": "repairs", "by": "x", "since": null}}"#);
    assert_eq!((&paused["paused"]["by"], &paused["paused"]["reason"]), (&json!("admin"), &json!("repairs")));
    assert_eq!(paused["next_fire_at"], Value::Null);
    assert_eq!(changed(r#"{"paused": null}"#), cron);

    for (body, field) in [
        (r#"{"cron": null}"#, "every"),
        (r#"{"every": "1h", "cron": "0 3 * * *"}"#, "cron"),
        (r#"{"every": "1h", "at": "2027-01-01T00:00:00Z"}"#, "at"),
        (r#"{"task": null}"#, "task"),
        (r#"{"name": "other"}"#, "name"),
        (r#"{"start": "2027-01-01T00:00:00Z", "end": "2026-01-01T00:00:00Z"}"#, "end"),
        (r#"{"paused": 1}"#, "paused"),
        (r#"{"paused": {"reason": 7}}"#, "paused.reason"),
        (r#"{"overlap": "quue"}"#, "overlap"),
    ] {
        assert_eq!(problem(&patch(body), 400, "invalid_field")["field"], field, "{body}");
    }
    assert_eq!(problem(&patch(r#"{"nxt": 1}"#), 400, "unknown_field")["field"], "nxt");
    assert_eq!(problem(&patch(r#"{"task": "nobody"}"#), 422, "task_not_declared")["field"], "task");
    assert_eq!(api.get("/schedules/s"), cron, "what was refused changed nothing");
    problem(&api.admin("PATCH", "/schedules/t", "{}"), 404, "schedule_not_found");
    problem(&api.admin("PATCH", "/schedules/t", r#"{"every": "1h"}"#), 404, "schedule_not_found");
}

fn a_schedule_is_paused_resumed_fired_and_removed(database: &TestDatabase) {
    let api = Api::start(database);
    let made = make(&api, r#"{"name": "s", "task": "t", "every": "1h", "payload": {"n": 1.50}}"#);
    let post = |path: &str, body: &str| {
        let response = api.admin("POST", &format!("/schedules/{path}"), body);
        assert_eq!(response.status, if path.ends_with("fire") { 202 } else { 200 }, "{path}: {response:?}");
        response.json()
    };
    let paused = post("s/pause", r#"{"reason": "repairs"}"#);
    assert_eq!((&paused["paused"]["reason"], &paused["next_fire_at"]), (&json!("repairs"), &Value::Null));
    assert_eq!(post("s/pause", "")["paused"], paused["paused"], "the first reason stands");
    problem(&api.admin("POST", "/schedules/s/pause", r#"{"reason": "a\u0000"}"#), 400, "invalid_field");
    problem(&api.admin("POST", "/schedules/s/resume", r#"{"reason": "a"}"#), 400, "unknown_field");

    let fired = api.with(TRIGGER, "POST", "/api/v1/schedules/s/fire", "");
    assert_eq!(fired.status, 202, "{fired:?}");
    let id = fired.json()["entries"][0].as_i64().unwrap();
    assert_eq!(fired.json(), json!({ "entries": [id] }));
    let entry = api.admin("GET", &format!("/entries/{id}"), "");
    assert!(entry.body.contains(r#""payload":{"n": 1.50}"#), "{}", entry.body);
    assert_eq!((&entry.json()["schedule"], &entry.json()["task"]), (&json!("s"), &json!("t")));
    assert_eq!(api.wakes(), 1);
    let firing = api.get("/firings?schedule=s")["items"][0].clone();
    assert_eq!((&firing["entry_id"], &firing["reason"]), (&json!(id), &json!("fired by trigger")), "{firing}");
    assert_eq!(firing["scheduled_for"], entry.json()["scheduled_for"]);

    let resumed = post("s/resume", "");
    assert_eq!((&resumed["paused"], &resumed["next_fire_at"]), (&Value::Null, &made["next_fire_at"]));
    assert!(resumed["last_fired_at"].is_string(), "{resumed}");
    make(&api, r#"{"name": "sweeps", "task": "rows", "cron": "@daily"}"#);
    let sweep = post("sweeps/fire", "{}");
    assert_eq!(sweep, json!({ "sweep": database.number("SELECT max(id) FROM soloist_sweeps"), "collected": 0 }));
    problem(&api.admin("POST", "/schedules/s/fire", r#"{"x": 1}"#), 400, "unknown_field");

    let removed = api.admin("DELETE", "/schedules/s", "");
    assert_eq!((removed.status, removed.body.as_str()), (204, ""));
    problem(&api.admin("DELETE", "/schedules/s", ""), 404, "schedule_not_found");
    for action in ["pause", "resume", "fire"] {
        problem(&api.admin("POST", &format!("/schedules/s/{action}"), ""), 404, "schedule_not_found");
    }
    assert_eq!(api.get("/firings?schedule=s")["items"], json!([firing]), "what it did stays on record");
    assert_eq!(api.get(&format!("/entries/{id}"))["state"], "pending");
}

fn a_declared_schedule_is_not_changed(database: &TestDatabase) {
    let api = Api::start(database);
    make(&api, r#"{"name": "d", "task": "t", "every": "1h"}"#);
    database.sql("UPDATE soloist_schedules SET origin = 'config'");
    let declared = api.get("/schedules/d");
    assert_eq!(declared["origin"], "config");
    for response in [api.admin("PATCH", "/schedules/d", r#"{"every": "1h"}"#), api.admin("DELETE", "/schedules/d", "")]
    {
        let document = problem(&response, 409, "schedule_declared");
        assert!(document["detail"].as_str().unwrap().contains("declared by nodes"), "{document}");
    }
    let again = api.admin("POST", "/schedules", r#"{"name": "d", "task": "t", "every": "1h"}"#);
    problem(&again, 409, "schedule_exists");
    assert_eq!(api.get("/schedules/d"), declared);
    assert_eq!(api.admin("POST", "/schedules/d/pause", "").status, 200);
    assert_eq!(api.admin("PATCH", "/schedules/d", r#"{"paused": false}"#).status, 200);
    assert_eq!(api.admin("POST", "/schedules/d/resume", "").json(), declared);
    assert_eq!(api.admin("POST", "/schedules/d/fire", "").status, 202);
}

fn one_of_eight_makes_the_schedule(database: &TestDatabase) {
    let api = Api::start(database);
    for round in 0..5 {
        let body = format!(r#"{{"name": "s{round}", "task": "t", "every": "1h"}}"#);
        let statuses: Vec<u16> = std::thread::scope(|scope| {
            let post = || scope.spawn(|| api.admin("POST", "/schedules", &body));
            let sent: Vec<_> = std::iter::repeat_with(post).take(8).collect();
            sent.into_iter().map(|sent| sent.join().unwrap().status).collect()
        });
        let count = |status| statuses.iter().filter(|one| **one == status).count();
        assert_eq!((count(201), count(409)), (1, 7), "{statuses:?}");
    }
}

fn firings_are_listed_newest_first(database: &TestDatabase) {
    let api = Api::start(database);
    assert_eq!(api.get("/firings"), json!({ "items": [], "next_cursor": null }));
    let firing = |id: i64, schedule: &str, due: i64, rest: &str| {
        database.sql(&format!(
            "INSERT INTO soloist_firings (id, schedule, scheduled_for, decided_at, outcome, node, reason, run_until, \
             run_count, entry_id, result, ended_at, attempts) VALUES ({id}, '{schedule}', {due}, {rest})"
        ));
    };
    firing(1, "s", 3_000_000, "3105250, 'fired', 'web-1', NULL, NULL, NULL, 17, 'completed', 4000000, 2");
    firing(2, "other", 4_000_000, "4000000, 'fired', 'web-1', NULL, NULL, NULL, NULL, NULL, NULL, NULL");
    // Older, decided later: a make-up.
    firing(3, "s", 1_000_000, "9000000, 'missed', 'web-2', 'why', 2000000, 11, NULL, NULL, NULL, NULL");
    let all = api.get("/firings");
    let ids =
        |list: &Value| list["items"].as_array().unwrap().iter().map(|f| f["id"].as_i64().unwrap()).collect::<Vec<_>>();
    assert_eq!(ids(&all), [3, 2, 1]);
    let of_one = api.get("/firings?schedule=s");
    assert_eq!((ids(&of_one), &of_one["next_cursor"]), (vec![1, 3], &Value::Null));
    let mut fired = of_one["items"][0].clone();
    fired.as_object_mut().unwrap().remove("sweep_id");
    let expected = json!({
        "id": 1, "schedule": "s", "scheduled_for": "1970-01-01T00:00:03Z", "fired_at": "1970-01-01T00:00:03.10525Z",
        "late_ms": 105.25, "outcome": "fired", "entry_id": 17, "node": "web-1", "reason": null, "result": "completed",
        "ended_at": "1970-01-01T00:00:04Z", "attempts": 2, "until": null, "count": null,
    });
    assert_eq!(fired, expected);
    let run = &of_one["items"][1];
    assert_eq!(
        (&run["until"], &run["count"], &run["reason"]),
        (&json!("1970-01-01T00:00:02Z"), &json!(11), &json!("why"))
    );
    assert_eq!((&run["fired_at"], &run["late_ms"]), (&Value::Null, &Value::Null));
    for path in ["/firings?limit=1", "/firings?schedule=s&limit=1"] {
        let mut seen = Vec::new();
        let mut page = api.get(path);
        loop {
            seen.extend(ids(&page));
            let Some(cursor) = page["next_cursor"].as_str() else { break };
            page = api.get(&format!("{path}&cursor={cursor}"));
        }
        let whole = if path.contains("schedule") { vec![1, 3] } else { vec![3, 2, 1] };
        assert_eq!(seen, whole, "{path}");
    }
    assert_eq!(api.get("/firings?schedule=nobody")["items"], json!([]));
    for query in ["schedule=a+b", "limit=501", "cursor=x", "schedule=s&schedule=t"] {
        problem(&api.admin("GET", &format!("/firings?{query}"), ""), 400, "invalid_parameter");
    }
}

/// A node that looks by itself once in ten seconds is told of a new schedule.
fn a_new_schedule_fires_in_time(database: &TestDatabase) {
    let url = database.url();
    let config = format!("[database]\nurl = \"{url}\"\n[node]\npoll = \"10s\"\n[tasks.t]\npull = true\n");
    let node = Node::start(&config).wait_ready();
    until_some(Duration::from_secs(20), "the node leads", || {
        node.api("GET", "/api/v1/status", "").json()["leader"].as_object().cloned()
    });
    let body = r#"{"name": "s", "task": "t", "every": "500ms", "overlap": "allow"}"#;
    let made = node.api("POST", "/api/v1/schedules", body);
    assert_eq!(made.status, 201, "{made:?}");
    let first = until_some(Duration::from_secs(20), "it has fired", || {
        node.api("GET", "/api/v1/firings?schedule=s", "").json()["items"].as_array().unwrap().last().cloned()
    });
    assert_eq!((&first["outcome"], &first["scheduled_for"]), (&json!("fired"), &made.json()["next_fire_at"]));
    assert!(first["late_ms"].as_f64().unwrap() < 4000.0, "{first}");
}

/// A task that gets a source while nodes are changed is swept from then on.
fn what_is_fired_follows_the_task(database: &TestDatabase) {
    let api = Api::start(database);
    make(&api, r#"{"name": "s", "task": "t", "every": "1h"}"#);
    let mut connection = api.state.store.work().unwrap();
    let seen = schedules::reconcile(&mut connection, None).unwrap();
    let fire = || api.admin("POST", "/schedules/s/fire", "").json();
    assert!(fire()["entries"].is_array());
    let node = database.number("SELECT max(id) FROM soloist_nodes");
    let task = nodes::Declaration {
        kind: nodes::DeclarationKind::Task,
        name: "t".to_owned(),
        body: r#"{"handler": "http", "source": true}"#.to_owned(),
    };
    nodes::declare(&mut connection, node, &[task], None).unwrap();
    schedules::reconcile(&mut connection, seen.as_ref()).unwrap();
    assert!(fire()["sweep"].is_number());
    assert_eq!(api.get("/schedules/s")["origin"], "api");
}

#[test]
fn a_wrong_schedule_is_refused_by_name() {
    let database = TestDatabase::new(Backend::Sqlite).unwrap();
    let api = Api::start(&database);
    let refuse = |name: &str, members: Value, status: u16, code: &str| {
        let mut body = json!({ "name": "s", "task": "t" });
        body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        let response = api.admin("POST", "/schedules", &body.to_string());
        let document = problem(&response, status, code);
        assert_eq!(document["field"], name, "{document}");
        assert!(document["detail"].as_str().unwrap().contains(name), "{document}");
    };
    let intervals = [
        "0s",
        "-5m",
        "",
        "5",
        "5x",
        "NaNs",
        "1e400s",
        "99999999999d",
        "18446744073709551616s",
        "1ms",
        "\u{0}",
        "3000000d",
    ];
    for every in intervals {
        refuse("every", json!({ "every": every }), 400, "invalid_field");
    }
    for every in [json!(5), json!(-1), json!(true), json!({}), json!(["5m"]), json!(1e300)] {
        refuse("every", json!({ "every": every }), 400, "invalid_field");
    }
    for cron in
        ["0 0 31 2 *", "", "* * *", "60 * * * *", "*/0 * * * *", "*/360 * * * *", "1, * * * *", "@every 5m", "\u{0}"]
    {
        refuse("cron", json!({ "cron": cron }), 400, "invalid_field");
    }
    for (field, value) in [
        ("timezone", json!("Europe/Berln")),
        ("timezone", json!("../../etc/passwd")),
        ("start", json!("2027-01-01")),
        ("end", json!("")),
        ("jitter", json!("-1s")),
        ("misfire", json!("twice")),
        ("misfire_grace", json!("1")),
        ("overlap", json!(true)),
        ("paused", json!("yes")),
    ] {
        refuse(field, json!({ "every": "1h", field: value }), 400, "invalid_field");
    }
    for at in ["tomorrow", "2027-01-01T00:00:00", "99999-01-01T00:00:00Z"] {
        refuse("at", json!({ "at": at }), 400, "invalid_field");
    }
    let (one, two) = ("2027-01-01T00:00:00Z", "2026-01-01T00:00:00Z");
    refuse("end", json!({ "every": "1h", "start": one, "end": two }), 400, "invalid_field");
    refuse("every", json!({}), 400, "invalid_field");
    refuse("cron", json!({ "every": "1h", "cron": "0 3 * * *" }), 400, "invalid_field");
    refuse("task", json!({ "every": "1h", "task": "thumbnial" }), 422, "task_not_declared");
    refuse("task", json!({ "every": "1h", "task": null }), 400, "invalid_field");
    refuse("evry", json!({ "evry": "1h" }), 400, "unknown_field");
    for name in ["", "a b", "a/b", "ä"] {
        refuse("name", json!({ "every": "1h", "name": name }), 400, "invalid_field");
    }
    refuse("name", json!({ "every": "1h", "name": "n".repeat(101) }), 400, "invalid_field");
    refuse("name", json!({ "every": "1h", "name": null }), 400, "missing_field");
    let deep =
        format!(r#"{{"name": "s", "task": "t", "every": "1h", "payload": {}1{}}}"#, "[".repeat(101), "]".repeat(101));
    assert_eq!(problem(&api.admin("POST", "/schedules", &deep), 400, "invalid_field")["field"], "payload");
    for body in ["", "[]", "7", "{"] {
        problem(&api.admin("POST", "/schedules", body), 400, "bad_json");
    }
    assert_eq!(database.number("SELECT count(*) FROM soloist_schedules"), 0);
    assert_eq!((api.firing_wakes(), api.wakes()), (0, 0));
    let document = problem(&api.admin("PUT", "/schedules/s", ""), 405, "method_not_allowed");
    assert!(document["detail"].as_str().unwrap().contains("GET, PATCH, DELETE"), "{document}");
    make(&api, r#"{"name": "mondays-in-february", "task": "t", "cron": "0 0 30 2 1"}"#);
}

#[test]
fn a_payload_is_for_those_who_may_see_it() {
    let database = TestDatabase::new(Backend::Sqlite).unwrap();
    let api = Api::start_with(&database, ShowPayload::Admin);
    make(&api, r#"{"name": "s", "task": "t", "every": "1h", "payload": {"card": "4111"}}"#);
    for path in ["/api/v1/schedules", "/api/v1/schedules/s"] {
        for token in [READ, TRIGGER] {
            let response = api.with(token, "GET", path, "");
            assert_eq!(response.status, 200);
            assert!(!response.body.contains("4111") && !response.body.contains("payload"), "{}", response.body);
            assert!(response.body.contains("\"every\":\"1h\""), "{}", response.body);
        }
        assert!(api.with(ADMIN, "GET", path, "").body.contains("4111"));
    }
}
