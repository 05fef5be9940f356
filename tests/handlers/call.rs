//! Entries and calls as an executor would make them.

use std::time::Duration;

use serde_json::value::RawValue;
use soloist::handler::{Call, Handler, trace_of};
use soloist::model::{Entry, Outcome};
use tokio_util::sync::CancellationToken;

pub fn entry(id: i64, payload: &str) -> Entry {
    Entry {
        id,
        task: "thumbnail".to_owned(),
        key: Some("7".to_owned()),
        payload: RawValue::from_string(payload.to_owned()).expect("a payload of JSON"),
        attempt: 1,
        max_attempts: 10,
        scheduled_for: None,
        created_at: 1_700_000_000_000_000,
        idempotency_key: format!("test-{id}"),
        claim: 5,
        node_id: 1,
        from_source: false,
        source_version: None,
        started_at: 0,
        run_at: 0,
        trace: None,
    }
}

/// A call of these entries with a long time-out and nobody to stop it.
pub fn call(entries: Vec<Entry>) -> Call {
    let trace = trace_of(&entries);
    Call { entries, timeout: Some(Duration::from_secs(60)), stop: CancellationToken::new(), trace }
}

/// The outcome of a call of one entry.
pub async fn outcome_of(handler: &impl Handler, call: Call) -> Outcome {
    let mut outcomes = handler.call(call).await;
    assert_eq!(outcomes.len(), 1, "one outcome an entry");
    outcomes.remove(0)
}
