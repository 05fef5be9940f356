//! `traceparent`: the trace that a request belongs to. What is no trace is none; a request never fails because of it.

use std::convert::Infallible;
use std::future::{Ready, ready};

use actix_web::{FromRequest, HttpRequest, dev};

use crate::model::Trace;

/// The trace of a request, if it names one.
pub(super) struct TraceHeader(pub Option<Trace>);

impl FromRequest for TraceHeader {
    type Error = Infallible;
    type Future = Ready<Result<Self, Infallible>>;

    fn from_request(request: &HttpRequest, _: &mut dev::Payload) -> Self::Future {
        let mut values = request.headers().get_all("traceparent");
        // Two of them are none: nobody can say which is meant.
        let value = values.next().filter(|_| values.next().is_none());
        let trace = value.and_then(|value| value.to_str().ok()).and_then(Trace::parse);
        ready(Ok(Self(trace)))
    }
}
