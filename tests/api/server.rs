//! A server of the admin API in this process, on a port of its own, and a client for it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use actix_web::dev::ServerHandle;
use actix_web::{App, HttpServer};
use house::{Response, TestDatabase, request};
use serde_json::Value;
use soloist::actor::reports::Reports;
use soloist::config::{
    ClaimChoice, Database, DatabaseUrl, NodeRole, Role, Secret, ShowPayload, Source, Synchronous, Token, Wake,
};
use soloist::http::{ApiState, Readiness, Tokens, Waiting, Watch, routes};
use soloist::store::source::TableSource;
use soloist::store::{Store, migrate, nodes};
use soloist::telemetry::meters::Meters;
use tokio::sync::watch;

/// The tokens of the test server, by role.
pub const READ: &str = "r3ad-token";
pub const TRIGGER: &str = "tr1gger-token";
pub const ADMIN: &str = "adm1n-token";

/// What the test server's node declares: `t` is a hook's, the others are for outside workers.
const DECLARED: [(&str, &str); 5] = [
    ("rows", r#"{"handler": "pull", "source": true, "max_attempts": 2, "backoff": {"first_ms": 0, "max_ms": 0}}"#),
    ("t", r#"{"handler": "http"}"#),
    ("thumbnail", r#"{"handler": "http", "max_attempts": 4}"#),
    ("p", r#"{"handler": "pull", "max_attempts": 3, "backoff": {"first_ms": 0, "max_ms": 0}}"#),
    ("slow", r#"{"handler": "pull", "max_attempts": 3, "backoff": {"first_ms": 3600000, "max_ms": 3600000}}"#),
];

pub struct Api {
    pub port: u16,
    pub tokens: Tokens,
    pub readiness: Arc<Readiness>,
    pub state: Arc<ApiState>,
    wakes: Arc<AtomicUsize>,
    firing_wakes: Arc<AtomicUsize>,
    woken: watch::Sender<()>,
    handle: ServerHandle,
    thread: Option<JoinHandle<()>>,
}

fn store(url: &str) -> Store {
    let database = Database {
        url: DatabaseUrl::parse(url).unwrap(),
        connections: 4,
        claim: ClaimChoice::Auto,
        wake: Wake::Poll,
        pooler: false,
        synchronous: Synchronous::Normal,
        keep_firings: Duration::from_secs(60),
    };
    Store::new(&database, Duration::from_secs(60), 1)
}

pub fn token(role: Role, secret: &str) -> Token {
    Token { name: format!("{role:?}").to_lowercase(), role, secret: Secret::new(secret) }
}

fn known() -> [Token; 3] {
    [token(Role::Read, READ), token(Role::Trigger, TRIGGER), token(Role::Admin, ADMIN)]
}

impl Api {
    pub fn start(database: &TestDatabase) -> Self {
        Self::start_with(database, ShowPayload::Read)
    }

    pub fn start_with(database: &TestDatabase, show_payload: ShowPayload) -> Self {
        Self::start_on(database, show_payload, None)
    }

    /// With this source for the task `rows`.
    pub fn start_with_rows(database: &TestDatabase, source: &Source) -> Self {
        Self::start_on(database, ShowPayload::Read, Some(source))
    }

    fn start_on(database: &TestDatabase, show_payload: ShowPayload, source: Option<&Source>) -> Self {
        let store = store(&database.url());
        let mut connection = store.work().unwrap();
        migrate::up(&mut connection).unwrap();
        let node = nodes::register(&mut connection, "web-1", &[NodeRole::Http], Duration::from_secs(3600)).unwrap();
        let declared = DECLARED.map(|(name, body)| nodes::Declaration {
            kind: nodes::DeclarationKind::Task,
            name: name.to_owned(),
            body: body.to_owned(),
        });
        nodes::declare(&mut connection, node, &declared, None).unwrap();
        let rows = source.map(|source| Arc::new(TableSource::resolve(&mut connection, "rows", source).unwrap()));
        drop(connection);
        Self::serve(store, show_payload, rows)
    }

    /// On a database that is not there.
    pub fn start_on_unreachable(url: &str) -> Self {
        Self::serve(store(url), ShowPayload::Read, None)
    }

    fn serve(store: Store, show_payload: ShowPayload, rows: Option<Arc<TableSource>>) -> Self {
        let tokens = Tokens::new(&known());
        let readiness = Arc::new(Readiness::default());
        let (wakes, firing_wakes) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let woken = watch::Sender::new(());
        let counting = |counter: &Arc<AtomicUsize>| -> soloist::http::Wake {
            let (counter, woken) = (counter.clone(), woken.clone());
            Arc::new(move || {
                counter.fetch_add(1, Ordering::SeqCst);
                woken.send_replace(());
            })
        };
        let state = Arc::new(ApiState {
            watch: Watch::new(store.clone(), "web-1", Meters::default(), Reports::default()),
            store,
            tokens: tokens.clone(),
            show_payload,
            flask_apscheduler: true,
            readiness: readiness.clone(),
            // So seldom that whatever is found in time is found by a wake.
            waiting: Waiting::new(woken.subscribe(), Duration::from_secs(3600)),
            wake: counting(&wakes),
            wake_firing: counting(&firing_wakes),
            sources: Arc::new(move |task| rows.clone().filter(|_| task == "rows")),
        });
        let (send, receive) = mpsc::channel();
        let served = state.clone();
        let thread = std::thread::spawn(move || {
            actix_web::rt::System::new().block_on(async move {
                let server = HttpServer::new(move || App::new().configure(routes(served.clone())))
                    .workers(2)
                    .h1_allow_half_closed(false)
                    .disable_signals()
                    .bind(("127.0.0.1", 0))
                    .unwrap();
                let port = server.addrs()[0].port();
                let server = server.run();
                send.send((port, server.handle())).unwrap();
                server.await.unwrap();
            });
        });
        let (port, handle) = receive.recv().unwrap();
        Self { port, tokens, readiness, state, wakes, firing_wakes, woken, handle, thread: Some(thread) }
    }

    /// Puts the same tokens in the place of the tokens: failed log-ins are forgotten.
    pub fn forget_failures(&self) {
        self.tokens.replace(&known());
    }

    /// How often a write has told the node to look.
    pub fn wakes(&self) -> usize {
        self.wakes.load(Ordering::SeqCst)
    }

    /// Tells it that something may be due, as another node's commit does.
    pub fn wake(&self) {
        self.woken.send_replace(());
    }

    /// How often a write has told the node to look for due schedules.
    pub fn firing_wakes(&self) -> usize {
        self.firing_wakes.load(Ordering::SeqCst)
    }

    /// A request with these headers alone.
    #[track_caller]
    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Response {
        request(self.port, method, path, headers, body).unwrap_or_else(|error| panic!("{method} {path}: {error}"))
    }

    #[track_caller]
    pub fn with(&self, token: &str, method: &str, path: &str, body: &str) -> Response {
        self.send(method, path, &[("Authorization", &format!("Bearer {token}"))], body)
    }

    /// A request of the admin under `/api/v1`.
    #[track_caller]
    pub fn admin(&self, method: &str, path: &str, body: &str) -> Response {
        self.with(ADMIN, method, &format!("/api/v1{path}"), body)
    }

    #[track_caller]
    pub fn get(&self, path: &str) -> Value {
        let response = self.admin("GET", path, "");
        assert_eq!(response.status, 200, "{path}: {response:?}");
        response.json()
    }

    /// Accepts an entry and gives its id.
    #[track_caller]
    pub fn enqueue(&self, body: &str) -> i64 {
        let response = self.admin("POST", "/entries", body);
        assert_eq!(response.status, 201, "{body}: {response:?}");
        response.json()["id"].as_i64().unwrap()
    }

    /// Claims for an outside worker.
    #[track_caller]
    pub fn claim(&self, task: &str, body: &str) -> Vec<Value> {
        let response = self.admin("POST", &format!("/tasks/{task}/claim"), body);
        assert_eq!(response.status, 200, "{body}: {response:?}");
        response.json()["entries"].as_array().unwrap().clone()
    }
}

impl Drop for Api {
    fn drop(&mut self) {
        drop(self.handle.stop(false));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// That a response is a problem document of this status and code; the document.
#[track_caller]
pub fn problem(response: &Response, status: u16, code: &str) -> Value {
    assert_eq!(response.status, status, "{response:?}");
    assert_eq!(response.header("content-type"), Some("application/problem+json"), "{response:?}");
    assert_eq!(response.header("x-content-type-options"), Some("nosniff"));
    let document = response.json();
    assert_eq!(document["code"], code, "{document}");
    assert_eq!(document["status"], status, "{document}");
    for member in ["type", "title", "detail"] {
        assert!(document[member].as_str().is_some_and(|text| !text.is_empty()), "{member}: {document}");
    }
    document
}
