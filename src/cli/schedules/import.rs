//! `soloist schedules import`: the jobs that APScheduler wrote with `export_jobs()`, as schedules.

use std::collections::BTreeMap;
use std::io::Read as _;

use clap::Args;
use jiff::Timestamp;
use serde::Serialize;

use super::when;
use crate::apscheduler::export::{self, Exported, JobWrong};
use crate::apscheduler::{Kept, Wrong, task_of};
use crate::cli::ask::{Asked, who};
use crate::cli::due_times::DueTime;
use crate::cli::output;
use crate::config::schedule::{Schedule, Trigger};
use crate::error::{Error, Result};
use crate::store::schedules::{self, JobRow, Origin, ScheduleShape};
use crate::store::tasks::declared::{self, Declared};
use crate::store::{Connection, nodes};

/// Due times that are shown of each.
const NEXT: usize = 3;

const EXAMPLES: &str = "\
Examples:
  python -c 'from app import scheduler; scheduler.scheduler.export_jobs(\"jobs.json\")'
  soloist schedules import jobs.json --dry-run
  soloist schedules import jobs.json --task-map app.jobs:send_mail=mail
A job's func names the task: what stands after its colon, unless --task-map says otherwise.";

/// `soloist schedules import`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(in crate::cli) struct Import {
    /// What export_jobs() wrote, or - for standard input
    #[arg(value_name = "FILE|-")]
    file: String,
    /// Show what would be made and when it would fire; make nothing
    #[arg(long)]
    dry_run: bool,
    /// Let a job take the place of a schedule of its name that no node declares
    #[arg(long)]
    replace: bool,
    /// The task of a func: its whole text or what stands after its colon, and the name here
    #[arg(long, value_name = "FUNC=TASK", value_parser = mapping)]
    task_map: Vec<(String, String)>,
}

fn mapping(typed: &str) -> Result<(String, String), String> {
    match typed.split_once('=') {
        Some((func, task)) if !func.is_empty() && !task.is_empty() => Ok((func.to_owned(), task.to_owned())),
        _ => Err("FUNC=TASK is expected, such as app.jobs:send_mail=mail".to_owned()),
    }
}

/// A schedule that was made.
#[derive(Serialize)]
struct Made {
    #[serde(flatten)]
    schedule: ScheduleShape,
    next: Vec<DueTime>,
}

/// Why the transaction was undone.
enum Undone {
    /// It was only to be shown.
    Shown(Vec<Made>),
    Failed(Error),
}

impl From<Error> for Undone {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl Import {
    pub(super) fn run(self, asked: &Asked) -> Result<()> {
        let mut bytes = Vec::new();
        let read = match self.file.as_str() {
            "-" => std::io::stdin().read_to_end(&mut bytes),
            file => std::fs::File::open(file).and_then(|mut file| file.read_to_end(&mut bytes)),
        };
        read.map_err(|error| Error::usage(format!("{} cannot be read: {error}", self.file)))?;
        let mut connection = asked.connect()?;
        let done = connection.atomically(|connection| {
            let made = self.make(connection, &bytes)?;
            if self.dry_run { Err(Undone::Shown(made)) } else { Ok(made) }
        });
        let made = match done {
            Ok(made) | Err(Undone::Shown(made)) => made,
            Err(Undone::Failed(error)) => return Err(error),
        };
        if asked.json {
            return output::json(&serde_json::json!({ "dry_run": self.dry_run, "items": made }));
        }
        for Made { schedule, next } in &made {
            let state = if schedule.paused.is_some() { "paused, else next at" } else { "next at" };
            let next: Vec<_> = next.iter().map(DueTime::in_utc).collect();
            let next =
                if next.is_empty() { "nothing is to come".to_owned() } else { format!("{state} {}", next.join(", ")) };
            output::line(format!("{} fires {} {}; {next}.", schedule.name, schedule.definition.task, when(schedule)))?;
        }
        let would = if self.dry_run { "would be" } else { "are" };
        output::line(format!("{} schedules {would} made.", made.len()))
    }

    /// Makes all of them; all that is wrong, if anything is.
    fn make(&self, connection: &mut Connection, bytes: &[u8]) -> Result<Vec<Made>> {
        let now = Timestamp::from_microsecond(nodes::clock(connection)?).map_err(Error::internal)?;
        let (jobs, mut wrong) = export::read(bytes, now);
        let living = declared::living(connection)?;
        let there: BTreeMap<_, _> =
            schedules::jobs(connection)?.into_iter().map(|job| (job.schedule.name.clone(), job)).collect();
        let mut ready = Vec::new();
        for job in &jobs {
            let before = there.get(&job.id).filter(|before| !before.is_over);
            match self.schedule(job, &living, before, now) {
                Ok(made) => ready.push(made),
                Err(wrongs) => wrong.extend(wrongs.into_iter().map(|wrong| JobWrong { job: job.id.clone(), wrong })),
            }
        }
        wrong.extend(self.unused_mapping(&jobs));
        if !wrong.is_empty() {
            return Err(refused(&self.file, &wrong));
        }
        let mut made = Vec::with_capacity(ready.len());
        for (job, (schedule, kept)) in jobs.iter().zip(ready) {
            made.push(put(connection, job, schedule, &kept, there.contains_key(&job.id))?);
        }
        Ok(made)
    }

