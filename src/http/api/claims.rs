//! Work for outside workers: claim entries of a `pull` task, report what became of them, ask for more time.

use std::time::Duration;

use actix_web::web::Data;
use serde::Serialize;
use serde_json::{Value, json};

use crate::config::duration;
use crate::http::answer::{self, Answer};
use crate::http::body::Body;
use crate::http::claim_token;
use crate::http::fields::{Fields, invalid};
use crate::http::path::{EntryId, TaskName};
use crate::http::problem::Problem;
use crate::http::state::ApiState;
use crate::model::State;
use crate::model::time::{self, Micros};
use crate::store::Connection;
use crate::store::claim::ClaimRequest;
use crate::store::entries::{self, EntryShape, Filter, LONGEST_PAGE};
use crate::store::outside::{self, Report, Reported, Terms};
use crate::store::tasks::declared;

use super::entries::no_entry;
use super::tasks::no_task;

/// Entries of one claim.
const MOST: i64 = 500;
/// The lease of a claim that asks for none.
const USUAL_LEASE: Duration = Duration::from_secs(60);
const SHORTEST_LEASE: Duration = Duration::from_secs(1);
const LONGEST_LEASE: Duration = Duration::from_secs(7 * 86_400);
/// Kept of what a worker says of a failure, in bytes.
const OF_FAILURE: usize = 16 * 1024;
/// Kept of what a worker says of a success, in bytes.
const OF_SUCCESS: usize = 1024;

/// An entry that was claimed by an outside worker.
#[derive(Serialize)]
struct Handed {
    #[serde(flatten)]
    entry: EntryShape,
    token: String,
    lease_until: String,
}

#[derive(Serialize)]
struct Entries {
    entries: Vec<Handed>,
}

/// `POST /tasks/{task}/claim`
pub(super) async fn claim(state: Data<ApiState>, TaskName(task): TaskName, body: Body) -> Answer {
    let mut fields = body.object_or_nothing()?;
    let limit = fields.integer("limit", 1, MOST)?.unwrap_or(1);
    let lease = lease(&mut fields)?;
    if fields.raw("wait").is_some() {
        return Err(invalid("wait", "is not supported yet: leave it out and ask again later"));
    }
    fields.finish()?;
    let sources = state.sources.clone();
    let claimed = state.database(move |connection| {
        let declared = declared::living(connection)?;
        let Some(known) = declared.tasks.get(&task) else { return Err(no_task(&declared, &task)) };
        if known.handler != "pull" {
            let detail = format!(
                "nodes work {task:?} themselves ({}): only a task with pull = true is handed out",
                known.handler
            );
            return Err(Problem::conflict("not_a_pull_task", detail));
        }
        let source = sources(&task);
        if known.source && source.is_none() {
            return Err(no_source(&task));
        }
        let request = ClaimRequest {
            limit: usize::try_from(limit).unwrap_or(1),
            max_attempts: known.max_attempts,
            free_key: known.frees_key_at_start,
            at_most_once: known.at_most_once,
            source,
            task,
        };
        handed_out(connection, &request, lease)
    });
    let entries = claimed.await?;
    answer::ok(&Entries { entries })
}

/// Claims, and shows each entry with its token and the end of its claim.
fn handed_out(connection: &mut Connection, request: &ClaimRequest, lease: Micros) -> Result<Vec<Handed>, Problem> {
    let claimed = outside::claim(connection, request, lease)?;
    let installation = entries::installation(connection)?;
    let ids: Vec<_> = claimed.iter().map(|entry| entry.id).collect();
    let mut shapes = entries::list(connection, &Filter::ids(ids), LONGEST_PAGE, None)?.items;
    let mut shown = Vec::with_capacity(claimed.len());
    for entry in claimed {
        // Gone only if somebody cancelled and deleted it since.
        let Some(position) = shapes.iter().position(|shape| shape.id == entry.id) else { continue };
        let mut shape = shapes.swap_remove(position);
        shape.payload = Some(entry.payload);
        shown.push(Handed {
            token: claim_token::seal(&installation, entry.id, entry.claim),
            lease_until: time::rfc3339(entry.started_at.saturating_add(lease)),
            entry: shape,
        });
    }
    Ok(shown)
}

/// `POST /entries/{id}/complete`
pub(super) async fn complete(state: Data<ApiState>, EntryId(id): EntryId, body: Body) -> Answer {
    let mut fields = body.object()?;
    let token = fields.required_text("token")?;
    let report = Report::Completed { output: fields.text("output")?.map(|text| kept(&text, OF_SUCCESS)) };
    fields.finish()?;
    settle(state, id, token, report).await
}

