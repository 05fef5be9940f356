//! The OpenAPI document of the API: made of what stands beside each handler, and of what holds for all of them.
//!
//! A route that is new in `api` is named here, and its handler is annotated like the others.

mod everywhere;

use utoipa::OpenApi;
use utoipa::openapi::{OpenApi as Document, Server};

use super::{audit, bulk, claims, entries, firings, schedules, status, tasks};
use crate::http::events;
use crate::http::problem::ProblemDocument;
use everywhere::Everywhere;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Soloist",
        version = "1",
        description = "The admin API of a node of Soloist. Errors are problem documents (RFC 9457) with a stable \
                       `code`. Lists go on at `next_cursor`. Times are RFC 3339 in UTC.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0"),
    ),
    paths(
        status::show,
        status::nodes,
        audit::list,
        events::open,
        entries::list,
        entries::create,
        bulk::apply,
        entries::show,
        entries::delete,
        entries::retry,
        entries::cancel,
        entries::run_now,
        tasks::list,
        tasks::show,
        tasks::trigger,
        tasks::pause,
        tasks::resume,
        tasks::probe,
        schedules::list,
        schedules::create,
        schedules::show,
        schedules::change,
        schedules::remove,
        schedules::pause,
        schedules::resume,
        schedules::fire,
        firings::list,
        claims::claim,
        claims::complete,
        claims::fail,
        claims::extend,
    ),
    components(schemas(ProblemDocument)),
    modifiers(&Everywhere),
)]
struct Api;

/// The document, for an API that is to be found at `base`.
pub(in crate::http) fn document(base: &str) -> Document {
    let mut document = Api::openapi();
    document.servers = Some(vec![Server::new(base)]);
    document
}
