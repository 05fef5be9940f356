//! The body of a request as the original takes it: JSON, whatever its content type says.

use std::future::Future;
use std::pin::Pin;

use actix_web::web::{self, Bytes};
use actix_web::{FromRequest, HttpRequest, dev};
use serde_json::value::RawValue;

use super::answer::Refused;
use crate::http::body::PAYLOAD;
use crate::http::problem::Problem;

/// A JSON text.
pub(super) struct Json(pub String);

impl FromRequest for Json {
    type Error = Refused;
    type Future = Pin<Box<dyn Future<Output = Result<Self, Refused>>>>;

    fn from_request(request: &HttpRequest, payload: &mut dev::Payload) -> Self::Future {
        let payload = web::Payload::from_request(request, payload);
        Box::pin(async move {
            let bad = |why: String| Refused::from(Problem::bad_request("bad_json", why));
            let payload = payload.await.map_err(|error| bad(error.to_string()))?;
            let bytes: Bytes = match payload.to_bytes_limited(PAYLOAD).await {
                Ok(Ok(bytes)) => bytes,
                Ok(Err(error)) => return Err(bad(format!("the body cannot be read: {error}"))),
                Err(_) => return Err(bad(format!("the body is larger than {PAYLOAD} bytes"))),
            };
            let text = String::from_utf8(bytes.to_vec()).map_err(|_| bad("the body is not UTF-8".to_owned()))?;
            match serde_json::from_str::<&RawValue>(&text) {
                Ok(_) => Ok(Self(text)),
                Err(error) => Err(bad(format!("the body is not JSON: {error}"))),
            }
        })
    }
}