/// `POST /entries/{id}/fail`
pub(super) async fn fail(state: Data<ApiState>, EntryId(id): EntryId, body: Body) -> Answer {
    let mut fields = body.object()?;
    let token = fields.required_text("token")?;
    let error = fields.text("error")?.filter(|error| !error.trim().is_empty());
    let report = Report::Failed {
        error: kept(error.as_deref().unwrap_or("the outside worker gave no reason"), OF_FAILURE),
        output: fields.text("output")?.map(|text| kept(&text, OF_FAILURE)),
        retry: fields.boolean("retry")?.unwrap_or(true),
    };
    fields.finish()?;
    settle(state, id, token, report).await
}

/// `POST /entries/{id}/extend`
pub(super) async fn extend(state: Data<ApiState>, EntryId(id): EntryId, body: Body) -> Answer {
    let mut fields = body.object()?;
    let token = fields.required_text("token")?;
    let lease = lease(&mut fields)?;
    fields.finish()?;
    let until = state.database(move |connection| {
        let claim = opened(connection, id, &token)?;
        match outside::extend(connection, id, claim, lease)? {
            Some(until) => Ok(until),
            None => Err(match entries::get(connection, id)? {
                Some(entry) => stale(id, entry.state),
                None => no_entry(id),
            }),
        }
    });
    answer::ok(&json!({ "id": id, "lease_until": time::rfc3339(until.await?) }))
}

async fn settle(state: Data<ApiState>, id: i64, token: String, report: Report) -> Answer {
    let sources = state.sources.clone();
    let ended = state.write(move |connection| {
        let claim = opened(connection, id, &token)?;
        let reported = outside::report(connection, id, claim, &report, |connection, task| {
            let declared = declared::living(connection)?;
            let known = declared.tasks.get(task);
            Ok(Terms {
                max_attempts: declared.max_attempts(task),
                backoff: known.map(|known| known.backoff.into()).unwrap_or_default(),
                drop_completed: known.is_some_and(|known| known.drops_completed),
                drop_failed: known.is_some_and(|known| known.drops_failed),
                source: sources(task),
            })
        })?;
        match reported {
            Reported::Written | Reported::Repeated => {}
            Reported::Stale(state) => return Err(stale(id, state)),
            Reported::Missing => return Err(no_entry(id)),
            Reported::NoSource => return Err(no_source("of this entry")),
        }
        // A task may keep nothing of an entry after its end.
        let entry = entries::get(connection, id)?.map(|entry| (entry.state, entry.run_at));
        let fallback = match report {
            Report::Completed { .. } => State::Completed,
            Report::Failed { .. } => State::Failed,
        };
        Ok(entry.unwrap_or((fallback, 0)))
    });
    let (ended, run_at) = ended.await?;
    let retried_at = (ended == State::Pending).then(|| time::rfc3339(run_at));
    answer::ok(&json!({ "id": id, "state": ended, "run_at": retried_at }))
}

/// The claim number that a token stands for.
fn opened(connection: &mut Connection, id: i64, token: &str) -> Result<i64, Problem> {
    let installation = entries::installation(connection)?;
    claim_token::open(&installation, id, token).ok_or_else(|| {
        Problem::conflict("stale_claim", format!("the token is not that of a claim on entry {id}")).with("entry_id", id)
    })
}

fn stale(id: i64, state: State) -> Problem {
    let detail = format!(
        "the claim on entry {id} no longer stands, nothing was changed; the entry is {}: drop this piece of work",
        state.word()
    );
    Problem::conflict("stale_claim", detail).with("entry_id", id)
}

fn no_source(task: &str) -> Problem {
    let detail = format!("this node does not know the source of the task {task}: ask a node that declares it");
    Problem::conflict("source_not_known", detail)
}

/// `lease`: a duration, or a number of seconds.
fn lease(fields: &mut Fields<'_>) -> Result<Micros, Problem> {
    let Some(raw) = fields.raw("lease").filter(|raw| raw.get() != "null") else {
        return Ok(time::micros(USUAL_LEASE));
    };
    let path = fields.path("lease");
    let span = match serde_json::from_str::<Value>(raw.get()) {
        Ok(Value::String(text)) => {
            let wrong = |why| invalid(&path, format!("{text:?} {why}: {}", duration::FORM));
            duration::parse(&text).map_err(wrong)?
        }
        Ok(Value::Number(number)) if number.as_f64().is_some_and(|seconds| (0.0..1e9).contains(&seconds)) => {
            Duration::from_secs_f64(number.as_f64().unwrap_or_default())
        }
        _ => return Err(invalid(&path, "must be a duration such as \"30s\", or a number of seconds")),
    };
    if !(SHORTEST_LEASE..=LONGEST_LEASE).contains(&span) {
        return Err(invalid(
            &path,
            format!("must be from {} to {}", duration::format(SHORTEST_LEASE), duration::format(LONGEST_LEASE)),
        ));
    }
    Ok(time::micros(span))
}

/// At most `most` bytes of a text, fit for every database.
fn kept(text: &str, most: usize) -> String {
    let mut text = text.replace('\0', "\u{FFFD}");
    text.truncate(text.floor_char_boundary(most));
    text
}
