//! Runs SQL with the databases' own command line clients: the plain SQL door, with none of Soloist's drivers.

use std::{
    ffi::OsStr,
    io::Write,
    path::Path,
    path::PathBuf,
    process::{Command, Output, Stdio},
};

use percent_encoding::percent_decode_str;
use url::Url;

use crate::Backend;

/// One row: each value as text, NULL as nothing.
pub(crate) type Row = Vec<Option<String>>;

/// Where the SQL goes.
pub(crate) enum Target<'a> {
    File(&'a Path),
    Server(Backend, &'a Url),
}

impl Target<'_> {
    /// Runs any number of statements, each its own transaction unless they say otherwise; the first error ends it.
    pub(crate) fn run(&self, sql: &str) -> Result<(), String> {
        self.client(false, sql).map(|_| ())
    }

    /// Runs one statement and gives its rows.
    pub(crate) fn rows(&self, sql: &str) -> Result<Vec<Row>, String> {
        let text = self.client(true, sql)?;
        match self {
            Self::File(_) => serde_json::from_str(&text).map_err(|error| format!("{error}: {text}")),
            Self::Server(Backend::Postgres, _) => Ok(separated_rows(&text)),
            Self::Server(..) => Ok(xml_rows(&text)),
        }
    }

    fn client(&self, rows: bool, sql: &str) -> Result<String, String> {
        let command = match self {
            Self::File(path) => sqlite(path, rows),
            Self::Server(Backend::Postgres, url) => psql(url),
            Self::Server(_, url) => mariadb(url, rows),
        };
        talk(command, sql)
    }
}

const SQLITE: &str = r"
import json, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], timeout=30, isolation_level=None)
sql = sys.stdin.read()
if sys.argv[2] == 'rows':
    text = lambda value: None if value is None else value.hex() if isinstance(value, bytes) else str(value)
    print(json.dumps([[text(value) for value in row] for row in connection.execute(sql)]))
else:
    connection.executescript(sql)
";

fn sqlite(path: &Path, rows: bool) -> Command {
    let python = std::env::var_os("SOLOIST_TEST_PYTHON").unwrap_or_else(|| "python3".into());
    let mut command = Command::new(python);
    command.arg("-c").arg(SQLITE).args([path.as_os_str(), OsStr::new(if rows { "rows" } else { "run" })]);
    command
}

const FIELD: char = '\u{1f}';
const RECORD: char = '\u{1e}';
const NULL: &str = "\u{1a}";

/// Debian's `psql` is a Perl script that takes ten times as long to start as the program that it looks for.
fn psql_program() -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let programs = versions.map(|version| version.path().join("bin/psql"));
    programs.filter(|path| path.is_file()).max().unwrap_or_else(|| "psql".into())
}

fn psql(url: &Url) -> Command {
    let mut command = Command::new(psql_program());
    command.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-P", &format!("null={NULL}")]).args([
        "-F",
        &FIELD.to_string(),
        "-R",
        &RECORD.to_string(),
        "-d",
        url.as_str(),
        "-f",
        "-",
    ]);
    command
}

fn separated_rows(text: &str) -> Vec<Row> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    if text.is_empty() {
        return Vec::new();
    }
    let value = |text: &str| (text != NULL).then(|| text.to_owned());
    text.split(RECORD).map(|row| row.split(FIELD).map(value).collect()).collect()
}

fn mariadb(url: &Url, rows: bool) -> Command {
    let decoded = |text| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let mut command = Command::new("mariadb");
    command
        .args(["--no-defaults", "--protocol=tcp", "--default-character-set=utf8mb4"])
        .args(["-h", url.host_str().unwrap_or("127.0.0.1"), "-P", &url.port().unwrap_or(3306).to_string()])
        .args(["-u", &decoded(url.username())])
        .env("MYSQL_PWD", decoded(url.password().unwrap_or_default()))
        .args(rows.then_some("--xml"))
        .arg(format!("--database={}", decoded(url.path().trim_start_matches('/'))));
    command
}

/// Reads `<row><field name="n">text</field><field name="n" xsi:nil="true" /></row>`, in which `<` and `>` are escaped.
fn xml_rows(text: &str) -> Vec<Row> {
    let plain = |text: &str| {
        let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
        text.replace("&apos;", "'").replace("&amp;", "&")
    };
    let field = |field: &str| {
        let (head, rest) = field.split_once('>')?;
        if head.ends_with('/') { None } else { Some(plain(rest.split("</field>").next()?)) }
    };
    text.split("<row>").skip(1).map(|row| row.split("<field ").skip(1).map(field).collect()).collect()
}

fn talk(mut command: Command, sql: &str) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("{name} cannot be run: {error}"))?;
    let mut input = child.stdin.take().ok_or("no standard input")?;
    let sql = sql.to_owned();
    // A client that stops at an error closes its input early: that error is told by its exit code.
    let writer = std::thread::spawn(move || drop(input.write_all(sql.as_bytes())));
    let Output { status, stdout, stderr } = child.wait_with_output().map_err(|error| error.to_string())?;
    let _ = writer.join();
    if status.success() {
        Ok(String::from_utf8_lossy(&stdout).into_owned())
    } else {
        Err(String::from_utf8_lossy(&stderr).trim().to_owned())
    }
}
