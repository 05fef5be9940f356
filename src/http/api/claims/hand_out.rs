//! Handing entries out: claim them, wait for some where there are none, hand them back if the client has gone away.

use std::slice;
use std::time::Duration;

use actix_web::web::Data;
use serde::Serialize;
use tokio::time::Instant;
use utoipa::ToSchema;

use crate::handler::trace_of;
use crate::http::claim_token;
use crate::http::problem::Problem;
use crate::http::state::ApiState;
use crate::model::Entry;
use crate::model::time::{self, Micros};
use crate::store::Connection;
use crate::store::claim::ClaimRequest;
use crate::store::entries::{self, EntryShape};
use crate::store::outside::{self, Claim};
use crate::store::tasks::declared;

use crate::http::api::tasks::no_task;

/// What a client asks for.
#[derive(Clone)]
pub(super) struct Asked {
    pub task: String,
    pub limit: usize,
    pub lease: Micros,
}

/// An entry that was claimed by an outside worker.
#[derive(Serialize, ToSchema)]
#[schema(as = ClaimedEntry)]
struct Handed {
    #[serde(flatten)]
    entry: EntryShape,
    /// For what the worker says of it.
    token: String,
    /// When the claim ends, unless it is extended.
    #[schema(format = DateTime)]
    lease_until: String,
    /// The trace to go on with, as a web hook gets it.
    traceparent: String,
}

/// The answer to a claim.
#[derive(Serialize, ToSchema)]
#[schema(as = Claimed)]
pub(super) struct Entries<'a> {
    entries: &'a [Handed],
}

/// Entries that are claimed, on their way to a client: they go back when this is dropped before they have arrived.
pub(super) struct HandOut {
    state: Data<ApiState>,
    claims: Vec<Claim>,
    entries: Vec<Handed>,
}

impl HandOut {
    /// As the client gets it.
    pub(super) fn shown(&self) -> Entries<'_> {
        Entries { entries: &self.entries }
    }

    /// They are the client's.
    pub(super) fn arrived(mut self) {
        self.claims.clear();
    }
}

impl Drop for HandOut {
    fn drop(&mut self) {
        if self.claims.is_empty() {
            return;
        }
        let (state, claims) = (self.state.clone(), std::mem::take(&mut self.claims));
        let hand_back = move || {
            let done = state.store.read().and_then(|mut connection| outside::hand_back(&mut connection, &claims));
            match done {
                Ok(()) => (state.wake)(),
                Err(error) => tracing::warn!(%error, "claims of a client that is gone stay until their lease ends"),
            }
        };
        // Whoever drops this may be a thread that must not block.
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(hand_back)),
            Err(_) => hand_back(),
        }
    }
}

/// Claims what is due; where nothing is, what becomes due within `wait`.
pub(super) async fn claim(state: &Data<ApiState>, asked: &Asked, wait: Duration) -> Result<HandOut, Problem> {
    state.waiting.open()?;
    let until = Instant::now() + wait;
    let mut out = claim_now(state, asked).await?;
    if wait.is_zero() || !out.entries.is_empty() {
        return Ok(out);
    }
    let mut place = state.waiting.enter(state, &asked.task)?;
    while let Some(turn) = place.turn(until).await? {
        out = claim_now(state, asked).await?;
        if !out.entries.is_empty() {
            break;
        }
        turn.found_nothing();
    }
    Ok(out)
}

async fn claim_now(state: &Data<ApiState>, asked: &Asked) -> Result<HandOut, Problem> {
    let (shared, asked) = (state.clone(), asked.clone());
    let claim = move |connection: &mut Connection| {
        let request = request(connection, &shared, &asked)?;
        let claimed = outside::claim(connection, &request, asked.lease)?;
        let claims = claimed.iter().map(Claim::from).collect();
        let mut out = HandOut { state: shared, claims, entries: Vec::new() };
        out.entries = shown(connection, claimed, asked.lease)?;
        Ok(out)
    };
    state.database(claim).await
}

/// What the claim is to take, by what nodes declare at this moment.
fn request(connection: &mut Connection, state: &ApiState, asked: &Asked) -> Result<ClaimRequest, Problem> {
    let declared = declared::living(connection)?;
    let task = asked.task.clone();
    let Some(known) = declared.tasks.get(&task) else { return Err(no_task(&declared, &task)) };
    if known.handler != "pull" {
        let detail =
            format!("nodes work {task:?} themselves ({}): only a task with pull = true is handed out", known.handler);
        return Err(Problem::conflict("not_a_pull_task", detail));
    }
    let source = (state.sources)(&task);
    if known.source && source.is_none() {
        return Err(no_source(&task));
    }
    Ok(ClaimRequest {
        limit: asked.limit,
        max_attempts: known.max_attempts,
        free_key: known.frees_key_at_start,
        at_most_once: known.at_most_once,
        source,
        task,
    })
}

/// This node cannot read or mark rows of the task.
pub(super) fn no_source(task: &str) -> Problem {
    let detail = format!("this node does not know the source of the task {task}: ask a node that declares it");
    Problem::conflict("source_not_known", detail)
}

/// Each entry with its token and the end of its claim.
fn shown(connection: &mut Connection, claimed: Vec<Entry>, lease: Micros) -> Result<Vec<Handed>, Problem> {
    if claimed.is_empty() {
        return Ok(Vec::new());
    }
    let installation = entries::installation(connection)?;
    let ids: Vec<_> = claimed.iter().map(|entry| entry.id).collect();
    let mut shapes = entries::of_ids(connection, &ids)?;
    let mut shown = Vec::with_capacity(claimed.len());
    for entry in claimed {
        // Gone only if somebody cancelled and deleted it since.
        let Some(position) = shapes.iter().position(|shape| shape.id == entry.id) else { continue };
        let traceparent = trace_of(slice::from_ref(&entry)).to_string();
        let mut shape = shapes.swap_remove(position);
        shape.payload = Some(entry.payload);
        shown.push(Handed {
            token: claim_token::seal(&installation, entry.id, entry.claim),
            lease_until: time::rfc3339(entry.started_at.saturating_add(lease)),
            traceparent,
            entry: shape,
        });
    }
    Ok(shown)
}
