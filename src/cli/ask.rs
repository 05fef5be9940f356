//! How a command comes to its configuration and its database.

use std::path::{Path, PathBuf};

use crate::config::{Config, DatabaseUrl, Purpose, print};
use crate::error::{Error, Result};
use crate::model::By;
use crate::store::migrate::{self, Schema};
use crate::store::{Lent, Store};

/// What was typed before or after any command.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    /// `--config`
    pub config: Option<PathBuf>,
    /// `--json`
    pub json: bool,
}

impl Asked {
    /// The configuration, for a command that only speaks to the database.
    pub(super) fn config(&self) -> Result<Config> {
        let file = self.config.as_deref();
        Config::load(file, Purpose::Ask).map_err(|errors| {
            Error::usage(errors.render(!self.json && print::stderr_takes_colours(), "nothing was done"))
        })
    }

    /// The database, whatever its schema.
    pub(super) fn store(&self) -> Result<Store> {
        let config = self.config()?;
        Ok(Store::new(&config.database, config.node.lease, 1))
    }

    /// The database, if it is one that may be there: to look at a file that is not would make it.
    pub(super) fn store_that_is(&self) -> Result<Store> {
        let store = self.store()?;
        if let DatabaseUrl::Sqlite { path, memory: false } = &store.database.url
            && !path.starts_with("file:")
            && !Path::new(path).exists()
        {
            return Err(Error::usage(format!("there is no database at {path}; to make it: soloist migrate")));
        }
        Ok(store)
    }

    /// A connection to a database that has Soloist's tables, all of them.
    pub(super) fn connect(&self) -> Result<Lent> {
        let store = self.store_that_is()?;
        let mut connection = store.work()?;
        has_tables(&store, &mut connection)?;
        Ok(connection)
    }
}

/// An error unless the database has all of Soloist's tables.
pub(super) fn has_tables(store: &Store, connection: &mut Lent) -> Result<()> {
    if migrate::schema(connection)? == Schema::Old {
        let place = store.database.url.describe();
        return Err(Error::usage(format!("{place} lacks tables of Soloist; to make them: soloist migrate")));
    }
    Ok(())
}

/// Who sits at this terminal, for the record.
pub(super) fn who() -> By {
    let user =
        ["USER", "LOGNAME"].into_iter().find_map(|name| std::env::var(name).ok().filter(|user| !user.is_empty()));
    By::cli(user.unwrap_or_else(|| "cli".to_owned()))
}
