//! New entries: from the fields of a body to rows, all or nothing.

use actix_web::http::StatusCode;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::error::Error;
use crate::http::body::{Body, PAYLOAD};
use crate::http::fields::Fields;
use crate::http::problem::Problem;
use crate::model::State;
use crate::model::new_entry::{FieldError, NewEntry, RunAt};
use crate::store::Connection;
use crate::store::entries::{self, EntryShape, LONGEST_PAGE};
use crate::store::nodes;
use crate::store::tasks::declared::{self, Declared};

/// The most entries of one request.
const MOST: usize = 10_000;

/// One entry, or 1 to 10,000 that are accepted together or not at all.
#[derive(ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "what `read` reads, for the document")]
pub(super) enum NewEntries {
    One(NewEntryFields),
    Many(Vec<NewEntryFields>),
}

/// An entry to be accepted.
#[derive(ToSchema)]
#[schema(as = NewEntry)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "what `one` reads, for the document")]
pub(super) struct NewEntryFields {
    /// The task that is to work it: one that a living node declares.
    #[schema(pattern = "^[A-Za-z0-9_.-]{1,100}$")]
    task: String,
    /// Any JSON, to 8 MiB, handed on digit for digit.
    #[schema(value_type = Value, required = false)]
    payload: (),
    /// Unique per task among entries that are not final.
    #[schema(max_length = 255)]
    key: Option<String>,
    /// Not before this instant.
    #[schema(format = DateTime)]
    run_at: Option<String>,
    /// Lower first.
    #[schema(minimum = -9, maximum = 9, default = 0)]
    priority: Option<i32>,
}

/// What an entry that is triggered may hold; nothing of it for a task with a source.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "what `work` reads, for the document")]
pub(super) struct Work {
    /// Any JSON, to 8 MiB, handed on digit for digit.
    #[schema(value_type = Value, required = false)]
    payload: (),
    /// Unique per task among entries that are not final.
    #[schema(max_length = 255)]
    key: Option<String>,
    /// Not before this instant.
    #[schema(format = DateTime)]
    run_at: Option<String>,
    /// Lower first.
    #[schema(minimum = -9, maximum = 9, default = 0)]
    priority: Option<i32>,
}

/// The entries that a body asks for.
pub(super) fn read(body: &Body) -> Result<Vec<NewEntry>, Problem> {
    if !body.is_array() {
        return Ok(vec![one(body.object()?)?]);
    }
    let mut entries = Vec::new();
    for fields in body.objects()? {
        if entries.len() == MOST {
            let detail = format!("the array has more than {MOST} entries: send it in parts");
            return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", detail));
        }
        entries.push(one(fields?)?);
    }
    if entries.is_empty() {
        return Err(Problem::bad_request("bad_json", "the array is empty: at least one entry is expected"));
    }
    Ok(entries)
}

fn one(mut fields: Fields<'_>) -> Result<NewEntry, Problem> {
    let task = fields.required_text("task")?;
    work(fields, task)
}

/// The entry of a task whose name stands elsewhere.
pub(super) fn work(mut fields: Fields<'_>, task: String) -> Result<NewEntry, Problem> {
    let payload = fields.raw("payload").map_or("null", |raw| raw.get());
    if payload.len() > PAYLOAD {
        let path = fields.path("payload");
        let detail = format!("{path} has {} bytes: at most {PAYLOAD} are taken", payload.len());
        return Err(Problem::field(StatusCode::PAYLOAD_TOO_LARGE, "too_large", &path, detail));
    }
    let mut entry = NewEntry::new(task, payload);
    entry.key = fields.text("key")?;
    entry.run_at = fields.instant("run_at")?.into();
    entry.priority = fields.integer("priority", -9, 9)?.and_then(|priority| i32::try_from(priority).ok()).unwrap_or(0);
    entry.check().map_err(|FieldError { field, message }| {
        let path = fields.path(field);
        Problem::field(StatusCode::BAD_REQUEST, "invalid_field", &path, format!("{path}: {message}"))
    })?;
    fields.finish()?;
    Ok(entry)
}

/// Accepts entries of declared tasks; as they stand, in the order of `new`.
pub(super) fn accept(connection: &mut Connection, new: &[NewEntry]) -> Result<Vec<EntryShape>, Problem> {
    let declared = declared::living(connection)?;
    for (position, entry) in new.iter().enumerate() {
        if !declared.tasks.contains_key(&entry.task) {
            let place = if new.len() == 1 { "task".to_owned() } else { format!("[{position}].task") };
            return Err(undeclared(&declared, &entry.task).with("field", place));
        }
    }
    let ids = entries::insert(connection, new).map_err(held)?;
    let mut accepted = Vec::with_capacity(ids.len());
    for chunk in ids.chunks(LONGEST_PAGE) {
        let mut page = entries::of_ids(connection, chunk)?;
        page.reverse();
        accepted.append(&mut page);
    }
    if accepted.len() < ids.len() {
        add_gone(connection, new, &ids, &mut accepted)?;
    }
    Ok(accepted)
}

/// A task that no living node declares.
pub(super) fn undeclared(declared: &Declared, task: &str) -> Problem {
    let help = match declared.nearest(task) {
        Some(name) => format!("; did you mean {name:?}?"),
        None => String::new(),
    };
    Problem::unprocessable("task_not_declared", format!("no living node declares the task {task:?}{help}"))
}

fn held(error: Error) -> Problem {
    match error.entry_id() {
        Some(holder) => Problem::conflict("key_held", error).with("entry_id", holder).with("field", "key"),
        None => error.into(),
    }
}

/// Entries that were worked and deleted before they could be read again are shown as they were accepted.
fn add_gone(
    connection: &mut Connection,
    new: &[NewEntry],
    ids: &[i64],
    accepted: &mut Vec<EntryShape>,
) -> Result<(), Problem> {
    let now = nodes::clock(connection)?;
    let installation = entries::installation(connection)?;
    let declared = declared::living(connection)?;
    for (id, entry) in ids.iter().zip(new) {
        if !accepted.iter().any(|known| known.id == *id) {
            accepted.push(EntryShape {
                id: *id,
                task: entry.task.clone(),
                key: entry.key.clone(),
                state: State::Pending,
                payload: RawValue::from_string(entry.payload.clone()).ok(),
                priority: entry.priority,
                attempt: 0,
                max_attempts: declared.max_attempts(&entry.task),
                run_at: if let RunAt::At(at) = entry.run_at { at } else { now },
                created_at: now,
                started_at: None,
                finished_at: None,
                node: None,
                schedule: None,
                scheduled_for: None,
                idempotency_key: format!("{installation}-{id}"),
                error: None,
                attempts: None,
            });
        }
    }
    accepted.sort_by_key(|entry| entry.id);
    Ok(())
}
