//! Who may do what.

use house::{TestDatabase, on_every_backend};
use soloist::config::{Role, ShowPayload};
use soloist::http::routes_under;

use super::server::{ADMIN, Api, READ, TRIGGER, problem, token};

on_every_backend!(every_route_asks_for_its_role, a_payload_is_for_those_who_may_see_it);

/// Every route of the API, the least role, and a body.
const ROUTES: [(&str, &str, Role, &str); 27] = [
    ("GET", "/status", Role::Read, ""),
    ("GET", "/nodes", Role::Read, ""),
    ("GET", "/tasks", Role::Read, ""),
    ("GET", "/tasks/t", Role::Read, ""),
    ("POST", "/tasks/t/trigger", Role::Trigger, ""),
    ("POST", "/tasks/t/pause", Role::Admin, ""),
    ("POST", "/tasks/t/resume", Role::Admin, ""),
    ("POST", "/tasks/p/claim", Role::Admin, "{}"),
    ("GET", "/firings", Role::Read, ""),
    ("GET", "/schedules", Role::Read, ""),
    ("POST", "/schedules", Role::Admin, "{}"),
    ("GET", "/schedules/s", Role::Read, ""),
    ("PATCH", "/schedules/s", Role::Admin, "{}"),
    ("DELETE", "/schedules/s", Role::Admin, ""),
    ("POST", "/schedules/s/pause", Role::Admin, ""),
    ("POST", "/schedules/s/resume", Role::Admin, ""),
    ("POST", "/schedules/s/fire", Role::Trigger, ""),
    ("GET", "/entries", Role::Read, ""),
    ("POST", "/entries", Role::Trigger, r#"{"task": "t"}"#),
    ("GET", "/entries/1", Role::Read, ""),
    ("DELETE", "/entries/1", Role::Admin, ""),
    ("POST", "/entries/1/retry", Role::Admin, ""),
    ("POST", "/entries/1/cancel", Role::Admin, ""),
    ("POST", "/entries/1/run-now", Role::Admin, ""),
    ("POST", "/entries/1/complete", Role::Admin, r#"{"token": "x"}"#),
    ("POST", "/entries/1/fail", Role::Admin, r#"{"token": "x"}"#),
    ("POST", "/entries/1/extend", Role::Admin, r#"{"token": "x"}"#),
];

fn every_route_asks_for_its_role(database: &TestDatabase) {
    let api = Api::start(database);
    for (method, path, _, body) in ROUTES {
        let path = format!("/api/v1{path}");
        let response = api.send(method, &path, &[], body);
        problem(&response, 401, "unauthenticated");
        assert!(response.header("www-authenticate").is_some_and(|value| value.starts_with("Bearer")), "{path}");
        let wrong = api.with("adm1n-tokem", method, &path, body);
        problem(&wrong, 401, "unauthenticated");
        assert!(!wrong.body.contains("adm1n"), "a token is not shown: {}", wrong.body);
    }
    assert_eq!(database.number("SELECT count(*) FROM soloist_entries"), 0, "nothing was enqueued");
    for (method, path, least, body) in ROUTES {
        let path = format!("/api/v1{path}");
        for (role, token) in [(Role::Read, READ), (Role::Trigger, TRIGGER), (Role::Admin, ADMIN)] {
            let response = api.with(token, method, &path, body);
            if role < least {
                problem(&response, 403, "forbidden");
            } else {
                assert!(![401, 403, 405, 500].contains(&response.status), "{role:?} {method} {path}: {response:?}");
                assert_eq!(response.header("x-content-type-options"), Some("nosniff"), "{method} {path}");
            }
        }
    }
    // What does not exist tells strangers nothing either.
    problem(&api.send("GET", "/api/v1/nowhere", &[], ""), 401, "unauthenticated");
    problem(&api.admin("GET", "/nowhere", ""), 404, "route_not_found");
}

#[test]
fn a_token_that_is_not_quite_one_opens_nothing() {
    let database = TestDatabase::new(house::Backend::Sqlite).unwrap();
    let api = Api::start(&database);
    api.tokens.replace(&[token(Role::Admin, "s3cret"), token(Role::Admin, ""), token(Role::Admin, "  ")]);
    let wrong = [
        "Bearer",
        "Bearer ",
        "Bearer  ",
        "Bearer undefined",
        "Bearer null",
        "bearer S3CRET",
        "Bearer s3cre",
        "Bearer s3crets",
        "Bearer s3cret s3cret",
        "Basic czNjcmV0",
        "Basic s3cret",
        "s3cret",
        "",
    ];
    let body = r#"{"task": "t"}"#;
    for value in wrong {
        let response = api.send("POST", "/api/v1/entries", &[("Authorization", value)], body);
        problem(&response, 401, "unauthenticated");
    }
    for path in ["/api/v1/entries?token=s3cret", "/api/v1/entries?access_token=s3cret", "/api/v1/entries?key=s3cret"] {
        problem(&api.send("POST", path, &[], body), 401, "unauthenticated");
    }
    let twice = [("Authorization", "Bearer wrong"), ("Authorization", "Bearer s3cret")];
    problem(&api.send("POST", "/api/v1/entries", &twice, body), 401, "unauthenticated");
    assert_eq!(database.number("SELECT count(*) FROM soloist_entries"), 0);
    assert_eq!(api.wakes(), 0);
    assert_eq!(api.with("s3cret", "POST", "/api/v1/entries", body).status, 201);
    assert_eq!(api.wakes(), 1);
}

#[test]
fn tokens_are_replaced_while_the_server_runs() {
    let database = TestDatabase::new(house::Backend::Sqlite).unwrap();
    let api = Api::start(&database);
    assert_eq!(api.with(READ, "GET", "/api/v1/entries", "").status, 200);
    api.tokens.replace(&[token(Role::Read, "fresh")]);
    assert_eq!(api.with(READ, "GET", "/api/v1/entries", "").status, 401);
    assert_eq!(api.with("fresh", "GET", "/api/v1/entries", "").status, 200);
}

#[test]
fn health_asks_for_no_token() {
    let database = TestDatabase::new(house::Backend::Sqlite).unwrap();
    let api = Api::start(&database);
    let status = |path| api.send("GET", path, &[], "").status;
    assert_eq!(status("/healthz"), 200);
    let response = api.send("GET", "/readyz", &[], "");
    problem(&response, 503, "not_ready");
    api.readiness.set_database(true);
    let response = api.send("GET", "/readyz", &[], "");
    assert!(problem(&response, 503, "not_ready")["detail"].as_str().unwrap().contains("schema"));
    api.readiness.set_schema(true);
    assert_eq!(status("/readyz"), 200);
    api.readiness.set_draining(true);
    assert_eq!(status("/readyz"), 503);
    assert_eq!(status("/healthz"), 200);
}

fn a_payload_is_for_those_who_may_see_it(database: &TestDatabase) {
    let api = Api::start_with(database, ShowPayload::Admin);
    let id = api.enqueue(r#"{"task": "t", "payload": {"card": "4111"}}"#);
    for path in ["/api/v1/entries".to_owned(), format!("/api/v1/entries/{id}")] {
        for token in [READ, TRIGGER] {
            let response = api.with(token, "GET", &path, "");
            assert_eq!(response.status, 200);
            assert!(!response.body.contains("4111") && !response.body.contains("payload"), "{}", response.body);
        }
        assert!(api.with(ADMIN, "GET", &path, "").body.contains("4111"));
    }
    let mine = api.with(TRIGGER, "POST", "/api/v1/entries", r#"{"task": "t", "payload": 4111}"#);
    assert!(mine.status == 201 && !mine.body.contains("4111"), "{mine:?}");
}

#[test]
fn an_application_shows_the_api_below_a_path_of_its_own() {
    use actix_web::{App, HttpResponse, test, web};
    let database = TestDatabase::new(house::Backend::Sqlite).unwrap();
    let state = Api::start(&database).state.clone();
    actix_web::rt::System::new().block_on(async move {
        let own = web::get().to(|| async { HttpResponse::Ok().body("own") });
        let app = App::new().configure(routes_under("/admin", state)).route("/", own);
        let app = test::init_service(app).await;
        let get = |path: &str| test::TestRequest::get().uri(path);
        let bearer = ("Authorization", format!("Bearer {READ}"));
        for (request, status) in [
            (get("/"), 200),
            (get("/nowhere"), 404),
            (get("/admin/healthz"), 200),
            (get("/admin/api/v1/entries"), 401),
            (get("/admin/api/v1/entries").insert_header(bearer.clone()), 200),
            (get("/api/v1/entries").insert_header(bearer.clone()), 404),
            (get("/admin/nowhere"), 404),
        ] {
            let request = request.to_request();
            let path = request.path().to_owned();
            let response = test::call_service(&app, request).await;
            assert_eq!(response.status(), status, "{path}");
        }
    });
}
