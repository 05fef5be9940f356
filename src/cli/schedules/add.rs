//! `soloist schedules add`: a schedule that no configuration holds.

use clap::{ArgGroup, Args};

use super::fields::Fields;
use super::from_now_on;
use crate::cli::ask::{Asked, who};
use crate::cli::output;
use crate::config::schedule::wanted::Wanted;
use crate::error::Result;
use crate::store::schedules;

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
    #[command(flatten)]
    fields: Fields,
}

impl Add {
    pub(super) fn run(self, asked: &Asked) -> Result<()> {
        let mut wanted = Wanted::default();
        wanted.set("task", Some(self.task));
        self.fields.add_to(&mut wanted)?;
        let schedule = wanted.make(&self.name)?;
        let made = schedules::create(&mut *asked.connect()?, schedule, &who())?;
        if asked.json {
            return output::json(&made);
        }
        output::line(from_now_on(&made))
    }
}