    fn schedule(
        &self,
        job: &Exported,
        living: &Declared,
        before: Option<&JobRow>,
        now: Timestamp,
    ) -> Result<(Schedule, Kept), Vec<Wrong>> {
        let mut wrong = Vec::new();
        let func = job.wanted.func.as_deref().unwrap_or_default();
        let task = match self.task(func, living) {
            Ok(task) => task,
            Err(why) => {
                wrong.push(Wrong::new("func", why));
                String::new()
            }
        };
        match before.map(|before| before.schedule.origin) {
            Some(Origin::Config) => {
                wrong.push(Wrong::new("id", "nodes declare a schedule of this name: change it in their configuration"));
            }
            Some(_) if !self.replace => {
                wrong.push(Wrong::new(
                    "id",
                    "there is a schedule of this name already: with --replace the job takes its place",
                ));
            }
            _ => {}
        }
        if job.wanted.has_arguments() && living.tasks.get(&task).is_some_and(|task| task.source) {
            wrong.push(Wrong::new("args", format!("the task {task:?} has a source, whose rows are its payloads")));
        }
        let mut schedule = Schedule::new(job.id.clone(), task, Trigger::At(now));
        let mut kept = Kept::default();
        if let Err(error) = job.wanted.apply(&mut schedule, &mut kept, now) {
            wrong.push(error);
        }
        if wrong.is_empty() { Ok((schedule, kept)) } else { Err(wrong) }
    }

    /// The task that a func means.
    fn task(&self, func: &str, living: &Declared) -> Result<String, String> {
        let function = func.rsplit_once(':').map_or(func, |(_, function)| function);
        let mapped =
            self.task_map.iter().find(|(from, _)| from == func || from == function).map(|(_, task)| task.as_str());
        let name = mapped.or_else(|| task_of(func, |name| living.tasks.contains_key(name))).unwrap_or(function);
        if living.tasks.contains_key(name) {
            return Ok(name.to_owned());
        }
        let near = living.nearest(name).map(|near| format!("; did you mean {near:?}?")).unwrap_or_default();
        Err(format!(
            "no living node declares the task {name:?} that {func:?} names{near} --task-map {func}=TASK names another"
        ))
    }

    /// A mapping that no job needs is a slip.
    fn unused_mapping(&self, jobs: &[Exported]) -> Option<JobWrong> {
        let funcs = || jobs.iter().filter_map(|job| job.wanted.func.as_deref());
        let is_used = |from: &str| funcs().any(|func| func == from || func.ends_with(&format!(":{from}")));
        let (from, _) = self.task_map.iter().find(|(from, _)| !is_used(from))?;
        Some(JobWrong { job: "--task-map".to_owned(), wrong: Wrong::new(from, "no job has this func") })
    }
}

/// Makes one, or puts it in the place of another.
fn put(connection: &mut Connection, job: &Exported, schedule: Schedule, kept: &Kept, is_there: bool) -> Result<Made> {
    let zone = schedule.timezone.clone();
    if is_there {
        schedules::change(connection, &job.id, &who(), |_| Ok::<_, Error>(schedule))?;
    } else {
        schedules::create(connection, schedule, &who())?;
    }
    schedules::keep(connection, &job.id, kept)?;
    let schedule = match job.wanted.paused() {
        Some(true) => schedules::pause(connection, &job.id, &who(), Some("paused in APScheduler"))?,
        _ => schedules::resume(connection, &job.id, &who())?,
    };
    let timer = schedules::timer(connection, &job.id)?;
    let from = match (schedule.next_fire_at, &schedule.paused) {
        (Some(next), _) => Some(next - 1),
        (None, Some(paused)) => Some(paused.since),
        (None, None) => None,
    };
    let next = from.map(|from| DueTime::next(&timer, &zone, from, NEXT)).unwrap_or_default();
    Ok(Made { schedule, next })
}

/// All that is wrong, in a line each.
fn refused(file: &str, wrong: &[JobWrong]) -> Error {
    let lines: Vec<_> = wrong.iter().map(|JobWrong { job, wrong }| format!("  {job}: {wrong}")).collect();
    Error::usage(format!("{file}: nothing was made, for {} reasons:\n{}", lines.len(), lines.join("\n")))
}
