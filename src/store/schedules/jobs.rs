//! Schedules as jobs of APScheduler: each with its own pause, whether or not all are held, and with what only a job has.

use diesel::QueryableByName;
use diesel::sql_types::{Nullable, Text};

use super::read::{Origin, Row, SELECT, ScheduleShape, shape};
use crate::apscheduler::Kept;
use crate::error::Result;
use crate::store::connection::Connection;
use crate::store::statement::Statement;

/// A schedule as a job.
#[derive(Debug, Clone)]
pub struct JobRow {
    /// The schedule.
    pub schedule: ScheduleShape,
    /// What only a job has.
    pub kept: Kept,
    /// True if it was made and nothing is to come: the original would have dropped it.
    pub is_over: bool,
}

#[derive(QueryableByName)]
struct Joined {
    #[diesel(embed)]
    own: Row,
    #[diesel(sql_type = Nullable<Text>)]
    apscheduler: Option<String>,
}

/// All jobs.
pub fn jobs(connection: &mut Connection) -> Result<Vec<JobRow>> {
    connection.load(Statement::new(select()))?.into_iter().map(job_of).collect()
}

/// One job.
pub fn job(connection: &mut Connection, name: &str) -> Result<Option<JobRow>> {
    let sql = format!("{} WHERE name = ?", select());
    connection.first(Statement::new(sql).bind(name))?.map(job_of).transpose()
}

/// The same, locked until the transaction ends.
pub fn lock_job(connection: &mut Connection, name: &str) -> Result<Option<JobRow>> {
    let sql = format!("{} WHERE name = ?{}", select(), connection.dialect().for_update());
    connection.first(Statement::new(sql).bind(name))?.map(job_of).transpose()
}

/// Keeps what only a job has beside its schedule.
pub fn keep(connection: &mut Connection, name: &str, kept: &Kept) -> Result<()> {
    let sql = "UPDATE soloist_schedules SET apscheduler = ? WHERE name = ?";
    connection.execute(Statement::new(sql).bind(kept.to_json()).bind(name)).map(|_| ())
}

fn select() -> String {
    SELECT.replacen(" FROM ", ", apscheduler FROM ", 1)
}

fn job_of(joined: Joined) -> Result<JobRow> {
    let Joined { own: row, apscheduler } = joined;
    let is_over = row.origin() != Origin::Config && row.next_fire_at.is_none() && row.queued_for.is_none();
    let kept = apscheduler.as_deref().map(Kept::from_json).unwrap_or_default();
    Ok(JobRow { schedule: shape(row)?, kept, is_over })
}
