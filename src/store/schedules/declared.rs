//! What living nodes declare, brought into force: of each schedule the newest declaration speaks; one that nobody
//! declares any more stops.

use std::collections::{BTreeMap, HashMap};

use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Text};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::read::{Origin, Row, SELECT};
use super::taken;
use super::write::{self, Taken, Written};
use crate::config::schedule::{Definition, Schedule};
use crate::error::Result;
use crate::model::time::Micros;
use crate::store::connection::Connection;
use crate::store::dialect::Dialect;
use crate::store::firings::{self, GivenUp};
use crate::store::nodes;
use crate::store::statement::Statement;
use crate::store::tasks;

/// Names of one warning each.
const TAKEN: usize = 100;

/// What a node says of a schedule.
#[derive(Debug, Clone, Serialize)]
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

/// A schedule as nodes declare it.
struct Declaration {
    schedule: Schedule,
    /// Its definition as text, with members that only a newer version knows.
    definition: String,
    sweeps: bool,
}

/// Brings into force what living nodes declare, unless that is what was seen last; what is seen now. Nothing while
/// another is at it, or if what a schedule was due for is to be decided first.
///
/// Most changes of who lives change nothing that is in force: that is found out without a lock, and only the schedules
/// that differ are locked, so that all others go on firing.
pub fn reconcile(connection: &mut Connection, last: Option<&Seen>) -> Result<Option<Seen>> {
    let seen = seen(connection)?;
    if last == Some(&seen) {
        return Ok(Some(seen));
    }
    for (schedule, origin) in taken::taken(connection, TAKEN)? {
        let made = origin.place();
        tracing::warn!(schedule, "nodes declare it, but it was made {made}: that stays in force until it is removed");
    }
    follow_tasks(connection)?;
    if differences(connection)?.is_empty() {
        return Ok(Some(seen));
    }
    connection.transaction(|connection| {
        if !lock(connection)? {
            return Ok(None);
        }
        // Again, under the lock: whoever had it before may have seen more.
        let seen = self::seen(connection)?;
        let differences = differences(connection)?;
        Ok(apply(connection, differences)?.then_some(seen))
    })
}

/// The schedules that are not in force as they are declared, and how they are declared, if they are.
fn differences(connection: &mut Connection) -> Result<BTreeMap<String, Option<Declaration>>> {
    let mut present = rows(connection, None)?;
    let mut differences = BTreeMap::new();
    for (name, body) in declarations(connection)? {
        let row = present.remove(&name);
        // What people made stays until they remove it.
        if row.as_ref().is_some_and(|row| row.origin() != Origin::Config) {
            continue;
        }
        match read(&name, &body) {
            Ok(declared) if row.is_none_or(|row| differs(&row, &declared)) => {
                differences.insert(name, Some(declared));
            }
            Ok(_) => {}
            // A node of another version: what is in force stays so.
            Err(error) => tracing::error!(schedule = name, %error, "the declaration cannot be read"),
        }
    }
    differences.extend(present.into_values().filter(is_to_stop).map(|row| (row.name, None)));
    Ok(differences)
}

/// Brings into force what nodes declare under a name that people have just given up.
pub(super) fn take_up(connection: &mut Connection, name: &str) -> Result<()> {
    let mut differences = differences(connection)?;
    differences.retain(|declared, _| declared == name);
    apply(connection, differences).map(|_| ())
}

/// One that was declared and is not any more.
fn is_to_stop(row: &Row) -> bool {
    row.origin() == Origin::Config && row.declared == 1
}

/// What is declared, by name. The newest declaration speaks.
fn declarations(connection: &mut Connection) -> Result<HashMap<String, String>> {
    #[derive(QueryableByName)]
    struct Body {
        #[diesel(sql_type = Text)]
        name: String,
        #[diesel(sql_type = Text)]
        body: String,
    }
    let sql = format!("SELECT d.name, d.body {LIVING} 'schedule' ORDER BY d.declared_at, d.node_id");
    let rows: Vec<Body> = connection.load(Statement::new(connection.dialect().sql(&sql)))?;
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
    // The row itself says nothing: that it was had does.
    let sql = format!("SELECT {{now}} AS n FROM soloist_installation{}", dialect.skip_locked());
    Ok(connection.number(Statement::new(dialect.sql(&sql)))? > 0)
}

/// False if what one of them was due for is to be decided first.
fn apply(connection: &mut Connection, mut differences: BTreeMap<String, Option<Declaration>>) -> Result<bool> {
    if differences.is_empty() {
        return Ok(true);
    }
    let now = nodes::clock(connection)?;
    let mut names: Vec<_> = differences.keys().cloned().collect();
    let due_otherwise = |row: &&Row| {
        let declared = differences.get(&row.name).and_then(Option::as_ref);
        declared.is_some_and(|declared| !write::is_due_alike(row, &declared.schedule))
    };
    let changed: Vec<_> =
        rows(connection, Some(&names))?.values().filter(due_otherwise).map(|row| row.name.clone()).collect();
    let behind = firings::conclude(connection, &changed, now)?;
    names.retain(|name| !behind.contains(name));
    let mut present = rows(connection, Some(&names))?;
    let (mut written, mut stopped) = (Vec::new(), Vec::new());
    for name in names {
        let row = present.remove(&name);
        match differences.remove(&name).flatten() {
            Some(Declaration { schedule, definition, sweeps }) => {
                let new = Written::new(schedule, Origin::Config, sweeps, now, row.as_ref());
                written.push(Written { definition, ..new });
            }
            None if row.as_ref().is_some_and(is_to_stop) => stopped.push(name),
            None => {}
        }
    }
    write::write(connection, &written, now, Taken::Replace)?;
    stop(connection, &stopped, now)?;
    Ok(behind.is_empty())
}

/// A due time that waits for the work before it waits in vain.
fn stop(connection: &mut Connection, names: &[String], now: Micros) -> Result<()> {
    if names.is_empty() {
        return Ok(());
    }
    firings::give_up(connection, names, now, GivenUp::Queued, "no living node declares the schedule any more")?;
    let dialect = connection.dialect();
    let among = dialect.among_texts("name");
    let sql = format!("UPDATE soloist_schedules SET declared = 0, look_at = NULL WHERE {among}");
    connection.execute(Statement::new(sql).bind(dialect.texts(names)))?;
    tracing::info!(schedules = names.join(", "), "no living node declares these any more: they stop");
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

fn read(name: &str, body: &str) -> Result<Declaration> {
    #[derive(Deserialize)]
    struct Declared {
        definition: Box<RawValue>,
        sweeps: bool,
    }
    let Declared { definition, sweeps } = serde_json::from_str(body).map_err(crate::Error::internal)?;
    let schedule = Definition::from_json(definition.get())?.schedule(name)?;
    Ok(Declaration { schedule, definition: definition.get().to_owned(), sweeps })
}

fn differs(row: &Row, declared: &Declaration) -> bool {
    row.declared == 0 || (row.sweeps == 1) != declared.sweeps || row.definition != declared.definition
}
