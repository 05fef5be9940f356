//! `soloist schedules show`: one schedule, its next times, its last firings, and why a time did not fire.

use clap::Args;
use jiff::Timestamp;
use jiff::civil::DateTime;
use serde::Serialize;

use super::{origin, state, when};
use crate::cli::ask::Asked;
use crate::cli::due_times::DueTime;
use crate::cli::time_text::{due, shown};
use crate::cli::{output, table};
use crate::error::{Error, Result};
use crate::model::time::Micros;
use crate::problems::words::{age, number};
use crate::store::Lent;
use crate::store::firings::{self, FiringShape};
use crate::store::schedules::{self, ScheduleShape};
use crate::store::{node_list, nodes};
use crate::trigger::{Timer, Zone};
use crate::why::{self, Facts};

/// Due times that are shown.
const NEXT: usize = 5;
/// Firings that are read to find the one that is asked for.
const AROUND: usize = 50;

/// `soloist schedules show`
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  soloist schedules show nightly\n  soloist schedules show nightly --at 2027-03-26T02:30"
)]
pub(in crate::cli) struct Show {
    name: String,
    /// Say what became of this due time; without an offset on the clocks of the schedule's zone
    #[arg(long, value_name = "T")]
    at: Option<String>,
    /// Firings that are shown, newest first
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(0..=500))]
    firings: u16,
}

#[derive(Serialize)]
struct Whole<'a> {
    #[serde(flatten)]
    schedule: &'a ScheduleShape,
    words: String,
    next: Vec<DueTime>,
    firings: &'a [FiringShape],
    why: String,
}

impl Show {
    pub(super) fn run(self, asked: &Asked) -> Result<()> {
        let mut connection = asked.connect()?;
        let schedule = schedules::get(&mut connection, &self.name)?;
        let timer = schedules::timer(&mut connection, &self.name)?;
        let zone = Zone::get(&schedule.definition.timezone).unwrap_or_else(|_| Zone::utc());
        let at = self.at.as_deref().map(|text| typed(text, &zone)).transpose()?;
        let now = nodes::clock(&mut connection)?;
        let last = firings::list(&mut connection, Some(&self.name), None, self.firings.into())?;
        let why = why(&mut connection, &schedule, &timer, at.as_ref().map(|at| at.instant), now)?;
        let why = format!("{}{why}", at.map(|at| at.remark).unwrap_or_default());
        let next = schedule.next_fire_at.map(|at| DueTime::next(&timer, &zone, at - 1, NEXT)).unwrap_or_default();
        if asked.json {
            let (words, firings) = (when(&schedule), last.as_slice());
            return output::json(&Whole { schedule: &schedule, words, next, firings, why });
        }
        print(&schedule)?;
        if !next.is_empty() {
            output::line("")?;
            let (headings, rows) = DueTime::table(next, Some(now));
            table::print(&headings, rows, "")?;
        }
        if self.firings > 0 {
            output::line("")?;
            let rows = last.iter().map(firing_row).collect();
            table::print(
                &["DUE", "OUTCOME", "LATE", "NODE", "WORK", "RESULT", "REASON"],
                rows,
                "It has not fired yet.",
            )?;
        }
        output::line(format!("\n{why}"))
    }
}

fn why(
    connection: &mut Lent,
    schedule: &ScheduleShape,
    timer: &Timer,
    at: Option<Micros>,
    now: Micros,
) -> Result<String> {
    let scheduler_lives =
        node_list::seen_since(connection, now, now)?.iter().any(|node| node.is_living() && node.has("scheduler"));
    let all_held = schedules::held(connection)?.is_some();
    let facts = Facts { schedule, timer, scheduler_lives, all_held, now };
    let Some(at) = at else { return Ok(why::next(&facts)) };
    let around = firings::list(connection, Some(&schedule.name), Some(at.saturating_add(1)), AROUND)?;
    Ok(why::at(&facts, &around, at))
}

