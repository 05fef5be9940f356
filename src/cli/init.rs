//! `soloist init`: writes a commented configuration, and overwrites nothing.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::ask::Asked;
use super::output;
use crate::config::{load, sample};
use crate::error::Result;

/// `soloist init`
#[derive(Debug, Args)]
pub(super) struct Init {}

impl Init {
    pub(super) fn run(self, asked: &Asked) -> Result<ExitCode> {
        let path = asked.config.clone().unwrap_or_else(|| PathBuf::from(load::DEFAULT_FILE));
        sample::write(&path)?;
        if asked.json {
            output::json(&serde_json::json!({ "file": path.display().to_string() }))?;
        } else {
            output::line(format!("Wrote {} ({} lines).", path.display(), sample::TEXT.lines().count()))?;
            output::line("Next: name your database and a task in it, then  soloist check")?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
