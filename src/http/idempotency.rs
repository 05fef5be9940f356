//! `Idempotency-Key`: a POST that is sent again has one effect, and gets the same answer again for a day.
//!
//! Owns what the header may hold and what is answered; that the effect is one is `store::requests`'. Only successes
//! are kept: whoever was refused may mend the cause and send the same again.

use std::future::{Ready, ready};
use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::{FromRequest, HttpMessage as _, HttpRequest, dev, web};
use utoipa::IntoParams;

use super::answer::{self, Answer};
use super::body::Body;
use super::problem::Problem;
use super::state::ApiState;
use super::tokens::Caller;
use crate::store::Connection;
use crate::store::requests::{self, Kept, Once, Request};

const HEADER: &str = "Idempotency-Key";

/// Tells an answer that was kept from a fresh one.
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// The longest key.
const LONGEST: usize = 255;

/// How often a request is begun again after the server has undone its transaction.
const TRIES: usize = 5;

/// The header, for the document.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
#[expect(dead_code, reason = "it only describes")]
pub(super) struct Key {
    /// For 24 h the same key, token and route get the same answer again, and nothing happens twice.
    #[param(required = false, rename = "Idempotency-Key", pattern = "^[!-~]{1,255}$")]
    key: String,
}

/// What names this request, if it carries a key.
pub(super) struct Idempotency(Option<Request>);

impl FromRequest for Idempotency {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut dev::Payload) -> Self::Future {
        ready(key(request).map(|key| {
            Self(key.map(|key| Request {
                token: request.extensions().get::<Caller>().map(|caller| caller.name.clone()).unwrap_or_default(),
                route: route(request),
                key,
                body: String::new(),
            }))
        }))
    }
}

fn key(request: &HttpRequest) -> Result<Option<String>, Problem> {
    let wrong = |what: &str| {
        let detail = format!("the header {HEADER} {what}: 1 to {LONGEST} visible ASCII characters, once");
        Err(Problem::bad_request("invalid_idempotency_key", detail).with("header", HEADER))
    };
    let mut values = request.headers().get_all(HEADER);
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return wrong("is given twice");
    }
    let bytes = value.as_bytes();
    if bytes.is_empty() {
        return wrong("is empty");
    }
    if bytes.len() > LONGEST {
        return wrong("is too long");
    }
    match value.to_str() {
        Ok(text) if bytes.iter().all(u8::is_ascii_graphic) => Ok(Some(text.to_owned())),
        _ => wrong("holds something else"),
    }
}

/// The route as far as it tells one effect from another: the same on nodes that show the API under other paths.
fn route(request: &HttpRequest) -> String {
    let pattern = request.match_pattern().unwrap_or_default();
    let named = request
        .match_info()
        .iter()
        .fold(pattern.clone(), |route, (name, value)| route.replace(&format!("{{{name}}}"), value));
    let begin = pattern.find("/api/v1/").unwrap_or_default();
    let route = format!("{} {}", request.method(), named.get(begin..).unwrap_or_default());
    route.chars().take(255).collect()
}

impl ApiState {
    /// Does `work`, which gives the JSON of an answer of this status; once only if the request carries a key.
    pub(super) async fn once(
        &self,
        idempotency: Idempotency,
        body: &Body,
        status: StatusCode,
        work: impl Fn(&mut Connection) -> Result<String, Problem> + Send + 'static,
    ) -> Answer {
        let Some(mut request) = idempotency.0 else {
            return Ok(answer::written(status, self.write(work).await?));
        };
        request.body = body.digest();
        let store = self.store.clone();
        let done = web::block(move || -> Result<Once, Problem> {
            let work = |connection: &mut Connection| -> Result<Kept, Problem> {
                Ok(Kept { status: status.as_u16(), body: work(connection)? })
            };
            let mut tries = 1;
            loop {
                let mut connection = store.read()?;
                match requests::once(&mut connection, &request, work) {
                    // Whether or not it was committed: the key tells, on another connection.
                    Err(_) if connection.is_undone() && tries < TRIES => {
                        tries += 1;
                        std::thread::sleep(Duration::from_millis(fastrand::u64(5..50)));
                    }
                    done => return done,
                }
            }
        });
        match done.await.map_err(|_| Problem::internal("the work on the database was cut short"))?? {
            Once::Done(kept) => {
                self.watch.snapshots.written();
                (self.wake)();
                Ok(answer::written(status, kept.body))
            }
            Once::Again(kept) => {
                let status = StatusCode::from_u16(kept.status).unwrap_or(status);
                let mut answer = answer::written(status, kept.body);
                answer.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
                Ok(answer)
            }
            Once::Differs => Err(Problem::unprocessable(
                "idempotency_key_reused",
                format!("the {HEADER} stands for a request with another body: use a key of its own for each request"),
            )
            .with("header", HEADER)),
        }
    }
}
