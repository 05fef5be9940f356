//! The state of the whole, and the nodes.

use std::time::Duration;

use actix_web::HttpRequest;
use actix_web::http::StatusCode;
use actix_web::web::Data;

use crate::http::answer::{self, Answer};
use crate::http::cursor;
use crate::http::query::{PartOfList, Query};
use crate::http::state::ApiState;
use crate::model::time::{Micros, SECOND};
use crate::store::entries::Page;
use crate::store::status::Status;
use crate::store::{Connection, node_list, nodes};

/// How long a node that is gone is still listed.
const REMEMBERED: Micros = 86_400 * SECOND;

/// How old a status may be.
const OLDEST: Duration = Duration::from_secs(1);

/// What is wrong, who leads, how nodes and tasks stand.
#[utoipa::path(
    get, path = "/status", tag = "status", operation_id = "show_status",
    responses((status = 200, body = Status)),
    security(("token" = ["read"])),
)]
pub(super) async fn show(state: Data<ApiState>, request: HttpRequest) -> Answer {
    Query::read(&request, &[])?;
    let snapshot = state.watch.snapshots.get(OLDEST).await;
    Ok(answer::written(StatusCode::OK, snapshot.json().map_err(Clone::clone)?))
}

/// Nodes that live and those of the last day, newest incarnation first.
#[utoipa::path(
    get, path = "/nodes", tag = "status", operation_id = "list_nodes", params(PartOfList),
    responses((status = 200, body = Page<node_list::NodeShape>)),
    security(("token" = ["read"])),
)]
pub(super) async fn nodes(state: Data<ApiState>, request: HttpRequest) -> Answer {
    let query = Query::read(&request, &["limit", "cursor"])?;
    let (limit, below) = (query.limit()?, cursor::id(&query)?);
    let page = move |connection: &mut Connection| {
        let now = nodes::clock(connection)?;
        Ok(node_list::page(connection, now - REMEMBERED, now, below.unwrap_or(i64::MAX), limit + 1)?)
    };
    let mut items = state.database(page).await?;
    let goes_on = items.len() > limit;
    items.truncate(limit);
    let next_cursor = items.last().filter(|_| goes_on).map(|node| cursor::after(&node.id.to_string()));
    answer::ok(&Page { items, next_cursor })
}
