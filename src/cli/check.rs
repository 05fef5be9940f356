//! `soloist check`: whether the configuration holds before a node runs on it: the file, the server, the migrations, and
//! of each source the table, the key, the predicate and the write-backs; what each schedule means is said in words. Changes
//! nothing.

mod triggers;

use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};

use super::ask::Asked;
use super::output;
use crate::config::locate::locate;
use crate::config::{Config, DatabaseUrl, HandlerKind, Purpose};
use crate::error::{Error, Result};
use crate::store::migrate::{self, Schema};
use crate::store::source::{Inspection, Trial, inspect};
use crate::store::{Connection, Store, statement_handler};

/// `soloist check`
#[derive(Debug, Args)]
pub(super) struct Check {}

/// What became of one source.
struct Checked {
    task: String,
    result: Result<Inspection>,
}

impl Check {
    pub(super) fn run(self, asked: &Asked) -> Result<ExitCode> {
        let file = asked.config.as_deref();
        let config = Config::load(file, Purpose::Serve)
            .map_err(|errors| Error::usage(errors.render(false, "it would not run")))?;
        let store = Store::new(&config.database, config.node.lease, 1);
        let place = store.database.url.describe();
        let sourced = config.tasks.values().any(|task| task.source.is_some());
        if let Some(path) = absent(&store.database.url) {
            if sourced {
                return Err(Error::usage(format!("there is no database at {path}, so its tables cannot be looked at")));
            }
            let (tasks, schedules) = (config.tasks.len(), config.schedules.len());
            if asked.json {
                output::json(&json!({
                    "ok": true, "tasks": tasks, "schedules": schedules, "schema": "absent", "triggers": triggers::json(&config),
                }))?;
            } else {
                output::line(format!("{}\n{place}: not there yet; serve and migrate make it", counted(&config)))?;
                triggers::print(&config)?;
            }
            return Ok(ExitCode::SUCCESS);
        }
        let server = store.server()?;
        let mut connection = store.work()?;
        let schema = migrate::schema(&mut connection)?;
        if schema == Schema::New {
            return Err(Error::refused(format!(
                "{place} has migrations that this binary does not know; use a newer one"
            )));
        }
        let checked = sources(&mut connection, &config)?;
        let refused = refused_statements(&mut connection, &config)?;
        let notes = config.unused();
        let good = refused.is_empty() && checked.iter().all(Checked::is_good);
        if asked.json {
            let sources: Vec<_> = checked.iter().map(Checked::json).collect();
            let migrations = if schema == Schema::Current { "current" } else { "missing" };
            output::json(&json!({
                "ok": good, "server": server.name, "schema": migrations, "tasks": config.tasks.len(),
                "schedules": config.schedules.len(), "sources": sources, "errors": refused, "notes": notes,
                "triggers": triggers::json(&config),
            }))?;
        } else {
            output::line(counted(&config))?;
            output::line(format!("{}: {place}", server.name))?;
            output::line(match schema {
                Schema::Current => "Migrations: all applied",
                _ => "Migrations: some are missing; serve applies them, or soloist migrate",
            })?;
            for checked in &checked {
                checked.print()?;
            }
            triggers::print(&config)?;
            notes.iter().for_each(|note| output::note(format!("note: {note}")));
        }
        for trouble in refused.into_iter().chain(checked.iter().flat_map(Checked::troubles)) {
            let at = file.and_then(|file| written_at(file, &config, &trouble));
            output::note(format!("error: {}{trouble}", at.map(|at| format!("{at}: ")).unwrap_or_default()));
        }
        Ok(ExitCode::from(if good { 0 } else { 2 }))
    }
}

/// The path of a SQLite file that is not there; to open it would make it.
fn absent(url: &DatabaseUrl) -> Option<&str> {
    match url {
        DatabaseUrl::Sqlite { path, memory: false } if !path.starts_with("file:") && !Path::new(path).exists() => {
            Some(path)
        }
        _ => None,
    }
}

/// Where the key stands with which a trouble begins: `tasks.thumbnail.source.done: …`.
fn written_at(file: &Path, config: &Config, trouble: &str) -> Option<String> {
    let of_tasks = trouble.strip_prefix("tasks.")?;
    // A name may hold dots.
    let of = |name: &str| of_tasks.strip_prefix(name)?.strip_prefix('.');
    let name = config.tasks.keys().filter(|name| of(name).is_some()).max_by_key(|name| name.len())?;
    let keys = of(name)?.split(':').next()?;
    locate(file, &["tasks", name.as_str()].into_iter().chain(keys.split('.')).collect::<Vec<_>>())
}

fn counted(config: &Config) -> String {
    let plural = |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    format!("Configuration: {}, {}", plural(config.tasks.len(), "task"), plural(config.schedules.len(), "schedule"))
}

