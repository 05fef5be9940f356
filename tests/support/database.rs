//! A fresh, empty database per test, gone when the test is over.

use std::{
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU32, Ordering},
    time::{SystemTime, UNIX_EPOCH},
};

use tempfile::TempDir;
use url::Url;

use crate::{Backend, client::Target, machine, servers};

/// An empty database of one test's own.
pub struct TestDatabase {
    backend: Backend,
    place: Place,
}

enum Place {
    File { path: PathBuf, _directory: TempDir },
    Server { url: Url, server: Url, name: String },
}

impl TestDatabase {
    /// Creates one, or says why the backend is left out.
    pub fn new(backend: Backend) -> Option<Self> {
        if backend == Backend::Sqlite {
            let directory = directory();
            let path = directory.path().join("soloist.db");
            return Some(Self { backend, place: Place::File { path, _directory: directory } });
        }
        match servers::url(backend) {
            Ok(url) => Some(Self::on(backend, &url)),
            Err(reason) if backend == Backend::MySql => {
                println!("left out: mysql: {reason}"); // Debian has no MySQL server: never demanded
                None
            }
            Err(reason) => machine::left_out(backend.name(), &reason),
        }
    }

    /// Creates one on the server of this superuser URL.
    pub fn on(backend: Backend, server: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let server = Url::parse(server).unwrap_or_else(|error| panic!("the URL of {}: {error}", backend.name()));
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |age| age.as_millis());
        let name = format!("test_{now}_{}_{}", process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let created = Target::Server(backend, &server).run(&format!("CREATE DATABASE {name};"));
        created.unwrap_or_else(|error| panic!("a database on {}: {error}", backend.name()));
        let mut url = server.clone();
        url.set_path(&name);
        Self { backend, place: Place::Server { url, server, name } }
    }

    /// The backend that it is on.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// Its URL as people write it in a configuration.
    pub fn url(&self) -> String {
        match &self.place {
            Place::File { path, .. } => format!("sqlite:{}", path.display()),
            Place::Server { url, .. } => url.to_string(),
        }
    }

    /// The file of a SQLite database.
    pub fn path(&self) -> Option<&Path> {
        match &self.place {
            Place::File { path, .. } => Some(path),
            Place::Server { .. } => None,
        }
    }

    /// Runs statements with the database's own client, each its own transaction unless they say otherwise.
    #[track_caller]
    pub fn sql(&self, sql: &str) {
        self.try_sql(sql).unwrap_or_else(|error| panic!("{}: {error}\n{sql}", self.backend.name()));
    }

    /// The same, giving the client's words where the database refuses.
    pub fn try_sql(&self, sql: &str) -> Result<(), String> {
        self.target().run(sql)
    }

    /// The rows of one statement: values as the client writes them, NULL as nothing.
    #[track_caller]
    pub fn query(&self, sql: &str) -> Vec<Vec<Option<String>>> {
        self.target().rows(sql).unwrap_or_else(|error| panic!("{}: {error}\n{sql}", self.backend.name()))
    }

    /// The one value of a statement that gives one row of one column.
    #[track_caller]
    pub fn value(&self, sql: &str) -> Option<String> {
        let rows = self.query(sql);
        assert!(rows.len() == 1 && rows[0].len() == 1, "one value was expected of {sql}: {rows:?}");
        rows.into_iter().flatten().next().flatten()
    }

    /// The number that a statement such as `SELECT count(*) …` gives.
    #[track_caller]
    pub fn number(&self, sql: &str) -> i64 {
        let value = self.value(sql);
        let number = value.as_deref().and_then(|value| value.parse().ok());
        number.unwrap_or_else(|| panic!("a number was expected of {sql}: {value:?}"))
    }

    fn target(&self) -> Target<'_> {
        match &self.place {
            Place::File { path, .. } => Target::File(path),
            Place::Server { url, .. } => Target::Server(self.backend, url),
        }
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        let Place::Server { server, name, .. } = &self.place else { return };
        let others = format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}';");
        let end = if self.backend == Backend::Postgres { others } else { String::new() };
        let dropped = Target::Server(self.backend, server).run(&format!("{end} DROP DATABASE IF EXISTS {name};"));
        if let Err(error) = dropped {
            println!("the database {name} stays: {error}");
        }
    }
}

/// A directory that is gone after the test: in memory where that is usual.
pub(crate) fn directory() -> TempDir {
    let memory = Path::new("/dev/shm");
    let mut builder = tempfile::Builder::new();
    let builder = builder.prefix("soloist-test.");
    builder.tempdir_in(memory).or_else(|_| builder.tempdir()).expect("a temporary directory")
}
