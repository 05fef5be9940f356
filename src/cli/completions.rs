//! `soloist completions`: what a shell needs to complete commands and options.

use std::process::ExitCode;

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use super::{Cli, output};
use crate::error::Result;

const EXAMPLES: &str = "\
Examples:
  soloist completions bash > ~/.local/share/bash-completion/completions/soloist
  soloist completions zsh > ~/.zfunc/_soloist
  soloist completions fish > ~/.config/fish/completions/soloist.fish";

/// `soloist completions`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Completions {
    /// For this shell
    shell: Shell,
}

impl Completions {
    pub(super) fn run(self) -> Result<ExitCode> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "soloist", &mut script);
        output::raw(String::from_utf8_lossy(&script))?;
        Ok(ExitCode::SUCCESS)
    }
}
