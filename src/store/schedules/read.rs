//! Reads schedules as people see them.

use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Integer, Nullable, Text};
use serde::Serialize;
use utoipa::ToSchema;

use crate::config::schedule::Definition;
use crate::error::{Error, Result};
use crate::model::entry;
use crate::model::time::Micros;
use crate::store::connection::Connection;
use crate::store::statement::Statement;
use crate::store::tasks::Paused as TaskPaused;
use crate::trigger::Timer;

/// Who paused a schedule.
pub type Paused = TaskPaused;

/// Where a schedule was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// Declared by nodes; gone when none does any more.
    Config,
    /// Made over the API; stays until removed.
    Api,
    /// Made by a command; stays until removed.
    Cli,
}

impl Origin {
    /// Where that is, after “made”.
    pub fn place(self) -> &'static str {
        match self {
            Self::Config => "by nodes",
            Self::Api => "over the API",
            Self::Cli => "by a command",
        }
    }

    /// As the database has it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Config => "config",
            Self::Api => "api",
            Self::Cli => "cli",
        }
    }

    pub(super) fn read(word: &str) -> Self {
        match word {
            "api" => Self::Api,
            "cli" => Self::Cli,
            _ => Self::Config,
        }
    }
}

/// A schedule as people see it.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Schedule)]
pub struct ScheduleShape {
    /// Its name.
    pub name: String,
    /// What it is, in the words of the configuration.
    #[serde(flatten)]
    pub definition: Definition,
    /// Who paused it, if it is paused.
    pub paused: Option<Paused>,
    /// Where it was made.
    pub origin: Origin,
    /// False once no living node declares it: it has stopped.
    pub declared: bool,
    /// When it fires next; nothing while it is paused, has stopped or nothing is to come.
    #[serde(serialize_with = "entry::optional_time")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub next_fire_at: Option<Micros>,
    /// When it last fired.
    #[serde(serialize_with = "entry::optional_time")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_fired_at: Option<Micros>,
}

/// A row of the table.
#[derive(QueryableByName, Debug, Clone)]
pub(super) struct Row {
    #[diesel(sql_type = Text)]
    pub name: String,
    #[diesel(sql_type = Text)]
    pub definition: String,
    #[diesel(sql_type = Text)]
    pub origin: String,
    #[diesel(sql_type = Integer)]
    pub declared: i32,
    #[diesel(sql_type = Integer)]
    pub sweeps: i32,
    #[diesel(sql_type = BigInt)]
    pub anchor: i64,
    #[diesel(sql_type = Nullable<BigInt>)]
    pub next_fire_at: Option<i64>,
    #[diesel(sql_type = Nullable<BigInt>)]
    pub decided_until: Option<i64>,
    #[diesel(sql_type = Nullable<BigInt>)]
    pub queued_for: Option<i64>,
    #[diesel(sql_type = Nullable<BigInt>)]
    pub last_fired_at: Option<i64>,
    #[diesel(sql_type = Nullable<Text>)]
    pub paused_by: Option<String>,
    #[diesel(sql_type = Nullable<BigInt>)]
    pub paused_since: Option<i64>,
    #[diesel(sql_type = Nullable<Text>)]
    pub paused_reason: Option<String>,
}

pub(super) const SELECT: &str = "SELECT name, definition, origin, declared, sweeps, anchor, next_fire_at, \
     decided_until, queued_for, last_fired_at, paused_by, paused_since, paused_reason FROM soloist_schedules";

/// The same as people see it: paused too while all are held.
const SHOWN: &str = "SELECT name, definition, origin, declared, sweeps, anchor, next_fire_at, decided_until, queued_for, \
     last_fired_at, \
     CASE WHEN paused_since IS NULL THEN (SELECT held_by FROM soloist_hold WHERE id = 1) ELSE paused_by END AS paused_by, \
     COALESCE(paused_since, (SELECT held_since FROM soloist_hold WHERE id = 1)) AS paused_since, \
     CASE WHEN paused_since IS NULL THEN (SELECT held_reason FROM soloist_hold WHERE id = 1) ELSE paused_reason END \
     AS paused_reason FROM soloist_schedules";

