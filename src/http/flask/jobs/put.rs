//! Adds and changes jobs: each in one transaction, all of it or nothing.

use jiff::Timestamp;

use crate::apscheduler::{self, Kept, NewJob, Wanted, Wrong, check_id, task_of};
use crate::config::schedule::{Schedule, Trigger};
use crate::error::Error;
use crate::http::flask::answer::{job_exists, no_job, wrong};
use crate::http::problem::Problem;
use crate::model::By;
use crate::store::schedules::{self, JobRow};
use crate::store::tasks::declared::{self, Declared};
use crate::store::{Connection, nodes};

/// Adds a job.
pub(super) fn add(connection: &mut Connection, text: &str, by: &By) -> Result<JobRow, Problem> {
    let now = clock(connection)?;
    let NewJob { id, wanted, replaces } = apscheduler::new_job(text, now).map_err(|all| wrong(&all))?;
    connection.atomically(|connection| {
        let living = declared::living(connection)?;
        let before = schedules::lock_job(connection, &id)?;
        if before.as_ref().is_some_and(|before| !before.is_over && !replaces) {
            return Err(job_exists(&id));
        }
        let (mut schedule, mut kept) = (Schedule::new(&id, "", Trigger::At(now)), Kept::default());
        apply(&wanted, &living, &mut schedule, &mut kept, now)?;
        let grace = schedule.misfire_grace;
        let made = match before {
            Some(_) => schedules::change(connection, &id, by, |_| Ok::<_, Error>(schedule)),
            None => schedules::create(connection, schedule, by),
        };
        made.map_err(|error| match error.is_conflict() && !replaces {
            true => job_exists(&id),
            false => refused(&id, error),
        })?;
        schedules::keep(connection, &id, &kept)?;
        match wanted.paused() {
            Some(true) => schedules::pause(connection, &id, by, None)?,
            _ => schedules::resume(connection, &id, by)?,
        };
        if wanted.is_due_at(now, grace) {
            schedules::fire(connection, &id, by)?;
        }
        found(connection, &id)
    })
}

/// Changes a job.
pub(super) fn change(connection: &mut Connection, id: &str, text: &str, by: &By) -> Result<JobRow, Problem> {
    check_id(id).map_err(|_| no_job(id))?;
    let now = clock(connection)?;
    let wanted = apscheduler::change(text, now).map_err(|all| wrong(&all))?;
    connection.atomically(|connection| {
        let living = declared::living(connection)?;
        let before = schedules::lock_job(connection, id)?.filter(|job| !job.is_over).ok_or_else(|| no_job(id))?;
        let mut grace = None;
        if !wanted.is_pause_alone() {
            let mut kept = before.kept.still_true_of(&before.schedule.definition);
            schedules::change(connection, id, by, |mut schedule| {
                apply(&wanted, &living, &mut schedule, &mut kept, now)?;
                grace = schedule.misfire_grace;
                Ok::<_, Problem>(schedule)
            })?;
            schedules::keep(connection, id, &kept)?;
        }
        match wanted.paused() {
            Some(true) => drop(schedules::pause(connection, id, by, None)?),
            Some(false) => drop(schedules::resume(connection, id, by)?),
            None => {}
        }
        if wanted.is_due_at(now, grace) {
            schedules::fire(connection, id, by)?;
        }
        found(connection, id)
    })
}

/// Makes a schedule what is wanted.
fn apply(
    wanted: &Wanted,
    living: &Declared,
    schedule: &mut Schedule,
    kept: &mut Kept,
    now: Timestamp,
) -> Result<(), Problem> {
    let one = |field: &str, message: String| wrong(&[Wrong { field: field.to_owned(), message }]);
    if let Some(func) = &wanted.func {
        let function = func.rsplit_once(':').map_or(func.as_str(), |(_, function)| function);
        let task = task_of(func, |name| living.tasks.contains_key(name)).ok_or_else(|| {
            let near = living.nearest(function).map(|near| format!("; did you mean {near:?}?")).unwrap_or_default();
            one("func", format!("no living node declares the task {function:?} that {func:?} names{near}"))
        })?;
        task.clone_into(&mut schedule.task);
    }
    wanted.apply(schedule, kept, now).map_err(|error| wrong(&[error]))?;
    if living.tasks.get(&schedule.task).is_some_and(|task| task.source) {
        if wanted.has_arguments() {
            let message = format!("the task {:?} has a source, whose rows are its payloads", schedule.task);
            return Err(one("args", message));
        }
        schedule.payload = None;
    }
    Ok(())
}

/// What an error of the store means.
pub(super) fn refused(id: &str, error: Error) -> Problem {
    if error.is_not_found() { no_job(id) } else { error.into() }
}

fn found(connection: &mut Connection, id: &str) -> Result<JobRow, Problem> {
    schedules::job(connection, id)?.ok_or_else(|| no_job(id))
}

fn clock(connection: &mut Connection) -> Result<Timestamp, Problem> {
    Timestamp::from_microsecond(nodes::clock(connection)?).map_err(Problem::internal)
}
