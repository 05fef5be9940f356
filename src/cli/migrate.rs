//! `soloist migrate`: Soloist's tables in your database.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::json;

use super::ask::Asked;
use super::{output, table};
use crate::error::{Error, Result};
use crate::store::{migrate, node_list};

/// `soloist migrate`
#[derive(Debug, Args)]
pub(super) struct Migrate {
    #[command(subcommand)]
    direction: Option<Direction>,
}

#[derive(Debug, Subcommand)]
enum Direction {
    /// Apply what is missing (the default)
    Up,
    /// Say which migrations the database has
    Status,
    /// Drop all of Soloist's tables, with every entry in them
    Down {
        /// Yes, drop them
        #[arg(long)]
        yes: bool,
    },
}

impl Migrate {
    pub(super) fn run(self, asked: &Asked) -> Result<ExitCode> {
        let store = asked.store()?;
        let server = store.server()?;
        let mut connection = store.work()?;
        match self.direction.unwrap_or(Direction::Up) {
            Direction::Up => {
                let applied = migrate::up(&mut connection)?;
                if asked.json {
                    output::json(&json!({ "applied": applied }))?;
                } else if applied.is_empty() {
                    output::line(format!("Nothing to do: {} has all migrations.", store.database.url.describe()))?;
                } else {
                    for name in &applied {
                        output::line(format!("applied {name}"))?;
                    }
                    output::line(format!("{}: {} is ready.", server.name, store.database.url.describe()))?;
                }
            }
            Direction::Status => {
                let steps = migrate::status(&mut connection)?;
                if asked.json {
                    let steps: Vec<_> =
                        steps.iter().map(|step| json!({ "name": step.name, "applied": step.applied })).collect();
                    output::json(&steps)?;
                } else {
                    let word = |applied| if applied { "yes" } else { "no" };
                    let rows = steps.into_iter().map(|step| vec![step.name, word(step.applied).to_owned()]).collect();
                    table::print(&["MIGRATION", "APPLIED"], rows, "no migrations")?;
                }
            }
            Direction::Down { yes } => {
                if !yes {
                    let place = store.database.url.describe();
                    let message =
                        format!("this drops all tables of Soloist in {place}, with every entry; to do it, add --yes");
                    return Err(Error::usage(message));
                }
                if migrate::status(&mut connection)?.iter().any(|step| step.applied && step.name.contains("nodes")) {
                    let living = node_list::living(&mut connection)?;
                    if !living.is_empty() {
                        let names = living.join(", ");
                        return Err(Error::refused(format!("nodes are running here: {names}; stop them first")));
                    }
                }
                let dropped = migrate::down(&mut connection)?;
                if asked.json {
                    output::json(&json!({ "dropped": dropped }))?;
                } else {
                    output::line(format!("{} has no tables of Soloist any more.", store.database.url.describe()))?;
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
