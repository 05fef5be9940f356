//! `soloist schedules change`: other fields for a schedule that no node declares.

use clap::Args;
use clap::builder::PossibleValuesParser;

use super::fields::Fields;
use super::from_now_on;
use crate::cli::ask::{Asked, who};
use crate::cli::output;
use crate::config::schedule::wanted::{FIELDS, Wanted};
use crate::error::{Error, Result};
use crate::store::schedules;

const EXAMPLES: &str = "\
Examples:
  soloist schedules change nightly --cron '30 3 * * *'
  soloist schedules change nightly --overlap queue --default jitter,misfire_grace";

/// `soloist schedules change`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(in crate::cli) struct Change {
    name: String,
    /// Another task
    #[arg(long)]
    task: Option<String>,
    #[command(flatten)]
    fields: Fields,
    /// Fields that go back to their default
    #[arg(long, value_name = "FIELD", value_delimiter = ',', value_parser = PossibleValuesParser::new(&FIELDS[4..]))]
    default: Vec<String>,
}

impl Change {
    pub(super) fn run(self, asked: &Asked) -> Result<()> {
        let mut wanted = Wanted::default();
        if self.task.is_some() {
            wanted.set("task", self.task);
        }
        self.fields.add_to(&mut wanted)?;
        for field in FIELDS.into_iter().filter(|field| self.default.iter().any(|typed| typed == field)) {
            wanted.set(field, None);
        }
        if wanted.is_empty() {
            return Err(Error::usage("say what is to change: --cron, --every, --payload and so on, see --help"));
        }
        let mut connection = asked.connect()?;
        let change = |schedule| wanted.change(schedule).map_err(Error::from);
        let changed = schedules::change(&mut connection, &self.name, &who(), change)?;
        if asked.json { output::json(&changed) } else { output::line(from_now_on(&changed)) }
    }
}
