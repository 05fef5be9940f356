//! Whether the database takes writes: tried only where nodes have fallen silent and none lives, since no node can keep
//! its lease in a database that refuses.

use crate::error::Result;
use crate::store::connection::Connection;
use crate::store::fault;
use crate::store::node_list::{NodeShape, NodeState};
use crate::store::statement::Statement;

/// Why the database refuses writes, in its words.
pub(super) fn refused(connection: &mut Connection, nodes: &[NodeShape]) -> Result<Option<String>> {
    if nodes.iter().any(NodeShape::is_living) {
        return Ok(None);
    }
    let Some(silent) = nodes.iter().find(|node| node.state == NodeState::Silent) else { return Ok(None) };
    // What is there already: nothing changes, but something is written.
    let same = "UPDATE soloist_nodes SET version = version WHERE id = ?";
    // In a transaction of its own: a refusal must not spoil that of the look.
    match connection.transaction(|connection| connection.execute(Statement::new(same).bind(silent.id))) {
        Err(error) if fault::says_no_writes(&error.to_string()) => Ok(Some(error.to_string())),
        Err(error) if error.is_transient() => Err(error),
        _ => Ok(None),
    }
}
