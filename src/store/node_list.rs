//! Reads node incarnations: who lives, who fell silent, who stopped.

use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Integer, Nullable, Text};
use serde::Serialize;
use utoipa::ToSchema;

use super::connection::Connection;
use super::statement::Statement;
use crate::error::Result;
use crate::model::entry;
use crate::model::time::Micros;

/// How a node stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum NodeState {
    /// Its lease has not ended.
    Living,
    /// It takes no more work and finishes what it has.
    Draining,
    /// Its lease ended without a stop.
    Silent,
    /// It stopped.
    Stopped,
}

/// A node incarnation as people see it.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Node)]
pub struct NodeShape {
    /// A label.
    pub name: String,
    /// Of this incarnation.
    pub id: i64,
    /// What it does.
    pub roles: Vec<String>,
    /// When it started.
    #[serde(serialize_with = "entry::required_time")]
    #[schema(value_type = String, format = DateTime)]
    pub started_at: Micros,
    /// Its last heartbeat.
    #[serde(serialize_with = "entry::required_time")]
    #[schema(value_type = String, format = DateTime)]
    pub seen_at: Micros,
    /// Until when it holds what it has.
    #[serde(serialize_with = "entry::required_time")]
    #[schema(value_type = String, format = DateTime)]
    pub lease_until: Micros,
    /// Of the binary.
    pub version: String,
    /// How it stands.
    pub state: NodeState,
    /// When it stopped, if it did.
    #[serde(serialize_with = "entry::optional_time")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub stopped_at: Option<Micros>,
}

impl NodeShape {
    /// True while it may work: its lease has not ended.
    pub fn is_living(&self) -> bool {
        matches!(self.state, NodeState::Living | NodeState::Draining)
    }

    /// True if it has the role.
    pub fn has(&self, role: &str) -> bool {
        self.roles.iter().any(|own| own == role)
    }
}

/// The node that fires first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Leader {
    /// A label.
    pub name: String,
    /// Of the incarnation.
    pub id: i64,
    /// Since when it leads.
    #[serde(serialize_with = "entry::required_time")]
    #[schema(value_type = String, format = DateTime)]
    pub since: Micros,
}

#[derive(QueryableByName)]
struct NodeRow {
    #[diesel(sql_type = BigInt)]
    id: i64,
    #[diesel(sql_type = Text)]
    name: String,
    #[diesel(sql_type = Text)]
    roles: String,
    #[diesel(sql_type = Text)]
    version: String,
    #[diesel(sql_type = BigInt)]
    started_at: i64,
    #[diesel(sql_type = BigInt)]
    seen_at: i64,
    #[diesel(sql_type = BigInt)]
    lease_until: i64,
    #[diesel(sql_type = Integer)]
    draining: i32,
    #[diesel(sql_type = Nullable<BigInt>)]
    stopped_at: Option<i64>,
}

/// Nodes that were seen since an instant, newest incarnation first; at most 500.
pub fn seen_since(connection: &mut Connection, since: Micros, now: Micros) -> Result<Vec<NodeShape>> {
    page(connection, since, now, i64::MAX, 500)
}

/// Those of them whose id is smaller than `below`, at most `limit`.
pub fn page(
    connection: &mut Connection,
    since: Micros,
    now: Micros,
    below: i64,
    limit: usize,
) -> Result<Vec<NodeShape>> {
    let sql = "SELECT id, name, roles, version, started_at, seen_at, lease_until, draining, stopped_at \
               FROM soloist_nodes WHERE (seen_at >= ? OR lease_until > ?) AND id < ? ORDER BY id DESC LIMIT ?";
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows: Vec<NodeRow> = connection.load(Statement::new(sql).bind(since).bind(now).bind(below).bind(limit))?;
    Ok(rows.into_iter().map(|row| shape(row, now)).collect())
}

/// The names of the nodes whose lease has not ended.
pub fn living(connection: &mut Connection) -> Result<Vec<String>> {
    #[derive(QueryableByName)]
    struct Name {
        #[diesel(sql_type = Text)]
        name: String,
    }
    let sql = "SELECT name FROM soloist_nodes WHERE lease_until > {now} AND stopped_at IS NULL ORDER BY name";
    let rows: Vec<Name> = connection.load(Statement::new(connection.dialect().sql(sql)))?;
    Ok(rows.into_iter().map(|row| row.name).collect())
}

/// The node that holds the scheduler lease.
pub fn leader(connection: &mut Connection) -> Result<Option<Leader>> {
    #[derive(QueryableByName)]
    struct Lease {
        #[diesel(sql_type = BigInt)]
        id: i64,
        #[diesel(sql_type = Text)]
        name: String,
        #[diesel(sql_type = BigInt)]
        since: i64,
    }
    let sql = "SELECT n.id, n.name, l.since FROM soloist_leases l JOIN soloist_nodes n ON n.id = l.node_id \
               WHERE l.name = 'scheduler' AND l.lease_until > {now}";
    let row: Option<Lease> = connection.first(Statement::new(connection.dialect().sql(sql)))?;
    Ok(row.map(|row| Leader { name: row.name, id: row.id, since: row.since }))
}

fn shape(row: NodeRow, now: Micros) -> NodeShape {
    let state = match (row.stopped_at, row.lease_until > now, row.draining) {
        (Some(_), ..) => NodeState::Stopped,
        (None, false, _) => NodeState::Silent,
        (None, true, 0) => NodeState::Living,
        (None, true, _) => NodeState::Draining,
    };
    NodeShape {
        name: row.name,
        id: row.id,
        roles: row.roles.split(',').filter(|role| !role.is_empty()).map(str::to_owned).collect(),
        started_at: row.started_at,
        seen_at: row.seen_at,
        lease_until: row.lease_until,
        version: row.version,
        state,
        stopped_at: row.stopped_at,
    }
}
