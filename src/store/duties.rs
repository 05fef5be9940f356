//! How each node's background duties stand: one small row a node, written by the node itself and read by all.

use std::time::Duration;

use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Text};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::connection::Connection;
use super::statement::Statement;
use crate::error::{Error, Result};
use crate::model::entry;
use crate::model::time::{Micros, micros};

/// What a node tells of its duties. A node knows how long ago things were, not when on the database's clock.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Told {
    /// Each duty.
    pub duties: Vec<ToldDuty>,
    /// The last jump of the database's clock that it saw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jump: Option<ToldJump>,
}

/// What a node tells of one duty; spans in milliseconds before the telling.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToldDuty {
    /// Its name.
    pub name: String,
    /// How far apart it is done; nothing if it is done when there is something to do.
    pub every_ms: Option<u64>,
    /// How long it may be silent.
    pub patience_ms: u64,
    /// When it was last done, or else when it was first to be done.
    pub done_ms_ago: u64,
    /// Since when it fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failing_ms: Option<u64>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A jump of the database's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToldJump {
    /// When it was seen.
    pub ms_ago: u64,
    /// By how much; backwards if less than nothing.
    pub by_micros: Micros,
    /// How long nothing is taken over after it.
    pub lease_ms: u64,
}

/// A duty of a node as people see it.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = Duty)]
pub struct DutyShape {
    /// The node's label.
    pub node: String,
    /// Its incarnation.
    pub node_id: i64,
    /// `lease`, `leadership`, `firing`, `rescue`, `verify`, `sweep`, `sums`, `counts`, `prune`, `wake-up`.
    pub name: String,
    /// How far apart it is done; nothing if it is done when there is something to do.
    pub every_s: Option<f64>,
    /// When it was last done, or else when it was first to be done.
    #[serde(serialize_with = "entry::required_time")]
    #[schema(value_type = String, format = DateTime)]
    pub done_at: Micros,
    /// Since when it fails.
    #[serde(serialize_with = "entry::optional_time")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub failing_since: Option<Micros>,
    /// Why, in the words of whoever said it.
    pub error: Option<String>,
    /// How long it may be silent.
    #[serde(skip)]
    pub patience: Micros,
}

/// A jump of the database's clock, as a node saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Jump {
    /// The node's label.
    pub node: String,
    /// When.
    pub at: Micros,
    /// By how much.
    pub by: Micros,
    /// How long nothing is taken over after it.
    pub lease: Micros,
}

/// What all living nodes have told.
#[derive(Debug, Clone, Default)]
pub struct Standing {
    /// Their duties.
    pub duties: Vec<DutyShape>,
    /// Jumps of the clock.
    pub jumps: Vec<Jump>,
    /// Node incarnations, and when each last told how its duties stand.
    pub told: Vec<(i64, Micros)>,
}

/// Writes what a node tells over what it told before.
pub fn tell(connection: &mut Connection, node_id: i64, told: &Told) -> Result<()> {
    let dialect = connection.dialect();
    let sql = dialect.sql(&format!(
        "INSERT INTO soloist_duties (node_id, told_at, body) VALUES (?, {{now}}, ?){}",
        dialect.or_update("node_id", &["told_at", "body"])
    ));
    let body = serde_json::to_string(told).map_err(Error::internal)?;
    connection.execute(Statement::new(sql).bind(node_id).bind(body)).map(|_| ())
}

/// How the duties of all living nodes stand, by node and name.
pub fn standing(connection: &mut Connection) -> Result<Standing> {
    #[derive(QueryableByName)]
    struct Row {
        #[diesel(sql_type = BigInt)]
        node_id: i64,
        #[diesel(sql_type = Text)]
        node: String,
        #[diesel(sql_type = BigInt)]
        told_at: i64,
        #[diesel(sql_type = Text)]
        body: String,
    }
    let sql = connection.dialect().sql(
        "SELECT d.node_id, n.name AS node, d.told_at, d.body FROM soloist_duties d \
         JOIN soloist_nodes n ON n.id = d.node_id WHERE n.lease_until > {now} AND n.stopped_at IS NULL \
         ORDER BY d.node_id",
    );
    let mut standing = Standing::default();
    for row in connection.load::<Row>(Statement::new(sql))? {
        standing.told.push((row.node_id, row.told_at));
        // Another version may tell in another way.
        let Ok(told) = serde_json::from_str::<Told>(&row.body) else { continue };
        let before = |ms: u64| row.told_at - micros(Duration::from_millis(ms));
        standing.duties.extend(told.duties.into_iter().map(|duty| DutyShape {
            node: row.node.clone(),
            node_id: row.node_id,
            #[allow(clippy::cast_precision_loss)] // spans of a node's life
            every_s: duty.every_ms.map(|ms| ms as f64 / 1000.0),
            done_at: before(duty.done_ms_ago),
            failing_since: duty.failing_ms.map(before),
            error: duty.error,
            patience: micros(Duration::from_millis(duty.patience_ms)),
            name: duty.name,
        }));
        standing.jumps.extend(told.jump.map(|jump| Jump {
            node: row.node.clone(),
            at: before(jump.ms_ago),
            by: jump.by_micros,
            lease: micros(Duration::from_millis(jump.lease_ms)),
        }));
    }
    Ok(standing)
}

/// Deletes what nodes told that are gone for longer than `age`.
pub fn prune(connection: &mut Connection, age: Micros) -> Result<()> {
    let sql = connection.dialect().sql(
        "DELETE FROM soloist_duties WHERE node_id NOT IN (SELECT id FROM soloist_nodes WHERE lease_until > {now} - ?)",
    );
    connection.execute(Statement::new(sql).bind(age)).map(|_| ())
}
