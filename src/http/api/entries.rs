//! Entries: accept, look, retry, cancel, run now, delete.

use actix_web::http::StatusCode;
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use serde::Serialize;
use utoipa::{IntoParams, ToSchema};

use crate::error::Error;
use crate::http::answer::{self, Answer};
use crate::http::body::Body;
use crate::http::cursor;
use crate::http::idempotency::{Idempotency, Key};
use crate::http::path::EntryId;
use crate::http::problem::Problem;
use crate::http::query::{PartOfList, Query};
use crate::http::state::ApiState;
use crate::http::tokens::Caller;
use crate::http::trace_header::TraceHeader;
use crate::model::State;
use crate::store::Connection;
use crate::store::entries::{self, Action, EntryShape, Page};

use super::filter;
use super::new_entry::{self, NewEntries};

/// Accepted entries.
#[derive(Serialize, ToSchema)]
#[schema(as = Entries)]
struct Items {
    items: Vec<EntryShape>,
}

/// What is accepted: the entry, or all in the order in which they were sent.
#[derive(ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "what `create` answers, for the document")]
enum Accepted {
    One(Box<EntryShape>),
    Many(Items),
}

/// Which entries a list is to hold.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "what `filter` reads, for the document")]
struct Meant {
    /// Of this task; empty as if left out.
    #[param(required = false, pattern = "^[A-Za-z0-9_.-]{0,100}$")]
    task: String,
    /// In this state.
    #[param(required = false, inline)]
    state: State,
    /// With this key.
    #[param(required = false, max_length = 255)]
    key: String,
    /// Whose last error holds this text.
    #[param(required = false, max_length = 1000)]
    error: String,
    /// Made by this schedule; empty as if left out.
    #[param(required = false, pattern = "^[A-Za-z0-9_.-]{0,100}$")]
    schedule: String,
    /// Final, or else accepted, no later than this instant.
    #[param(required = false)]
    before: String,
    /// Final, or else accepted, longer ago than this, such as `7d`.
    #[param(required = false)]
    older_than: String,
}

/// Accepts one entry or an array of them, all or nothing.
#[utoipa::path(
    post, path = "/entries", tag = "entries", operation_id = "create_entries", params(Key), request_body = NewEntries,
    responses(
        (status = 201, body = Accepted),
        (status = 409, description = "`key_held`: by the entry `entry_id`"),
        (status = 422, description = "`task_not_declared` by any living node. `idempotency_key_reused`"),
    ),
    security(("token" = ["trigger"])),
)]
pub(super) async fn create(
    state: Data<ApiState>,
    caller: Caller,
    idempotency: Idempotency,
    TraceHeader(trace): TraceHeader,
    body: Body,
) -> Answer {
    let many = body.is_array();
    let mut new = new_entry::read(&body)?;
    new.iter_mut().for_each(|entry| entry.trace = trace);
    let visible = state.shows_payload(&caller);
    let create = move |connection: &mut Connection| {
        let mut accepted = new_entry::accept(connection, &new)?;
        accepted.iter_mut().for_each(|entry| veil(entry, visible));
        match accepted.pop() {
            Some(entry) if !many => answer::text(&entry),
            last => {
                accepted.extend(last);
                answer::text(&Items { items: accepted })
            }
        }
    };
    state.once(idempotency, &body, StatusCode::CREATED, create).await
}

/// Entries, newest first.
#[utoipa::path(
    get, path = "/entries", tag = "entries", operation_id = "list_entries", params(Meant, PartOfList),
    responses((status = 200, body = Page<EntryShape>)),
    security(("token" = ["read"])),
)]
pub(super) async fn list(state: Data<ApiState>, caller: Caller, request: HttpRequest) -> Answer {
    let query = Query::read(&request, &[&filter::NAMES[..], &["limit", "cursor"]].concat())?;
    let filter = filter::of_query(&query)?;
    let limit = query.limit()?;
    let after = cursor::id(&query)?.map(|id| id.to_string());
    let mut page =
        state.database(move |connection| Ok(entries::list(connection, &filter, limit, after.as_deref())?)).await?;
    let visible = state.shows_payload(&caller);
    page.items.iter_mut().for_each(|entry| veil(entry, visible));
    page.next_cursor = page.next_cursor.as_deref().map(cursor::after);
    answer::ok(&page)
}

/// One entry, with what was tried.
#[utoipa::path(
    get, path = "/entries/{id}", tag = "entries", operation_id = "show_entry", params(EntryId),
    responses((status = 200, body = EntryShape), (status = 404, description = "`entry_not_found`")),
    security(("token" = ["read"])),
)]
pub(super) async fn show(state: Data<ApiState>, caller: Caller, EntryId(id): EntryId, request: HttpRequest) -> Answer {
    Query::read(&request, &[])?;
    let entry = state.database(move |connection| get(connection, id)).await?;
    shown(&state, &caller, entry)
}

