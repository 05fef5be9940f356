//! Who may do what.

use house::{TestDatabase, on_every_backend};
use soloist::config::{Role, ShowPayload};
use soloist::http::routes_under;

use super::server::{ADMIN, Api, READ, TRIGGER, problem, token};

on_every_backend!(a_payload_is_for_those_who_may_see_it);

#[test]
fn a_token_that_is_not_quite_one_opens_nothing() {
    let database = TestDatabase::new(house::Backend::Sqlite).unwrap();
    let api = Api::start(&database);
    let tokens = [token(Role::Admin, "s3cret"), token(Role::Admin, ""), token(Role::Admin, "  ")];
    api.tokens.replace(&tokens);
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
        api.tokens.replace(&tokens);
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
fn two_tokens_of_one_name_serve_a_rotation() {
    let database = TestDatabase::new(house::Backend::Sqlite).unwrap();
    let api = Api::start(&database);
    api.tokens.replace(&[token(Role::Trigger, "old"), token(Role::Trigger, "new")]);
    let send = |token: &str| {
        let bearer = format!("Bearer {token}");
        api.send("POST", "/api/v1/entries", &[("Authorization", &bearer), ("Idempotency-Key", "k")], r#"{"task": "t"}"#)
    };
    let (before, after) = (send("old"), send("new"));
    assert_eq!((before.status, &before.body), (201, &after.body), "they are one caller");
    assert_eq!(after.header("idempotent-replayed"), Some("true"));
    problem(&api.with("new", "POST", "/api/v1/tasks/t/pause", ""), 403, "forbidden");
    api.tokens.replace(&[token(Role::Trigger, "new")]);
    problem(&send("old"), 401, "unauthenticated");
    assert_eq!(send("new").status, 201);
}

#[test]
fn failed_log_ins_are_bounded_and_lock_nobody_out() {
    let database = TestDatabase::new(house::Backend::Sqlite).unwrap();
    let api = Api::start(&database);
    let guess = |n: usize| api.with(&format!("guess-{n}"), "GET", "/api/v1/entries", "");
    for n in 0..10 {
        problem(&guess(n), 401, "unauthenticated");
    }
    let refused = guess(10);
    let document = problem(&refused, 429, "too_many_failures");
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait), "{refused:?}");
    assert!(!document.to_string().contains("guess"), "a token is not shown: {document}");
    assert_eq!(api.with(READ, "GET", "/api/v1/entries", "").status, 200, "a right token is let in");
    problem(&guess(11), 429, "too_many_failures");
    problem(&api.send("GET", "/api/v1/entries", &[], ""), 401, "unauthenticated");
    api.forget_failures();
    problem(&guess(12), 401, "unauthenticated");
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
