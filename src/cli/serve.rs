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
}

impl Serve {
    pub(super) fn run(self, asked: &Asked) -> Result<ExitCode> {
        let config = Config::load(asked.config.as_deref(), Purpose::Serve)
            .map_err(|errors| Error::usage(errors.render(print::stderr_takes_colours(), "nothing was started")))?;
        telemetry::init();
        let migrate = if self.no_migrate { Migrate::Refuse } else { Migrate::Up };
        serve::run(config, asked.config.clone(), migrate)?;
        Ok(ExitCode::SUCCESS)
    }
}
