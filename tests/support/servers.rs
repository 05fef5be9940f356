//! Where the servers are: those that tests/run started, else ones of this process, by the script tests/servers.
//!
//! The script ends its servers when its standard input ends, so they end with this process however it ends.

use std::{
    collections::HashMap,
    env,
    io::{BufRead, BufReader, Write},
    os::unix::process::CommandExt,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::Mutex,
};

use crate::Backend;

/// The superuser URL of a backend's server, or why there is none.
pub(crate) fn url(backend: Backend) -> Result<String, String> {
    static OWN: Mutex<Option<HashMap<Backend, Own>>> = Mutex::new(None);
    let variable = format!("SOLOIST_TEST_{}_URL", backend.name().to_uppercase());
    if let Some(url) = env::var(&variable).ok().filter(|url| !url.is_empty()) {
        return Ok(url);
    }
    if backend == Backend::MySql {
        return Err(format!("{variable} is not set"));
    }
    let mut own = OWN.lock().expect("no test panics while it starts a server");
    let own = own.get_or_insert_default().entry(backend).or_insert_with(|| PrivateServer::launch(backend));
    own.as_ref().map(|server| server.url.clone()).map_err(Clone::clone)
}

type Own = Result<PrivateServer, String>;

/// A server of one test's own, which that test may stop, kill and start again. Ended on drop.
pub struct PrivateServer {
    backend: Backend,
    url: String,
    script: Child,
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl PrivateServer {
    /// Starts a server, or says why it is left out. PostgreSQL and MariaDB only.
    pub fn start_new(backend: Backend) -> Option<Self> {
        match Self::launch(backend) {
            Ok(server) => Some(server),
            Err(reason) => crate::machine::left_out(backend.name(), &reason),
        }
    }

    fn launch(backend: Backend) -> Result<Self, String> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../servers");
        let mut script = Command::new(path)
            .arg(backend.name())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(|error| format!("{path} cannot be run: {error}"))?;
        let commands = script.stdin.take().ok_or("no standard input")?;
        let mut answers = BufReader::new(script.stdout.take().ok_or("no standard output")?);
        let mut url = Err(format!("{path} ended without a word"));
        loop {
            let mut line = String::new();
            answers.read_line(&mut line).map_err(|error| error.to_string())?;
            match line.trim_end() {
                "ready" | "" => break,
                line if line.starts_with("SOLOIST_TEST_") => {
                    url = line.split_once('=').map(|(_, url)| url.to_owned()).ok_or_else(|| line.to_owned());
                }
                line => url = Err(line.to_owned()),
            }
        }
        Ok(Self { backend, url: url?, script, commands, answers })
    }

    /// Its superuser URL. The port stays the same over stop and start.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Stops it as an administrator would.
    pub fn stop(&mut self) {
        self.command("stop");
    }

    /// Ends it as a crash would.
    pub fn kill(&mut self) {
        self.command("kill");
    }

    /// Starts it again on the same port and data.
    pub fn start(&mut self) {
        self.command("start");
    }

    fn command(&mut self, verb: &str) {
        let server = self.backend.name();
        writeln!(self.commands, "{verb} {server}").expect("tests/servers takes commands");
        let mut answer = String::new();
        self.answers.read_line(&mut answer).expect("tests/servers answers");
        assert_eq!(answer.trim_end(), "done", "tests/servers: {verb} {server}");
    }
}

impl Drop for PrivateServer {
    fn drop(&mut self) {
        if let Some(pid) = rustix::process::Pid::from_raw(self.script.id().cast_signed()) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
        let _ = self.script.wait();
    }
}