/// A fault of one source leaves the others to be looked at; a database that is gone ends the command.
fn sources(connection: &mut Connection, config: &Config) -> Result<Vec<Checked>> {
    let mut checked = Vec::new();
    for (name, task) in &config.tasks {
        let Some(source) = &task.source else { continue };
        let result = inspect(connection, name, source);
        if let Err(error) = &result
            && error.is_transient()
        {
            return Err(error.clone().context(format_args!("tasks.{name}.source")));
        }
        checked.push(Checked { task: name.clone(), result });
    }
    Ok(checked)
}

/// What the database says of SQL handlers that it would not run.
fn refused_statements(connection: &mut Connection, config: &Config) -> Result<Vec<String>> {
    let mut refused = Vec::new();
    for (name, task) in &config.tasks {
        let HandlerKind::Sql(sql) = &task.handler else { continue };
        match statement_handler::explain(connection, sql) {
            Ok(()) => {}
            Err(error) if error.is_transient() => return Err(error.context(format_args!("tasks.{name}.sql"))),
            Err(error) => refused.push(format!("tasks.{name}.sql: {error}")),
        }
    }
    Ok(refused)
}

impl Checked {
    fn is_good(&self) -> bool {
        self.troubles().is_empty()
    }

    /// What must be mended.
    fn troubles(&self) -> Vec<String> {
        let told = match &self.result {
            Ok(told) => told,
            Err(error) => return error.to_string().lines().map(str::to_owned).collect(),
        };
        let trials = [("done", &told.done_trial), ("failed", &told.failed_trial)];
        let refused = trials.into_iter().filter_map(|(setting, trial)| match trial {
            Trial::Refused(words) => Some(format!("tasks.{}.source.{setting}: {words}", self.task)),
            _ => None,
        });
        refused.collect()
    }

    /// What should be thought about.
    fn remarks(told: &Inspection) -> Vec<String> {
        let mut remarks = Vec::new();
        if !told.indexed {
            remarks.push("no index serves `pending`: each sweep reads the whole table".to_owned());
        }
        if told.sorts {
            remarks.push("no index serves `order`: each step of a sweep sorts the rows that wait".to_owned());
        }
        if !told.transactional {
            remarks.push(format!("{} is not transactional: a crash may do a row twice", told.table));
        }
        remarks
    }

    fn print(&self) -> Result<()> {
        let Ok(told) = &self.result else { return Ok(()) };
        let number =
            |count: Option<i64>| count.map_or_else(|| "too many to count".to_owned(), |count| count.to_string());
        output::line(format!("\nTask {}: rows of {}", self.task, told.table))?;
        output::line(format!("  pending   {} of {}", number(told.pending), number(told.rows)))?;
        output::line(format!(
            "  index     {}",
            if told.indexed { "serves `pending`" } else { "none serves `pending`" }
        ))?;
        output::line(format!("  payload   {}", told.columns.join(", ")))?;
        for (setting, trial) in [("done", &told.done_trial), ("failed", &told.failed_trial)] {
            let went = match trial {
                Trial::Passed(key) => format!("tried on the row {key} and taken back"),
                Trial::Refused(_) => "refused, see below".to_owned(),
                Trial::NoRow => "not tried: no row is pending".to_owned(),
                Trial::Nothing => "not set".to_owned(),
                Trial::NotTransactional => "not tried: the table could not take it back".to_owned(),
            };
            output::line(format!("  {setting:9} {went}"))?;
        }
        for remark in Self::remarks(told) {
            output::line(format!("  note      {remark}"))?;
        }
        output::line("  What will run:")?;
        let statements = [Some(&told.collect), Some(&told.read), told.done.as_ref(), told.failed.as_ref()];
        for sql in statements.into_iter().flatten() {
            output::line(format!("    {}", sql.replace('\n', "\n      ")))?;
        }
        Ok(())
    }

    fn json(&self) -> Value {
        let told = match &self.result {
            Ok(told) => told,
            Err(error) => return json!({ "task": self.task, "errors": error.to_string().lines().collect::<Vec<_>>() }),
        };
        let trial = |trial: &Trial| match trial {
            Trial::Passed(key) => json!({ "outcome": "passed", "key": key }),
            Trial::Refused(words) => json!({ "outcome": "refused", "error": words }),
            Trial::NoRow => json!({ "outcome": "no_row" }),
            Trial::NotTransactional => json!({ "outcome": "not_transactional" }),
            Trial::Nothing => Value::Null,
        };
        json!({
            "task": self.task, "table": told.table, "pending": told.pending, "rows": told.rows, "indexed": told.indexed,
            "transactional": told.transactional, "columns": told.columns, "errors": self.troubles(),
            "notes": Self::remarks(told),
            "sql": { "collect": told.collect, "read": told.read, "done": told.done, "failed": told.failed },
            "trial": { "done": trial(&told.done_trial), "failed": trial(&told.failed_trial) },
        })
    }
}
