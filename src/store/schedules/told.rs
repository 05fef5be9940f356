//! What the audit log is told of a schedule: all but its payload.

use serde_json::{Map, Value, json};

use crate::config::schedule::Definition;

/// What a schedule is, without its payload.
pub(super) fn of(definition: &Definition) -> Value {
    let mut members = members(definition);
    members.remove(PAYLOAD);
    members.retain(|_, value| !value.is_null());
    members.into()
}

/// What has changed, as `{"from", "to"}`; of the payload only that it has.
pub(super) fn difference(before: &Definition, after: &Definition) -> Map<String, Value> {
    let (mut before, after) = (members(before), members(after));
    let mut difference = Map::new();
    for (name, to) in after {
        let from = before.remove(&name).unwrap_or_default();
        if from != to {
            let told = if name == PAYLOAD { json!("changed") } else { json!({ "from": from, "to": to }) };
            difference.insert(name, told);
        }
    }
    for (name, from) in before {
        difference.insert(name, json!({ "from": from, "to": null }));
    }
    difference
}

const PAYLOAD: &str = "payload";

fn members(definition: &Definition) -> Map<String, Value> {
    let mut members = match serde_json::from_str(&definition.to_json()) {
        Ok(Value::Object(members)) => members,
        _ => Map::new(),
    };
    // As text, in which every digit counts.
    members.insert(PAYLOAD.to_owned(), json!(definition.payload.as_ref().map(|payload| payload.get())));
    members
}