/// A failed or cancelled entry back to pending, with its task's attempts once more.
#[utoipa::path(
    post, path = "/entries/{id}/retry", tag = "entries", operation_id = "retry_entry", params(EntryId),
    responses(
        (status = 200, body = EntryShape),
        (status = 404, description = "`entry_not_found`"),
        (status = 409, description = "`wrong_state`. `key_held`: by the entry `entry_id`"),
    ),
    security(("token" = ["admin"])),
)]
pub(super) async fn retry(state: Data<ApiState>, caller: Caller, EntryId(id): EntryId, body: Body) -> Answer {
    change(state, caller, id, body, Action::Retry).await
}

/// A pending or running entry is cancelled; whoever runs it can no longer write its end.
#[utoipa::path(
    post, path = "/entries/{id}/cancel", tag = "entries", operation_id = "cancel_entry", params(EntryId),
    responses(
        (status = 200, body = EntryShape),
        (status = 404, description = "`entry_not_found`"),
        (status = 409, description = "`wrong_state`"),
    ),
    security(("token" = ["admin"])),
)]
pub(super) async fn cancel(state: Data<ApiState>, caller: Caller, EntryId(id): EntryId, body: Body) -> Answer {
    change(state, caller, id, body, Action::Cancel).await
}

/// A pending entry is due now.
#[utoipa::path(
    post, path = "/entries/{id}/run-now", tag = "entries", operation_id = "run_entry_now", params(EntryId),
    responses(
        (status = 200, body = EntryShape),
        (status = 404, description = "`entry_not_found`"),
        (status = 409, description = "`wrong_state`"),
    ),
    security(("token" = ["admin"])),
)]
pub(super) async fn run_now(state: Data<ApiState>, caller: Caller, EntryId(id): EntryId, body: Body) -> Answer {
    change(state, caller, id, body, Action::RunNow).await
}

/// Deletes an entry that does not run, with its attempts.
#[utoipa::path(
    delete, path = "/entries/{id}", tag = "entries", operation_id = "delete_entry", params(EntryId),
    responses(
        (status = 204),
        (status = 404, description = "`entry_not_found`"),
        (status = 409, description = "`wrong_state`: it runs"),
    ),
    security(("token" = ["admin"])),
)]
pub(super) async fn delete(
    state: Data<ApiState>,
    caller: Caller,
    EntryId(id): EntryId,
    request: HttpRequest,
) -> Answer {
    Query::read(&request, &[])?;
    let delete = move |connection: &mut Connection| entries::delete(connection, id, &caller.by());
    state.write(move |connection| delete(connection).map_err(|error| refused(id, error))).await?;
    answer::no_content()
}

async fn change(state: Data<ApiState>, caller: Caller, id: i64, body: Body, action: Action) -> Answer {
    body.object_or_nothing()?.finish()?;
    let by = caller.by();
    let done = state.write(move |connection| {
        connection
            .transaction(|connection| {
                entries::act(connection, action, id, &by)?;
                entries::get(connection, id)
            })
            .map_err(|error| refused(id, error))
    });
    match done.await? {
        Some(entry) => shown(&state, &caller, entry),
        None => Err(no_entry(id)),
    }
}

/// What a refused action means.
fn refused(id: i64, error: Error) -> Problem {
    match error.entry_id() {
        _ if error.is_not_found() => no_entry(id),
        Some(holder) if holder != id => Problem::conflict("key_held", error).with("entry_id", holder),
        Some(_) => Problem::conflict("wrong_state", error).with("entry_id", id),
        None => error.into(),
    }
}

/// The entry, or the problem that there is none.
pub(super) fn get(connection: &mut Connection, id: i64) -> Result<EntryShape, Problem> {
    entries::get(connection, id)?.ok_or_else(|| no_entry(id))
}

/// No entry has this id.
pub(super) fn no_entry(id: i64) -> Problem {
    Problem::not_found("entry_not_found", format!("there is no entry {id}"))
}

/// 200 with an entry, as this caller may see it.
pub(super) fn shown(state: &ApiState, caller: &Caller, mut entry: EntryShape) -> Result<HttpResponse, Problem> {
    veil(&mut entry, state.shows_payload(caller));
    answer::ok(&entry)
}

fn veil(entry: &mut EntryShape, visible: bool) {
    if !visible {
        entry.payload = None;
    }
}
