//! `soloist schedules add`: a schedule that no configuration holds.

use clap::{ArgGroup, Args};

use super::when;
use crate::cli::ask::Asked;
use crate::cli::time_text::shown;
use crate::cli::{output, payload};
use crate::config::schedule::wanted::Wanted;
use crate::error::Result;
use crate::store::schedules::{self, Origin};

const EXAMPLES: &str = "\
Examples:
  soloist schedules add nightly --task thumbnail --cron '0 3 * * *' --timezone Europe/Berlin
  soloist schedules add often --task mail --every 90s --payload '{\"digest\": true}' --overlap queue
  soloist schedules add once --task report --at 2027-01-01T00:00:00Z";

/// `soloist schedules add`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, group = ArgGroup::new("trigger").required(true).args(["every", "cron", "at"]))]
pub(in crate::cli) struct Add {
    /// Letters, digits, _ . and -
    name: String,
    /// The task that it fires: a sweep if it has a source, else an entry
    #[arg(long)]
    task: String,
    /// An interval, such as 90s or 4h: at least 100ms
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    every: Option<String>,
    /// A cron expression of five fields, or six with seconds first
    #[arg(long, value_name = "EXPR")]
    cron: Option<String>,
    /// One moment, such as 2027-01-01T03:00:00Z
    #[arg(long, value_name = "T")]
    at: Option<String>,
    /// On whose clocks --cron is read, such as Europe/Berlin [default: UTC]
    #[arg(long, value_name = "Z")]
    timezone: Option<String>,
    /// JSON, @FILE, or - for standard input; for a task without a source
    #[arg(long, value_name = "JSON|@FILE|-")]
    payload: Option<String>,
    /// Nothing before this instant; --every counts from it
    #[arg(long, value_name = "T")]
    start: Option<String>,
    /// Nothing after this instant
    #[arg(long, value_name = "T")]
    end: Option<String>,
    /// Puts off what is fired by up to this much, by chance
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    jitter: Option<String>,
    /// Of due times that were missed: once (the newest fires), skip or all [default: once]
    #[arg(long, value_name = "M")]
    misfire: Option<String>,
    /// What was missed longer ago than this is not made up
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    misfire_grace: Option<String>,
    /// While the one before still goes on: skip, queue or allow [default: skip]
    #[arg(long, value_name = "O")]
    overlap: Option<String>,
}

impl Add {
    pub(super) fn run(self, asked: &Asked) -> Result<()> {
        let mut wanted = Wanted::default();
        wanted.set("task", Some(self.task));
        for (field, typed) in [
            ("every", self.every),
            ("cron", self.cron),
            ("at", self.at),
            ("timezone", self.timezone),
            ("payload", self.payload.as_deref().map(payload::read).transpose()?),
            ("start", self.start),
            ("end", self.end),
            ("jitter", self.jitter),
            ("misfire", self.misfire),
            ("misfire_grace", self.misfire_grace),
            ("overlap", self.overlap),
        ] {
            if typed.is_some() {
                wanted.set(field, typed);
            }
        }
        let schedule = wanted.make(&self.name)?;
        let made = schedules::create(&mut *asked.connect()?, schedule, Origin::Cli)?;
        if asked.json {
            return output::json(&made);
        }
        let next = match made.next_fire_at {
            Some(at) => format!("next at {}", shown(at)),
            None => "but nothing is to come".to_owned(),
        };
        output::line(format!("{} fires {} {}; {next}.", made.name, made.definition.task, when(&made)))
    }
}
