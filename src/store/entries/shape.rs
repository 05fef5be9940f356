//! How an entry is shown: the shape that CLI and API share.

use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::error::Result;
use crate::model::time::Micros;
use crate::model::{State, entry};

/// One page of a list.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Page<T> {
    /// What it holds.
    pub items: Vec<T>,
    /// Where the next page begins; nothing on the last.
    pub next_cursor: Option<String>,
}

impl<T> Page<T> {
    /// A whole page, however many rows must be looked at for it: as many looks as that takes. A look is told how many
    /// items are wanted, and after which cursor.
    pub fn whole(
        limit: usize,
        mut cursor: Option<String>,
        mut look: impl FnMut(usize, Option<&str>) -> Result<Self>,
    ) -> Result<Self> {
        let mut items = Vec::new();
        loop {
            let mut looked = look(limit - items.len(), cursor.as_deref())?;
            items.append(&mut looked.items);
            cursor = looked.next_cursor;
            if cursor.is_none() || items.len() >= limit {
                return Ok(Self { items, next_cursor: cursor });
            }
        }
    }
}

/// An entry as people see it.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Entry)]
pub struct EntryShape {
    /// 64-bit, grows, never used twice.
    pub id: i64,
    /// The task that works it.
    pub task: String,
    /// The dedupe key, or the key of the source row.
    pub key: Option<String>,
    /// Where it stands.
    pub state: State,
    /// JSON, digit for digit; left out where the reader may not see it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Value)]
    pub payload: Option<Box<RawValue>>,
    /// -9 to 9, lower first.
    pub priority: i32,
    /// Attempts that were counted.
    pub attempt: i32,
    /// Attempts in all before it fails.
    pub max_attempts: i32,
    /// When it may start, or could have.
    #[serde(serialize_with = "entry::required_time")]
    #[schema(value_type = String, format = DateTime)]
    pub run_at: Micros,
    /// When it was accepted.
    #[serde(serialize_with = "entry::required_time")]
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Micros,
    /// When its last attempt started.
    #[serde(serialize_with = "entry::optional_time")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub started_at: Option<Micros>,
    /// When it became final.
    #[serde(serialize_with = "entry::optional_time")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub finished_at: Option<Micros>,
    /// The node that has it or had it last.
    pub node: Option<String>,
    /// The schedule that made it.
    pub schedule: Option<String>,
    /// The due time that made it.
    #[serde(serialize_with = "entry::optional_time")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub scheduled_for: Option<Micros>,
    /// The same on every attempt, unique over installations.
    pub idempotency_key: String,
    /// Of the last attempt that failed.
    pub error: Option<String>,
    /// What was tried, oldest first; only of one entry, not in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<Vec<AttemptShape>>,
}

/// One attempt that is over.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Attempt)]
pub struct AttemptShape {
    /// Its number, from 1.
    pub attempt: i32,
    /// The node that made it.
    pub node: Option<String>,
    /// When it started.
    #[serde(serialize_with = "entry::optional_time")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub started_at: Option<Micros>,
    /// When it ended.
    #[serde(serialize_with = "entry::required_time")]
    #[schema(value_type = String, format = DateTime)]
    pub finished_at: Micros,
    /// The word for how it ended.
    pub outcome: String,
    /// In the handler's or the database's own words.
    pub error: Option<String>,
    /// The last of what the handler said.
    pub output: Option<String>,
}

/// Stored JSON as it is; what only the database takes for JSON becomes a JSON text.
pub(super) fn raw(payload: String) -> Option<Box<RawValue>> {
    RawValue::from_string(payload.clone())
        .or_else(|_| RawValue::from_string(serde_json::Value::String(payload).to_string()))
        .ok()
}
