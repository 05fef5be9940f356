//! `soloist nodes`: who lives, who fell silent or stopped within a day, and how each one's background duties stand.

use std::process::ExitCode;

use clap::Subcommand;
use serde_json::json;

use super::ask::Asked;
use super::time_text::shown;
use super::{output, table};
use crate::error::Result;
use crate::model::time::{Micros, SECOND};
use crate::problems::words::age;
use crate::store::duties::{self, DutyShape};
use crate::store::node_list::{self, NodeShape, NodeState};
use crate::store::nodes;

/// How long a node that is gone is still listed.
const REMEMBERED: Micros = 86_400 * SECOND;

/// `soloist nodes`
#[derive(Debug, Subcommand)]
pub(super) enum Nodes {
    /// Those that live and those of the last day, newest first, with the duties of those that live
    List,
}

impl Nodes {
    pub(super) fn run(self, asked: &Asked) -> Result<ExitCode> {
        let Self::List = self;
        let mut connection = asked.connect()?;
        let now = nodes::clock(&mut connection)?;
        let all = node_list::seen_since(&mut connection, now - REMEMBERED, now)?;
        let duties = duties::standing(&mut connection)?.duties;
        if asked.json {
            output::json(&json!({ "items": all, "duties": duties, "next_cursor": null }))?;
            return Ok(ExitCode::SUCCESS);
        }
        let leader = node_list::leader(&mut connection)?.map(|leader| leader.id);
        let rows = all.iter().map(|node| row(node, leader, now)).collect();
        let headings = ["NODE", "ID", "STATE", "ROLES", "STARTED", "SEEN", "VERSION"];
        table::print(&headings, rows, "No node was seen within a day.")?;
        if !duties.is_empty() {
            output::line("")?;
            let rows = duties.iter().map(|duty| duty_row(duty, now)).collect();
            table::print(&["NODE", "DUTY", "EVERY", "LAST DONE", "FAILS SINCE", "ERROR"], rows, "")?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn row(node: &NodeShape, leader: Option<i64>, now: Micros) -> Vec<String> {
    let state = match node.state {
        NodeState::Living if leader == Some(node.id) => "leads",
        NodeState::Living => "lives",
        NodeState::Draining => "is stopping",
        NodeState::Silent => "silent",
        NodeState::Stopped => "stopped",
    };
    vec![
        node.name.clone(),
        node.id.to_string(),
        state.to_owned(),
        node.roles.join(", "),
        shown(node.started_at),
        format!("{} ago", age(now - node.seen_at)),
        node.version.clone(),
    ]
}

fn duty_row(duty: &DutyShape, now: Micros) -> Vec<String> {
    vec![
        duty.node.clone(),
        duty.name.clone(),
        duty.every_s.map(|every| format!("{every:.1} s")).unwrap_or_default(),
        format!("{} ago", age(now - duty.done_at)),
        duty.failing_since.map(shown).unwrap_or_default(),
        table::cut(duty.error.as_deref().unwrap_or_default(), 60),
    ]
}
