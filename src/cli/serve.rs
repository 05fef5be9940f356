//! `soloist serve`: runs a node until it is told to stop.

use std::process::ExitCode;

use clap::Args;

use super::ask::Asked;
use crate::config::{Config, Purpose, print};
use crate::error::{Error, Result};
use crate::node::Migrate;
use crate::{serve, telemetry};

/// `soloist serve`
#[derive(Debug, Args)]
pub(super) struct Serve {
    /// Refuse to start on an old schema instead of migrating it
    #[arg(long)]
    no_migrate: bool,
    /// Ends at once when this process, which must have started it, ends
    #[arg(long, value_name = "PID", hide = true)]
    end_with: Option<i32>,
}

impl Serve {
    pub(super) fn run(self, asked: &Asked) -> Result<ExitCode> {
        if let Some(parent) = self.end_with {
            end_with(parent)?;
        }
        let config = Config::load(asked.config.as_deref(), Purpose::Serve)
            .map_err(|errors| Error::usage(errors.render(print::stderr_takes_colours(), "nothing was started")))?;
        telemetry::init();
        let migrate = if self.no_migrate { Migrate::Refuse } else { Migrate::Up };
        serve::run(config, asked.config.clone(), migrate)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Has the kernel end this process when the one that started it ends, also by kill -9.
fn end_with(parent: i32) -> Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Signal, set_parent_process_death_signal};
        set_parent_process_death_signal(Some(Signal::KILL)).map_err(Error::internal)?;
    }
    // It may have ended before the call above, which then came too late.
    match rustix::process::getppid() {
        Some(now) if now.as_raw_nonzero().get() == parent => Ok(()),
        _ => Err(Error::usage(format!("process {parent} did not start this one, or has ended"))),
    }
}
