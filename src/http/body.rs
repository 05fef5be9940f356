//! The body of a request: JSON, of bounded size, read member by member so that every error can name its place.

use std::future::Future;
use std::pin::Pin;

use actix_web::http::{StatusCode, header};
use actix_web::web::{self, Bytes};
use actix_web::{FromRequest, HttpMessage as _, HttpRequest, dev};
use sha2::{Digest as _, Sha256};

use super::fields::{self, Fields};
use super::problem::Problem;
use super::query::Query;

/// The largest payload of an entry.
pub(super) const PAYLOAD: usize = 8 << 20;
/// The largest body: a payload of the largest size and what stands around it.
const MOST: usize = PAYLOAD + (64 << 10);

/// A body that was read whole; may be empty.
pub(super) struct Body(Bytes);

impl Body {
    /// The one object that the body holds.
    pub(super) fn object(&self) -> Result<Fields<'_>, Problem> {
        if self.0.trim_ascii().is_empty() {
            return Err(Problem::bad_request("bad_json", "the body is empty: a JSON object is expected"));
        }
        fields::object(self.text()?)
    }

    /// The same where a body may be left out: then there are no members.
    pub(super) fn object_or_nothing(&self) -> Result<Fields<'_>, Problem> {
        if self.0.trim_ascii().is_empty() { Ok(Fields::none()) } else { fields::object(self.text()?) }
    }

    /// A digest of its bytes, in hexadecimal.
    pub(super) fn digest(&self) -> String {
        Sha256::digest(&self.0).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// True if the body holds an array.
    pub(super) fn is_array(&self) -> bool {
        self.0.trim_ascii_start().first() == Some(&b'[')
    }

    /// The objects of the array that the body holds.
    pub(super) fn objects(&self) -> Result<impl Iterator<Item = Result<Fields<'_>, Problem>>, Problem> {
        fields::array(self.text()?)
    }

    fn text(&self) -> Result<&str, Problem> {
        std::str::from_utf8(&self.0).map_err(|error| {
            let detail = format!("the body is not UTF-8: byte {} breaks it", error.valid_up_to() + 1);
            Problem::bad_request("bad_json", detail)
        })
    }
}

impl FromRequest for Body {
    type Error = Problem;
    type Future = Pin<Box<dyn Future<Output = Result<Self, Problem>>>>;

    fn from_request(request: &HttpRequest, payload: &mut dev::Payload) -> Self::Future {
        let checked = check(request);
        let payload = web::Payload::from_request(request, payload);
        Box::pin(async move {
            checked?;
            let payload = payload.await.map_err(|error| Problem::bad_request("bad_request", error))?;
            match payload.to_bytes_limited(MOST).await {
                Ok(Ok(bytes)) => Ok(Self(bytes)),
                Ok(Err(error)) => Err(Problem::bad_request("bad_request", format!("the body cannot be read: {error}"))),
                Err(_) => Err(too_large()),
            }
        })
    }
}

/// What can be told without the body. No route that takes a body has parameters.
fn check(request: &HttpRequest) -> Result<(), Problem> {
    Query::read(request, &[])?;
    let header = |name| request.headers().get(name).and_then(|value| value.to_str().ok());
    let length = header(header::CONTENT_LENGTH).and_then(|length| length.trim().parse::<u64>().ok());
    if length.is_some_and(|length| length > MOST as u64) {
        return Err(too_large());
    }
    let has_body = length.is_some_and(|length| length > 0) || request.headers().contains_key(header::TRANSFER_ENCODING);
    if !has_body {
        return Ok(());
    }
    let unsupported =
        |detail: String| Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", detail));
    if let Some(encoding) = header(header::CONTENT_ENCODING).filter(|value| !value.eq_ignore_ascii_case("identity")) {
        return unsupported(format!("Content-Encoding {encoding:?} is not read here: send the body as it is"));
    }
    let kind = request.content_type().to_ascii_lowercase();
    if kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json")) {
        return Ok(());
    }
    unsupported(format!("Content-Type must be application/json, not {kind:?}"))
}

fn too_large() -> Problem {
    let detail = format!("the body is larger than {MOST} bytes: a payload may have 8 MiB");
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", detail)
}
