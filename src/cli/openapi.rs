//! `soloist openapi`: the document of the admin API. Needs no database and no configuration.

use std::process::ExitCode;

use clap::Args;

use super::output;
use crate::error::Result;
use crate::http;

/// `soloist openapi`
#[derive(Debug, Args)]
pub(super) struct Openapi {}

impl Openapi {
    pub(super) fn run(&self) -> Result<ExitCode> {
        output::line(http::openapi_json().trim_end())?;
        Ok(ExitCode::SUCCESS)
    }
}
