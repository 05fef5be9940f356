//! Reads `[node]`.

use std::time::Duration;

use crate::config::walk::{Item, Section};
use crate::config::{Node, NodeRole};

pub(super) const KEYS: &[&str] = &["name", "lease", "drain", "poll", "roles"];

const DAY: Duration = Duration::from_secs(86_400);

const ROLES: [(&str, NodeRole); 3] =
    [("scheduler", NodeRole::Scheduler), ("worker", NodeRole::Worker), ("http", NodeRole::Http)];

pub(super) fn read(given: &Section) -> Node {
    let section = given.clone().closed("[node]", KEYS);
    let default = Node::default();
    let span = |key: &str, shortest: Duration, longest: Duration| {
        section.get(key).and_then(|item| item.duration(shortest, longest))
    };
    Node {
        name: section.get("name").and_then(|item| label(&item)).unwrap_or(default.name),
        lease: span("lease", Duration::from_secs(1), DAY).unwrap_or(default.lease),
        drain: span("drain", Duration::ZERO, 7 * DAY).unwrap_or(default.drain),
        poll: span("poll", Duration::from_millis(10), DAY / 24).unwrap_or(default.poll),
        roles: section.get("roles").and_then(|item| roles(&item)).unwrap_or(default.roles),
    }
}

/// A name for people: up to 100 characters, none of which moves the cursor.
pub(super) fn label(item: &Item) -> Option<String> {
    let name = item.filled()?.trim().to_owned();
    if name.chars().count() > 100 || name.chars().any(char::is_control) {
        item.wrong("is too long or holds control characters", "a name has up to 100 characters, in one line");
        return None;
    }
    Some(name)
}

fn roles(item: &Item) -> Option<Vec<NodeRole>> {
    let example = "[\"scheduler\", \"worker\", \"http\"]";
    let Some(items) = item.array() else {
        item.wrong(format!("is an array, not {}", item.described()), format!("write roles = {example}"));
        return None;
    };
    if items.is_empty() {
        item.wrong("is empty: this node would do nothing", format!("write roles = {example}, or a part of it"));
        return None;
    }
    let mut roles = Vec::new();
    let mut whole = true;
    for role in &items {
        match role.choice(&ROLES) {
            Some(known) if roles.contains(&known) => role.wrong("stands in the array twice", "take one of them out"),
            Some(known) => roles.push(known),
            None => whole = false,
        }
    }
    whole.then_some(roles)
}