impl Row {
    pub(super) fn origin(&self) -> Origin {
        Origin::read(&self.origin)
    }
}

pub(super) fn shape(row: Row) -> Result<ScheduleShape> {
    let fires = row.declared == 1 && row.paused_since.is_none();
    let origin = row.origin();
    Ok(ScheduleShape {
        definition: Definition::from_json(&row.definition)?,
        name: row.name,
        paused: row.paused_since.map(|since| Paused {
            by: row.paused_by.unwrap_or_default(),
            since,
            reason: row.paused_reason,
        }),
        origin,
        declared: row.declared == 1,
        next_fire_at: row.next_fire_at.filter(|_| fires),
        last_fired_at: row.last_fired_at,
    })
}

/// Schedules by name, those after `after`, at most `limit`.
pub fn list(connection: &mut Connection, after: Option<&str>, limit: usize) -> Result<Vec<ScheduleShape>> {
    let sql = format!("{SHOWN} WHERE name > ? ORDER BY name LIMIT ?");
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows: Vec<Row> = connection.load(Statement::new(sql).bind(after.unwrap_or_default()).bind(limit))?;
    rows.into_iter().map(shape).collect()
}

/// One schedule; an error that names the nearest if there is none of this name.
pub fn get(connection: &mut Connection, name: &str) -> Result<ScheduleShape> {
    let row: Option<Row> = connection.first(Statement::new(format!("{SHOWN} WHERE name = ?")).bind(name))?;
    match row {
        Some(row) => shape(row),
        None => Err(missing(connection, name)?),
    }
}

/// When a schedule is due, with the phase that is kept in the database.
pub fn timer(connection: &mut Connection, name: &str) -> Result<Timer> {
    let row: Option<Row> = connection.first(Statement::new(format!("{SELECT} WHERE name = ?")).bind(name))?;
    let Some(row) = row else { return Err(missing(connection, name)?) };
    Ok(Definition::from_json(&row.definition)?.schedule(name)?.timer(row.anchor))
}

/// The schedules that fire next, soonest first; none while all are held.
pub fn next_firings(connection: &mut Connection, limit: usize) -> Result<Vec<ScheduleShape>> {
    let sql = format!(
        "{SELECT} WHERE look_at IS NOT NULL AND paused_since IS NULL AND NOT EXISTS (SELECT 1 FROM soloist_hold) \
         ORDER BY look_at LIMIT ?"
    );
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows: Vec<Row> = connection.load(Statement::new(sql).bind(limit))?;
    rows.into_iter().map(shape).collect()
}

/// Schedules that do not fire: each paused by itself, or declared by nobody any more.
pub fn silent(connection: &mut Connection, limit: usize) -> Result<Vec<ScheduleShape>> {
    let sql = format!("{SELECT} WHERE paused_since IS NOT NULL OR declared = 0 ORDER BY name LIMIT ?");
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows: Vec<Row> = connection.load(Statement::new(sql).bind(limit))?;
    rows.into_iter().map(shape).collect()
}

/// That there is no schedule of this name, with the nearest that there is.
pub(super) fn missing(connection: &mut Connection, name: &str) -> Result<Error> {
    #[derive(QueryableByName)]
    struct Name {
        #[diesel(sql_type = Text)]
        name: String,
    }
    let names: Vec<Name> =
        connection.load(Statement::new("SELECT name FROM soloist_schedules ORDER BY name LIMIT 1000"))?;
    let near = crate::config::nearest::nearest(name, names.iter().map(|row| row.name.as_str()));
    let help = near.map(|near| format!("; did you mean {near:?}?")).unwrap_or_default();
    Ok(Error::not_found(format!("there is no schedule {name:?}{help}")))
}
