//! A lock that a test holds on the database, in a session of its own, until it lets go.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use house::{Backend, TestDatabase};

/// Reads statements line by line and runs each at once: what the clients of the servers do, for SQLite.
const SQLITE: &str = r"
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], timeout=30, isolation_level=None)
for line in sys.stdin:
    for row in connection.execute(line):
        print(row[0], flush=True)
";

/// An open session in which a lock is held. Dropping it lets go.
pub struct Lock {
    session: Child,
}

impl Lock {
    /// Nobody can write entries.
    pub fn on_entries(database: &TestDatabase) -> Self {
        Self::take(
            database,
            match database.backend() {
                Backend::Sqlite => "BEGIN IMMEDIATE;",
                Backend::Postgres => "BEGIN; LOCK TABLE soloist_entries IN EXCLUSIVE MODE;",
                Backend::MariaDb | Backend::MySql => "LOCK TABLES soloist_entries READ;",
            },
        )
    }

    /// No node can renew its lease.
    pub fn on_nodes(database: &TestDatabase) -> Self {
        Self::take(
            database,
            match database.backend() {
                Backend::Sqlite => "BEGIN IMMEDIATE;",
                Backend::Postgres => "BEGIN; LOCK TABLE soloist_nodes IN EXCLUSIVE MODE;",
                Backend::MariaDb | Backend::MySql => "LOCK TABLES soloist_nodes READ;",
            },
        )
    }

    fn take(database: &TestDatabase, lock: &str) -> Self {
        let mut command = match database.backend() {
            Backend::Sqlite => {
                let mut command = Command::new(std::env::var_os("SOLOIST_TEST_PYTHON").unwrap_or("python3".into()));
                command.args(["-c", SQLITE]).arg(database.path().expect("a file"));
                command
            }
            Backend::Postgres => {
                let mut command = Command::new("psql");
                command.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-f", "-", "-d", &database.url()]);
                command
            }
            Backend::MariaDb | Backend::MySql => {
                let url = url::Url::parse(&database.url()).expect("a URL");
                let mut command = Command::new("mariadb");
                command.args(["--no-defaults", "--protocol=tcp", "-N", "-B", "-n"]);
                command.args(["-h", url.host_str().expect("a host"), "-u", url.username()]);
                command.args(["-P", &url.port().unwrap_or(3306).to_string(), url.path().trim_start_matches('/')]);
                command.env("MYSQL_PWD", url.password().unwrap_or_default());
                command
            }
        };
        let mut session =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the database's client runs");
        let stdin = session.stdin.as_mut().expect("piped");
        writeln!(stdin, "{lock}\nSELECT 'held';").expect("the client reads");
        stdin.flush().expect("the client reads");
        let mut said = String::new();
        BufReader::new(session.stdout.as_mut().expect("piped")).read_line(&mut said).expect("the client answers");
        assert_eq!(said.trim(), "held");
        Self { session }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // The session ends with its input, and with it the transaction and its locks.
        drop(self.session.stdin.take());
        let _ = self.session.wait();
    }
}
