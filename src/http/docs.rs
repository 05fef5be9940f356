//! The document of the API over HTTP, and a page that shows it: for everybody, since they say nothing of this
//! installation that does not stand in the source, and a browser has no token when it opens a page.

use actix_web::http::{Method, StatusCode, header};
use actix_web::middleware::from_fn;
use actix_web::{HttpRequest, HttpResponse, web};

use super::answer::{self, Answer};
use super::api::document;
use super::metrics;
use super::route::{open, place};

/// Nothing but what comes from here, and nothing inline.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";

/// The routes, to be configured before those that ask for a token.
pub(super) fn routes(service: &mut web::ServiceConfig) {
    let routes = [
        ("/api/v1/openapi.json", open(Method::GET, openapi)),
        ("/api/v1/docs", open(Method::GET, page)),
        ("/api/v1/docs.css", open(Method::GET, style)),
        ("/api/v1/docs.js", open(Method::GET, script)),
    ];
    for (path, verb) in routes {
        service.service(place(path, [verb]).resource().wrap(from_fn(metrics::count)));
    }
}

/// The document as it is kept in `docs/openapi.json`.
pub fn openapi_json() -> String {
    let mut text = serde_json::to_string_pretty(&document::document("/api/v1")).unwrap_or_default();
    text.push('\n');
    text
}

async fn openapi(request: HttpRequest) -> Answer {
    // The path under which a proxy shows the node, or an application that holds it, is part of the address.
    answer::ok(&document::document(request.path().trim_end_matches("/openapi.json")))
}

async fn page() -> HttpResponse {
    text("text/html; charset=utf-8", include_str!("docs/page.html"))
}

async fn style() -> HttpResponse {
    text("text/css; charset=utf-8", include_str!("docs/page.css"))
}

async fn script() -> HttpResponse {
    text("text/javascript; charset=utf-8", include_str!("docs/page.js"))
}

fn text(kind: &'static str, text: &'static str) -> HttpResponse {
    HttpResponse::build(StatusCode::OK)
        .insert_header((header::CONTENT_TYPE, kind))
        .insert_header((header::CONTENT_SECURITY_POLICY, POLICY))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .insert_header((header::REFERRER_POLICY, "no-referrer"))
        .insert_header((header::CACHE_CONTROL, "no-cache"))
        .body(text)
}
