//! Work for outside workers: claim entries of a `pull` task, report what became of them, ask for more time.

mod hand_out;
mod shapes;
mod spans;

use actix_web::http::StatusCode;
use actix_web::web::Data;

use crate::http::answer::{self, Answer};
use crate::http::body::Body;
use crate::http::claim_token;
use crate::http::fields::Fields;
use crate::http::path::{EntryId, TaskName};
use crate::http::problem::Problem;
use crate::http::state::ApiState;
use crate::model::State;
use crate::model::time;
use crate::store::Connection;
use crate::store::entries;
use crate::store::outside::{self, Report, Terms};
use crate::store::tasks::declared;

use super::entries::no_entry;
use hand_out::{Asked, Entries, no_source};
use shapes::{ClaimFields, CompleteFields, ExtendFields, Extended, FailFields, Reported};

/// Entries of one claim.
const MOST: i64 = 500;
/// Kept of what a worker says of a failure, in bytes.
const OF_FAILURE: usize = 16 * 1024;
/// Kept of what a worker says of a success, in bytes.
const OF_SUCCESS: usize = 1024;

/// Entries for a worker of your own, who has them until its lease ends; with `wait` as soon as there are some.
#[utoipa::path(
    post, path = "/tasks/{task}/claim", tag = "workers", operation_id = "claim", params(TaskName),
    request_body = Option<ClaimFields>,
    responses(
        (status = 200, body = Entries),
        (status = 404, description = "`task_not_found`"),
        (status = 409, description = "`not_a_pull_task`: nodes work it themselves. `source_not_known`: not at this node"),
        (status = 503, description = "`too_many_waiting`, `database_unavailable`"),
    ),
    security(("token" = ["admin"])),
)]
pub(super) async fn claim(state: Data<ApiState>, TaskName(task): TaskName, body: Body) -> Answer {
    let mut fields = body.object_or_nothing()?;
    let limit = fields.integer("limit", 1, MOST)?.unwrap_or(1);
    let (lease, wait) = (spans::lease(&mut fields)?, spans::wait(&mut fields)?);
    fields.finish()?;
    let asked = Asked { task, limit: usize::try_from(limit).unwrap_or(1), lease };
    let claimed = hand_out::claim(&state, &asked, wait).await?;
    let text = answer::text(&claimed.shown())?;
    claimed.arrived();
    Ok(answer::written(StatusCode::OK, text))
}

/// The work is done. The same again is answered the same.
#[utoipa::path(
    post, path = "/entries/{id}/complete", tag = "workers", operation_id = "complete", params(EntryId),
    request_body = CompleteFields,
    responses(
        (status = 200, body = Reported),
        (status = 404, description = "`entry_not_found`"),
        (status = 409, description = "`stale_claim`: somebody else has it, or it has ended. `source_not_known`"),
    ),
    security(("token" = ["admin"])),
)]
pub(super) async fn complete(state: Data<ApiState>, EntryId(id): EntryId, body: Body) -> Answer {
    let mut fields = body.object()?;
    let token = fields.required_text("token")?;
    let report = Report::Completed { output: result(&mut fields)?.map(|text| kept(&text, OF_SUCCESS)) };
    fields.finish()?;
    settle(state, id, token, report).await
}

/// It did not work: it is tried again, or has failed. The same again is answered the same.
#[utoipa::path(
    post, path = "/entries/{id}/fail", tag = "workers", operation_id = "fail", params(EntryId),
    request_body = FailFields,
    responses(
        (status = 200, body = Reported),
        (status = 404, description = "`entry_not_found`"),
        (status = 409, description = "`stale_claim`: somebody else has it, or it has ended. `source_not_known`"),
    ),
    security(("token" = ["admin"])),
)]
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

/// More time for what is claimed.
#[utoipa::path(
    post, path = "/entries/{id}/extend", tag = "workers", operation_id = "extend", params(EntryId),
    request_body = ExtendFields,
    responses(
        (status = 200, body = Extended),
        (status = 404, description = "`entry_not_found`"),
        (status = 409, description = "`stale_claim`: somebody else has it, or it has ended"),
    ),
    security(("token" = ["admin"])),
)]
pub(super) async fn extend(state: Data<ApiState>, EntryId(id): EntryId, body: Body) -> Answer {
    let mut fields = body.object()?;
    let token = fields.required_text("token")?;
    let lease = spans::lease(&mut fields)?;
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
    answer::ok(&Extended { id, lease_until: time::rfc3339(until.await?) })
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
            outside::Reported::Ended(state, retried_at) => Ok((state, retried_at)),
            outside::Reported::Stale(state) => Err(stale(id, state)),
            outside::Reported::Missing => Err(no_entry(id)),
            outside::Reported::NoSource => Err(no_source("of this entry")),
        }
    });
    let (ended, retried_at) = ended.await?;
    answer::ok(&Reported { id, state: ended, run_at: retried_at.map(time::rfc3339) })
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

/// `result`: a text as it is, anything else as JSON.
fn result(fields: &mut Fields<'_>) -> Result<Option<String>, Problem> {
    match fields.raw("result").map(|raw| raw.get()) {
        None | Some("null") => Ok(None),
        Some(text) if text.starts_with('"') => fields.text("result"),
        Some(other) => Ok(Some(other.to_owned())),
    }
}

/// At most `most` bytes of a text, fit for every database.
fn kept(text: &str, most: usize) -> String {
    let mut text = text.replace('\0', "\u{FFFD}");
    text.truncate(text.floor_char_boundary(most));
    text
}
