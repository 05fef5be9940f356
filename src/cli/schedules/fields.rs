//! The options that say what a schedule is, for `add` and for `change`.

use clap::Args;

use crate::cli::payload;
use crate::config::schedule::wanted::Wanted;
use crate::error::Result;

/// What a schedule is, besides its name and its task.
#[derive(Debug, Args)]
pub(super) struct Fields {
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

impl Fields {
    /// Adds what was typed.
    pub(super) fn add_to(self, wanted: &mut Wanted) -> Result<()> {
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
        Ok(())
    }
}
