//! `GET /api/v1/events`: server-sent events, which tell a dashboard what to fetch again.
//!
//! Owns what one stream says and when it ends. What has happened is worked out once for all streams, in `hub`, out of
//! the look at the database that status and metrics share. Events are hints: the other routes tell the truth.

mod changes;
mod hub;

use std::convert::Infallible;
use std::time::Duration;

use actix_web::http::header;
use actix_web::rt;
use actix_web::web::{Bytes, Data};
use actix_web::{HttpRequest, HttpResponse};
use futures_util::stream;
use tokio::time::sleep;
use utoipa::IntoParams;

use super::answer::Answer;
use super::query::Query;
use super::state::ApiState;
use super::tokens::Tokens;

pub use hub::Events;
use hub::{LOOK, Place};

/// How long a stream is silent at most.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// The header, for the document.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
#[expect(dead_code, reason = "it only describes")]
struct Last {
    /// What came after this event is sent first.
    #[param(required = false, rename = "Last-Event-ID")]
    id: String,
}

/// What happens, as it happens: server-sent events that tell what to fetch again.
#[utoipa::path(
    get, path = "/events", tag = "status", operation_id = "events",
    params(Last),
    responses(
        (status = 200, description = "A stream without an end", body = String, content_type = "text/event-stream"),
        (status = 503, description = "`not_ready`: the node stops. `too_many_streams`. `database_unavailable`"),
    ),
    security(("token" = ["read"])),
)]
pub(super) async fn open(state: Data<ApiState>, request: HttpRequest) -> Answer {
    Query::read(&request, &[])?;
    let last = request.headers().get("Last-Event-ID").map(|value| value.to_str().unwrap_or_default().to_owned());
    let watch = &state.watch;
    let place = watch.events.enter(last.as_deref())?;
    if watch.events.begins_to_look() {
        rt::spawn(watch.events.clone().look());
    }
    let stream = Stream { place, tokens: state.tokens.clone(), since: state.tokens.version() };
    let frames = stream::unfold(Some(stream), |stream| async move {
        let (frame, stream) = stream?.next().await;
        Some((Ok::<_, Infallible>(frame), stream))
    });
    Ok(HttpResponse::Ok()
        .insert_header((header::CONTENT_TYPE, "text/event-stream"))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        // A proxy must not keep events until it has many.
        .insert_header(("X-Accel-Buffering", "no"))
        .streaming(frames))
}

/// One stream that is open.
struct Stream {
    place: Place,
    tokens: Tokens,
    /// Which tokens were in force when it was opened.
    since: u64,
}

impl Stream {
    /// What is to be sent next; without the stream itself if that is the last.
    async fn next(mut self) -> (Bytes, Option<Self>) {
        let closed = self.place.closed();
        let frame = tokio::select! {
            biased;
            () = closed.cancelled() => return (end("the node stops"), None),
            frame = self.place.next() => frame,
            () = sleep(HEARTBEAT) => Some(Bytes::from_static(b":\n\n")),
        };
        match frame {
            // Whoever reads on must show his token again.
            Some(_) if self.tokens.version() != self.since => (end("the tokens were read again"), None),
            Some(frame) => (frame, Some(self)),
            None => (end("too slow: events were left out"), None),
        }
    }
}

/// The last event of a stream. It has no id: whoever comes back goes on after the last that has one.
fn end(reason: &str) -> Bytes {
    format!("event: end\ndata: {{\"reason\":\"{reason}\"}}\nretry: {}\n\n", LOOK.as_millis()).into()
}
