//! Where a demo happens: a directory of its own with the nodes' configuration and logs, and a database, its own file
//! or one that was named. Owns what is made before and what is taken away after.

use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::config::{Database, DatabaseUrl, Synchronous};
use crate::error::{Error, Result};
use crate::store::demo::{self, Names};
use crate::store::migrate::{self, Schema};
use crate::store::{Connection, Store, wake};

/// What all nodes are told. A short lease, so that what a killed node held is taken over while people look; the
/// transaction is off, so that entries are seen to be claimed, leased and rescued.
const CONFIG: &str = r#"# The nodes of a demo. Values in ${…} come from the environment that the demo gives them.
[database]
url = {url}
connections = 2
wake = "{wake}"
synchronous = "normal"   # SQLite: survives kill -9, not a power cut

[node]
name = "${SOLOIST_DEMO_NODE:-demo}"
roles = ["scheduler", "worker"]
lease = "1s"
drain = "3s"
poll = "250ms"

[tasks.{task}]
sql = {handler}
transaction = false

[tasks.{task}.source]
table = "{orders}"
key = "id"
pending = "processed = FALSE"
done = "processed = TRUE"
columns = ["id", "item"]

[tasks.{beat}]
sql = {beat_handler}

[schedules.{beat}]
task = "{beat}"
every = "500ms"
misfire = "all"
overlap = "allow"
"#;

/// How often the schedule of a demo is due.
pub(super) const BEAT: Duration = Duration::from_millis(500);

/// Where a demo happens.
pub(super) struct Place {
    /// Where configuration and logs are.
    pub directory: PathBuf,
    /// Tells this demo from others.
    pub mark: String,
    /// Tables and task.
    pub names: Names,
    /// The database, for nodes.
    pub url: String,
    /// The database, for the demo.
    pub store: Store,
    /// What kind of database that is.
    pub described: String,
    /// True if the database is a file in the directory.
    own: bool,
    /// A SQLite file elsewhere that was not there before.
    made_file: Option<PathBuf>,
    /// True if Soloist's tables were not there before.
    made_schema: bool,
    /// How nodes learn of entries: an installation that goes without the trigger is left so.
    wake: &'static str,
    kept: bool,
}

impl Place {
    /// Makes the directory, the tables and the configuration.
    pub(super) fn prepare(url: Option<&str>, rows: u64) -> Result<Self> {
        let mark = format!("{:x}{:03x}", std::process::id(), fastrand::u16(..0x1000));
        let directory = std::env::temp_dir().join(format!("soloist-demo-{mark}"));
        let failed = |error: std::io::Error| {
            Error::transient(format!("{} cannot be made: {error}; TMPDIR names another place", directory.display()))
        };
        let file = directory.join("demo.db");
        let text = url.map_or_else(|| format!("sqlite:{}", file.display()), str::to_owned);
        let parsed = DatabaseUrl::parse(&text)?;
        if matches!(parsed, DatabaseUrl::Sqlite { memory: true, .. }) {
            return Err(Error::usage(
                "the nodes are processes, which cannot share a database in memory; leave --database out for a file",
            ));
        }
        std::fs::DirBuilder::new().mode(0o700).create(&directory).map_err(failed)?;
        let described = match (url, &parsed) {
            (None, _) => "one SQLite file".to_owned(),
            (Some(_), url) => url.describe(),
        };
        let database =
            Database { url: parsed, connections: 1, synchronous: Synchronous::Normal, ..Database::default() };
        let store = Store::new(&database, Duration::from_secs(15), 1);
        let names = if url.is_none() { Names::alone() } else { Names::beside(&mark) };
        let own = url.is_none();
        let made_file = match &database.url {
            DatabaseUrl::Sqlite { path, .. } if !own && !Path::new(path).exists() => Some(path.into()),
            _ => None,
        };
        let mut place = Self {
            directory,
            mark,
            names,
            url: text,
            store,
            described,
            own,
            made_file,
            made_schema: false,
            wake: "notify",
            kept: false,
        };
        place.fill(rows)?;
        Ok(place)
    }

    fn fill(&mut self, rows: u64) -> Result<()> {
        self.store.server()?;
        let mut connection = self.store.work()?;
        match migrate::schema(&mut connection)? {
            Schema::Current => {
                let wakes =
                    !matches!(self.store.database.url, DatabaseUrl::Postgres(_)) || wake::is_set(&mut connection)?;
                self.wake = if wakes { "notify" } else { "poll" };
            }
            Schema::Old => {
                self.made_schema = migrate::status(&mut connection)?.iter().all(|step| !step.applied);
                migrate::up(&mut connection)?;
            }
            Schema::New => {
                let message = "has migrations that this binary does not know; use a newer one";
                return Err(Error::refused(format!("{} {message}", self.described)));
            }
        }
        let made = demo::create(&mut connection, &self.names, rows).and_then(|()| self.write_config());
        if made.is_err() && !self.own {
            // What went wrong first is what is told.
            let _ = demo::remove(&mut connection, &self.names, &[], self.made_schema);
        }
        made
    }

    fn write_config(&self) -> Result<()> {
        // A JSON text is a TOML text too; `$${` stands for `${`.
        let quoted = |text: &str| serde_json::Value::from(text.replace("${", "$${")).to_string();
        let url = if self.own { quoted(&self.url) } else { "\"${SOLOIST_DEMO_URL}\"".to_owned() };
        let text = CONFIG
            .replace("{url}", &url)
            .replace("{wake}", self.wake)
            .replace("{task}", &self.names.task)
            .replace("{orders}", &self.names.orders)
            .replace("{beat}", &self.names.beat)
            .replace("{beat_handler}", &quoted(&self.names.beat_handler()))
            .replace("{handler}", &quoted(&self.names.handler()));
        std::fs::write(self.config(), text)
            .map_err(|error| Error::transient(format!("{} cannot be written: {error}", self.config().display())))
    }

    /// The nodes' configuration.
    pub(super) fn config(&self) -> PathBuf {
        self.directory.join("soloist.toml")
    }

    /// Takes away what the demo made, or keeps what there is to look at.
    pub(super) fn close(&mut self, nodes: &[String], keep: bool) -> Result<()> {
        self.kept = keep && self.own;
        if self.own || keep {
            return Ok(());
        }
        if let Some(file) = &self.made_file {
            for end in ["", "-wal", "-shm"] {
                // What is not there need not go.
                let _ = std::fs::remove_file(format!("{}{end}", file.display()));
            }
            return Ok(());
        }
        let result = self.store.work().and_then(|mut connection| {
            let connection: &mut Connection = &mut connection;
            demo::remove(connection, &self.names, nodes, self.made_schema)
        });
        result.map_err(|error| {
            let Names { orders, log, .. } = &self.names;
            error.context(format_args!("the tables {orders} and {log} could not be dropped"))
        })
    }

    /// The directory, if it stays.
    pub(super) fn kept(&self) -> Option<&Path> {
        self.kept.then_some(self.directory.as_path())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !self.kept {
            let _ = std::fs::remove_dir_all(&self.directory);
        }
    }
}