/// A time that is asked about, and what must be said of it first.
struct Typed {
    instant: Micros,
    remark: String,
}

/// An instant, or a time on the clocks of a zone.
fn typed(text: &str, zone: &Zone) -> Result<Typed> {
    if let Ok(at) = text.parse::<Timestamp>() {
        return Ok(Typed { instant: at.as_microsecond(), remark: String::new() });
    }
    let local = text.parse::<DateTime>().ok().and_then(|local| Some((local, zone.at(local)?)));
    let (local, instant) = local.ok_or_else(|| {
        let message = format!(
            "at: “{}” is no time that can be read: 2027-03-26T02:30 on the clocks of {zone}, or 2027-03-26T01:30:00Z",
            table::cut(text, 60)
        );
        Error::usage(message)
    })?;
    let shown = zone.local(instant);
    let is_left_out = shown.datetime() != local;
    let remark = match is_left_out {
        true => format!("{} is left out that day: clocks go on to {}. ", local.time(), shown.time()),
        false => String::new(),
    };
    Ok(Typed { instant, remark })
}

fn print(schedule: &ScheduleShape) -> Result<()> {
    let definition = &schedule.definition;
    let field = |name: &str, value: &str| output::line(format!("{name:<14} {value}").trim_end());
    let optional = |name: &str, value: Option<String>| value.map_or(Ok(()), |value| field(name, &value));
    field("schedule", &schedule.name)?;
    field("task", &definition.task)?;
    field("when", &when(schedule))?;
    optional("cron", definition.cron.clone())?;
    optional("every", definition.every.clone())?;
    field("timezone", &definition.timezone)?;
    optional("start", definition.start.map(|at| at.to_string()))?;
    optional("end", definition.end.map(|at| at.to_string()))?;
    optional(
        "payload",
        definition.payload.as_ref().map(|payload| table::cut(&payload.get().replace('\n', " "), 2000)),
    )?;
    field("jitter", &definition.jitter)?;
    let misfire = serde_json::to_value(definition.misfire).unwrap_or_default();
    let grace = definition.misfire_grace.as_ref().map(|grace| format!(", for {grace}")).unwrap_or_default();
    field("misfire", &format!("{}{grace}", misfire.as_str().unwrap_or_default()))?;
    let overlap = serde_json::to_value(definition.overlap).unwrap_or_default();
    field("overlap", overlap.as_str().unwrap_or_default())?;
    field("origin", origin(schedule))?;
    field("state", &state(schedule))?;
    field("last fired", &schedule.last_fired_at.map_or_else(|| "never".to_owned(), shown))
}

/// What became of a due time, cell by cell.
pub(in crate::cli) fn firing_row(firing: &FiringShape) -> Vec<String> {
    let (until, count) = (firing.until.filter(|until| *until != firing.scheduled_for), firing.count.unwrap_or(1));
    let until = until.map(|until| format!(" to {}", due(until))).unwrap_or_default();
    let work = firing.entry_id.map(|id| format!("entry {id}")).or(firing.sweep_id.map(|id| format!("sweep {id}")));
    let result = match (&firing.result, work.is_some()) {
        (Some(result), _) => match firing.attempts {
            Some(attempts @ 2..) => format!("{result} at attempt {attempts}"),
            _ => result.clone(),
        },
        (None, true) => "has not ended".to_owned(),
        (None, false) => String::new(),
    };
    vec![
        format!("{}{until}", due(firing.scheduled_for)),
        if count > 1 { format!("{}, {} times", firing.outcome, number(count)) } else { firing.outcome.clone() },
        firing.fired_at.map(|at| age(at - firing.scheduled_for)).unwrap_or_default(),
        firing.node.clone().unwrap_or_default(),
        work.unwrap_or_default(),
        result,
        table::cut(firing.reason.as_deref().unwrap_or_default(), 60),
    ]
}
