//! `soloist man`: the manual pages, made from the same words as the help.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, CommandFactory as _};
use clap_mangen::Man as Page;

use super::{Cli, output};
use crate::error::{Error, Result};

const EXAMPLES: &str = "\
Examples:
  soloist man | man -l -
  soloist man --dir /usr/local/share/man/man1";

/// `soloist man`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Man {
    /// Write one page a command into this folder, in place of the first to standard output
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

impl Man {
    pub(super) fn run(self) -> Result<ExitCode> {
        let mut command = Cli::command().disable_help_subcommand(true);
        command.build();
        let Some(dir) = self.dir else {
            output::raw(String::from_utf8_lossy(&page(&Page::new(command))?))?;
            return Ok(ExitCode::SUCCESS);
        };
        let wrong = |error| Error::transient(format!("{} cannot be written: {error}", dir.display()));
        fs::create_dir_all(&dir).map_err(wrong)?;
        let mut written = 0;
        let mut left = vec![command];
        while let Some(command) = left.pop() {
            left.extend(command.get_subcommands().filter(|one| !one.is_hide_set()).cloned());
            let page_of = Page::new(command);
            fs::write(dir.join(page_of.get_filename()), page(&page_of)?).map_err(wrong)?;
            written += 1;
        }
        output::line(format!("{written} pages are in {}.", dir.display()))?;
        Ok(ExitCode::SUCCESS)
    }
}

fn page(of: &Page) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    of.render(&mut text).map_err(Error::internal)?;
    Ok(text)
}
