//! What living nodes declare, brought into force: of each schedule the newest declaration speaks; one that nobody
//! declares any more stops.

use std::collections::HashMap;

use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Text};
use serde::{Deserialize, Serialize};

use super::read::{Origin, Row, SELECT};
use super::write::{self, Taken, Written};
use crate::config::schedule::{Definition, Schedule};
use crate::error::Result;
use crate::model::time::Micros;
use crate::store::connection::Connection;
use crate::store::dialect::Dialect;
use crate::store::nodes;
use crate::store::statement::Statement;
use crate::store::tasks;

/// What a node says of a schedule.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DeclaredSchedule {
    /// What it is.
    pub definition: Definition,
    /// True if its task has a source.
    pub sweeps: bool,
}

impl DeclaredSchedule {
    /// As JSON, for all nodes to read.
    pub fn to_json(&self) -> String {
        // Texts, numbers and words alone: they cannot fail to be written.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Which declarations were last brought into force: living nodes and when each declared.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen(Vec<(i64, Micros)>);

#[derive(QueryableByName)]
struct Living {
    #[diesel(sql_type = BigInt)]
    node_id: i64,
    #[diesel(sql_type = BigInt)]
    declared_at: i64,
}

const LIVING: &str = "FROM soloist_declarations d JOIN soloist_nodes n ON n.id = d.node_id \
     WHERE n.lease_until > {now} AND n.stopped_at IS NULL AND d.kind = ";

/// Brings into force what living nodes declare, unless that is what was seen last; what is seen now. Nothing while
/// another is at it.
///
/// Most changes of who lives change nothing that is in force: that is found out without a lock, and only the schedules
/// that differ are locked, so that all others go on firing.
pub fn reconcile(connection: &mut Connection, last: Option<&Seen>) -> Result<Option<Seen>> {
    let seen = seen(connection)?;
    if last == Some(&seen) {
        return Ok(Some(seen));
    }
    follow_tasks(connection)?;
    if differing_names(connection)?.is_empty() {
        return Ok(Some(seen));
    }
    connection.transaction(|connection| {
        if !lock(connection)? {
            return Ok(None);
        }
        // Again, under the lock: whoever had it before may have seen more.
        let seen = self::seen(connection)?;
        let names = differing_names(connection)?;
        apply(connection, &names)?;
        Ok(Some(seen))
    })
}

/// The schedules that are not in force as they are declared.
fn differing_names(connection: &mut Connection) -> Result<Vec<String>> {
    let declared = declarations(connection)?;
    let mut present = rows(connection, None)?;
    let mut names: Vec<_> = declared
        .iter()
        .filter(|(name, body)| {
            let row = present.remove(*name);
            read(name, body).is_ok_and(|(schedule, sweeps)| row.is_none_or(|row| differs(&row, &schedule, sweeps)))
        })
        .map(|(name, _)| name.clone())
        .collect();
    names.extend(present.into_values().filter(is_to_stop).map(|row| row.name));
    Ok(names)
}

/// One that was declared and is not any more.
fn is_to_stop(row: &Row) -> bool {
    row.origin() == Origin::Config && row.declared == 1
}

/// What is declared, by name. The newest declaration speaks.
fn declarations(connection: &mut Connection) -> Result<HashMap<String, String>> {
    #[derive(QueryableByName)]
    struct Declaration {
        #[diesel(sql_type = Text)]
        name: String,
        #[diesel(sql_type = Text)]
        body: String,
    }
    let sql = format!("SELECT d.name, d.body {LIVING} 'schedule' ORDER BY d.declared_at, d.node_id");
    let rows: Vec<Declaration> = connection.load(Statement::new(connection.dialect().sql(&sql)))?;
    Ok(rows.into_iter().map(|row| (row.name, row.body)).collect())
}

/// What is in force, by name; those of these names are locked.
fn rows(connection: &mut Connection, names: Option<&[String]>) -> Result<HashMap<String, Row>> {
    let dialect = connection.dialect();
    let statement = match names {
        None => Statement::new(SELECT),
        Some(names) => {
            let sql = format!("{SELECT} WHERE {}{}", dialect.among_texts("name"), dialect.for_update());
            Statement::new(sql).bind(dialect.texts(names))
        }
    };
    let rows: Vec<Row> = connection.load(statement)?;
    Ok(rows.into_iter().map(|row| (row.name.clone(), row)).collect())
}

/// Schedules of which living nodes declare different things, with the nodes, the one that speaks last; at most `limit`.
pub fn differing(connection: &mut Connection, limit: usize) -> Result<Vec<(String, Vec<String>)>> {
    #[derive(QueryableByName)]
    struct Declarer {
        #[diesel(sql_type = Text)]
        name: String,
        #[diesel(sql_type = Text)]
        node: String,
    }
    let dialect = connection.dialect();
    let sql = dialect.sql(&format!(
        "SELECT d.name, n.name AS node {LIVING} 'schedule' AND d.name IN \
         (SELECT d.name {LIVING} 'schedule' GROUP BY d.name HAVING MIN(d.body) <> MAX(d.body)) \
         ORDER BY d.name, d.declared_at, d.node_id"
    ));
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for Declarer { name, node } in connection.load(Statement::new(sql))? {
        let room = found.len() < limit;
        match found.last_mut() {
            Some((last, nodes)) if *last == name => nodes.push(node),
            _ if room => found.push((name, vec![node])),
            _ => break,
        }
    }
    Ok(found)
}

/// The names of the schedules that living nodes declare.
pub fn declared_names(connection: &mut Connection) -> Result<Vec<String>> {
    let mut names: Vec<_> = declarations(connection)?.into_keys().collect();
    names.sort();
    Ok(names)
}

fn seen(connection: &mut Connection) -> Result<Seen> {
    let sql = format!("SELECT d.node_id, d.declared_at {LIVING} 'node' ORDER BY d.node_id");
    let rows: Vec<Living> = connection.load(Statement::new(connection.dialect().sql(&sql)))?;
    Ok(Seen(rows.into_iter().map(|row| (row.node_id, row.declared_at)).collect()))
}

/// One at a time: two that read the same rows would both write them. False if another is at it.
fn lock(connection: &mut Connection) -> Result<bool> {
    let dialect = connection.dialect();
    if dialect == Dialect::Sqlite {
        return Ok(true);
    }
    #[derive(QueryableByName)]
    struct Installation {
        #[diesel(sql_type = Text)]
        #[allow(dead_code)] // only that it was had matters
        id: String,
    }
    let sql = format!("SELECT id FROM soloist_installation{}", dialect.skip_locked());
    Ok(connection.first::<Installation>(Statement::new(sql))?.is_some())
}

fn apply(connection: &mut Connection, names: &[String]) -> Result<()> {
    if names.is_empty() {
        return Ok(());
    }
    let now = nodes::clock(connection)?;
    let mut declared = declarations(connection)?;
    let mut present = rows(connection, Some(names))?;
    let (mut written, mut stopped) = (Vec::new(), Vec::new());
    for name in names {
        let row = present.remove(name);
        match (declared.remove(name).map(|body| read(name, &body)), row) {
            (Some(Ok((schedule, sweeps))), row) => {
                written.push(Written::new(schedule, Origin::Config, sweeps, now, row.as_ref()));
            }
            // A node of another version: what is in force stays so.
            (Some(Err(error)), _) => tracing::error!(schedule = name, %error, "the declaration cannot be read"),
            (None, Some(row)) if is_to_stop(&row) => stopped.push(row.name),
            (None, _) => {}
        }
    }
    write::write(connection, &written, now, Taken::Replace)?;
    if !stopped.is_empty() {
        let dialect = connection.dialect();
        let among = dialect.among_texts("name");
        let sql = format!("UPDATE soloist_schedules SET declared = 0, look_at = NULL WHERE {among}");
        connection.execute(Statement::new(sql).bind(dialect.texts(&stopped)))?;
        tracing::info!(schedules = stopped.join(", "), "no living node declares these any more: they stop");
    }
    Ok(())
}

/// What people made fires as its task is declared now: a task may have got a source since, or lost it.
fn follow_tasks(connection: &mut Connection) -> Result<()> {
    let made: Vec<_> = rows(connection, None)?.into_values().filter(|row| row.origin() != Origin::Config).collect();
    if made.is_empty() {
        return Ok(());
    }
    let living = tasks::declared::living(connection)?;
    for row in made {
        let Ok(definition) = Definition::from_json(&row.definition) else { continue };
        let Some(task) = living.tasks.get(&definition.task) else { continue };
        if task.source != (row.sweeps == 1) {
            let update = Statement::new("UPDATE soloist_schedules SET sweeps = ? WHERE name = ?");
            connection.execute(update.bind(i32::from(task.source)).bind(row.name.as_str()))?;
        }
    }
    Ok(())
}

fn read(name: &str, body: &str) -> Result<(Schedule, bool)> {
    let declared: DeclaredSchedule = serde_json::from_str(body).map_err(crate::Error::internal)?;
    let schedule = declared.definition.schedule(name)?;
    Ok((schedule, declared.sweeps))
}

fn differs(row: &Row, schedule: &Schedule, sweeps: bool) -> bool {
    row.declared == 0
        || row.origin() != Origin::Config
        || (row.sweeps == 1) != sweeps
        || row.definition != Definition::from(schedule).to_json()
}
