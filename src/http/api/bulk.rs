//! One action on many entries: `POST /entries/bulk`.

use actix_web::web::Data;
use utoipa::ToSchema;

use crate::http::answer::{self, Answer};
use crate::http::body::Body;
use crate::http::fields::{Fields, invalid};
use crate::http::problem::Problem;
use crate::http::query::nearest;
use crate::http::state::ApiState;
use crate::http::tokens::Caller;
use crate::model::State;
use crate::store::entries::{Action, Bulk, BulkRun, Filter};

use super::filter;

/// What may be done to many.
const ACTIONS: [Action; 3] = [Action::Retry, Action::Cancel, Action::Delete];

/// The most ids of one request.
const MOST_IDS: usize = 10_000;

/// What is to be done to which entries; what is left out does not matter.
#[derive(ToSchema)]
#[expect(dead_code, reason = "what `apply` reads, for the document")]
pub(super) struct BulkAction {
    #[schema(pattern = "^(retry|cancel|delete)$")]
    action: String,
    /// Only these.
    #[schema(required = false, min_items = 1, max_items = 10_000)]
    ids: Option<Vec<i64>>,
    task: Option<String>,
    state: Option<State>,
    key: Option<String>,
    /// Whose last error holds this text.
    error: Option<String>,
    schedule: Option<String>,
    /// Final, or else accepted, no later than this instant: that of a dry run.
    before: Option<String>,
    /// Final, or else accepted, longer ago than this, such as `7d`.
    older_than: Option<String>,
    /// Only counts.
    dry_run: Option<bool>,
}

/// One action on many entries, in steps; it goes on to its end once it has begun.
#[utoipa::path(
    post, path = "/entries/bulk", tag = "entries", operation_id = "change_entries", request_body = BulkAction,
    responses(
        (status = 200, body = Bulk),
        (status = 422, description = "`action_fits_no_state`"),
    ),
    security(("token" = ["admin"])),
)]
pub(super) async fn apply(state: Data<ApiState>, caller: Caller, body: Body) -> Answer {
    let mut fields = body.object()?;
    let action = action(&mut fields)?;
    let ids = ids(&mut fields)?;
    let filter = Filter { ids, ..filter::of_fields(&mut fields)? };
    let dry_run = fields.boolean("dry_run")?.unwrap_or_default();
    fields.finish()?;
    filter.check_for(action).map_err(|error| match filter.is_everything() {
        true => Problem::bad_request("empty_filter", error),
        false => Problem::unprocessable("action_fits_no_state", error).with("field", "state"),
    })?;
    let begin =
        state.database(move |connection| Ok(BulkRun::begin(connection, action, &filter, dry_run, &caller.by())?));
    let run = begin.await?;
    let run = actix_web::rt::spawn(async move { through(&state, run, dry_run).await });
    let done =
        run.await.map_err(|_| Problem::internal("the action was cut short; the audit log tells how far it came"))?;
    answer::ok(&done?)
}

/// Takes one step after the other, each on a connection that others may have in between.
async fn through(state: &ApiState, mut run: BulkRun, dry_run: bool) -> Result<Bulk, Problem> {
    loop {
        let so_far = run.so_far().clone();
        let step = state.database(move |connection| {
            let more = run.step(connection)?;
            Ok((run, more))
        });
        let (back, more) = step.await.map_err(|problem| half_way(problem, &so_far))?;
        if !dry_run && back.so_far().changed > so_far.changed {
            (state.wake)();
        }
        if !more {
            return Ok(back.so_far().clone());
        }
        run = back;
    }
}

/// What was changed before it failed stays changed: the answer says how much that is.
fn half_way(problem: Problem, so_far: &Bulk) -> Problem {
    let Bulk { matched, changed, left_out, .. } = *so_far;
    if changed == 0 {
        return problem;
    }
    problem.with("matched", matched).with("changed", changed).with("left_out", left_out)
}

fn action(fields: &mut Fields<'_>) -> Result<Action, Problem> {
    let word = fields.required_text("action")?;
    let known = ACTIONS.iter().find(|action| action.word() == word).copied();
    let words = ACTIONS.map(Action::word);
    known.ok_or_else(|| invalid("action", format!("has no value {word:?}{}", nearest(&word, &words))))
}

fn ids(fields: &mut Fields<'_>) -> Result<Option<Vec<i64>>, Problem> {
    let ids = fields.integers("ids")?;
    match &ids {
        Some(ids) if ids.is_empty() || ids.len() > MOST_IDS => {
            Err(invalid("ids", format!("must hold 1 to {MOST_IDS} ids, not {}", ids.len())))
        }
        _ => Ok(ids),
    }
}
