//! The command line: what may be typed, and which module answers it. Each command has a file of its own.
//!
//! Commands speak to the database, not to a node. Exit codes: 0 done, 1 failed while running, 2 wrong usage or
//! configuration.

mod ask;
mod audit;
mod bench;
mod check;
mod completions;
mod demo;
mod due_times;
mod enqueue;
mod entries;
mod firings;
mod init;
mod man;
mod migrate;
mod nodes;
mod once;
mod openapi;
mod output;
mod payload;
mod preview;
mod schedules;
mod serve;
mod status;
mod table;
mod tasks;
mod time_text;
mod work;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::error::Result;
use ask::Asked;

/// Work that must happen once, on one of many processes, with nothing but your database.
#[derive(Debug, Parser)]
#[command(name = "soloist", version, propagate_version = true, max_term_width = 100)]
struct Cli {
    /// The configuration; without one DATABASE_URL, else sqlite:soloist.db
    #[arg(long, global = true, value_name = "FILE", env = "SOLOIST_CONFIG", help_heading = "Everywhere")]
    config: Option<PathBuf>,
    /// Print results as JSON
    #[arg(long, global = true, help_heading = "Everywhere")]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// See it work: a table, some nodes, nothing to install
    Demo(demo::Demo),
    /// Write a commented soloist.toml
    Init(init::Init),
    /// Look whether the configuration holds: database, migrations, sources
    Check(check::Check),
    /// Make or change Soloist's tables
    Migrate(migrate::Migrate),
    /// Run a node
    Serve(serve::Serve),
    /// Work until nothing is due, then exit: for cron
    Work(work::Work),
    /// Run a program on one of however many hosts call it: for cron
    Once(once::Once),
    /// Accept an entry, or one for each line
    Enqueue(enqueue::Enqueue),
    /// See and steer entries
    #[command(subcommand)]
    Entries(entries::Entries),
    /// See and steer tasks
    #[command(subcommand)]
    Tasks(tasks::Tasks),
    /// See and steer schedules
    #[command(subcommand)]
    Schedules(schedules::Schedules),
    /// See what became of due times
    #[command(subcommand)]
    Firings(firings::Firings),
    /// See nodes and their background duties
    #[command(subcommand)]
    Nodes(nodes::Nodes),
    /// When a trigger is due: the next times of a cron expression or an interval
    Preview(preview::Preview),
    /// Who changed what: pauses, retries, schedules
    Audit(audit::Audit),
    /// What is wrong, and how the tasks stand
    Status(status::Status),
    /// Measure this installation on its own database
    Bench(bench::Bench),
    /// Print completions for a shell
    Completions(completions::Completions),
    /// Print the manual page, or write one for each command
    Man(man::Man),
    /// Print the document of the admin API: OpenAPI 3.1
    Openapi(openapi::Openapi),
}

const FIRST_WORDS: &str = "\
Soloist makes each schedule fire once and each row be processed once, however
many processes run, with nothing but the database that you have already.

  soloist demo       see it work, with nothing to set up
  soloist init       write a commented soloist.toml
  soloist check      say in words what your configuration will do, and try it
  soloist serve      run a node; start as many as you like
  soloist enqueue    hand over work: soloist enqueue mail --payload '{\"to\": 7}'
  soloist entries    see what became of it, retry, cancel, delete
  soloist status     what is wrong, in sentences, and how the tasks stand

All commands: soloist --help";

/// Runs the command that was typed.
pub fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    if arguments.len() < 2 {
        eprintln!("{FIRST_WORDS}");
        return ExitCode::from(2);
    }
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // Its words go to a terminal that may be gone.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    let asked = Asked { config: cli.config, json: cli.json };
    match run(&asked, cli.command) {
        Ok(code) => code,
        Err(error) => {
            output::error(&asked, &error);
            ExitCode::from(error.exit_code())
        }
    }
}

fn run(asked: &Asked, command: Command) -> Result<ExitCode> {
    match command {
        Command::Demo(command) => command.run(asked),
        Command::Init(command) => command.run(asked),
        Command::Check(command) => command.run(asked),
        Command::Migrate(command) => command.run(asked),
        Command::Serve(command) => command.run(asked),
        Command::Work(command) => command.run(asked),
        Command::Once(command) => command.run(asked),
        Command::Enqueue(command) => command.run(asked),
        Command::Entries(command) => command.run(asked),
        Command::Tasks(command) => command.run(asked),
        Command::Preview(command) => command.run(asked),
        Command::Schedules(command) => command.run(asked),
        Command::Audit(command) => command.run(asked),
        Command::Status(command) => command.run(asked),
        Command::Bench(command) => command.run(asked),
        Command::Firings(command) => command.run(asked),
        Command::Nodes(command) => command.run(asked),
        Command::Completions(command) => command.run(),
        Command::Man(command) => command.run(),
        Command::Openapi(command) => command.run(),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_arguments_hold_together() {
        super::Cli::command().debug_assert();
    }

    #[test]
    fn the_first_words_are_twelve_lines() {
        assert_eq!(super::FIRST_WORDS.lines().count(), 12);
    }
}
