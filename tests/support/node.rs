//! A real node: the binary as a process of its own, with a configuration of the test's.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    time::Duration,
};

pub use rustix::process::Signal;
use rustix::process::{Pid, kill_process};
use tempfile::TempDir;

use crate::{Response, database, free_port, request, soloist, until_some};

const START_LIMIT: Duration = Duration::from_secs(30);

/// A running node, killed on drop.
pub struct Node {
    process: Child,
    port: u16,
    directory: TempDir,
}

impl Node {
    /// Starts `soloist serve` with this configuration, to which the address to listen at is added. Does not wait.
    pub fn start(config: &str) -> Self {
        Self::start_with(config, |_| {})
    }

    /// The same, after `change` has had the command: for its environment or more arguments.
    pub fn start_with(config: &str, change: impl FnOnce(&mut Command)) -> Self {
        let directory = database::directory();
        let port = free_port();
        let file = directory.path().join("soloist.toml");
        fs::write(&file, with_bind(config, port)).expect("the configuration is written");
        let log = File::create(directory.path().join("node.log")).expect("the log is created");
        let mut command = soloist();
        command.arg("--config").arg(&file).arg("serve").current_dir(directory.path()).stdin(Stdio::null());
        command.stderr(log.try_clone().expect("the log is shared")).stdout(log);
        change(&mut command);
        let process = command.spawn().unwrap_or_else(|error| panic!("{command:?} cannot be run: {error}"));
        Self { process, port, directory }
    }

    /// Waits until it is ready; fails with its log if it ends instead. Gives itself back, to be chained after `start`.
    #[track_caller]
    pub fn wait_ready(mut self) -> Self {
        let ready = until_some(START_LIMIT, "GET /readyz answers 200", || {
            if let Ok(Some(status)) = self.process.try_wait() {
                return Some(Err(status));
            }
            let answer = request(self.port, "GET", "/readyz", &[], "").ok()?;
            (answer.status == 200).then_some(Ok(()))
        });
        if let Err(status) = ready {
            panic!("the node ended ({status}) before it was ready:\n{}", self.log());
        }
        self
    }

    /// Sends a signal: `Signal::KILL`, `TERM`, `STOP`, `CONT`, `HUP`.
    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.process.id().cast_signed()).expect("a process id");
        kill_process(pid, signal).unwrap_or_else(|error| panic!("the node cannot be sent {signal:?}: {error}"));
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// The port of 127.0.0.1 that it listens at.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// All that it has written so far.
    pub fn log(&self) -> String {
        let text = fs::read(self.directory.path().join("node.log")).expect("the log is read");
        String::from_utf8_lossy(&text).into_owned()
    }

    /// Its configuration file: for the command line, or to be rewritten before `Signal::HUP`.
    pub fn config(&self) -> PathBuf {
        self.directory.path().join("soloist.toml")
    }

    /// Rewrites its configuration file, the address to listen at added as at the start.
    pub fn rewrite_config(&self, config: &str) {
        fs::write(self.config(), with_bind(config, self.port)).expect("the configuration is written");
    }

    /// The directory that it runs in.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Calls its API, with the token of `soloist.token` if it made one for this run.
    pub fn api(&self, method: &str, path: &str, body: &str) -> Response {
        let token = fs::read_to_string(self.directory.path().join("soloist.token")).unwrap_or_default();
        let bearer = format!("Bearer {}", token.trim());
        let headers: &[_] = if token.is_empty() { &[] } else { &[("Authorization", bearer.as_str())] };
        let answer = request(self.port, method, path, headers, body);
        answer.unwrap_or_else(|error| panic!("{method} {path}: {error}\n{}", self.log()))
    }

    /// True while it has not ended.
    pub fn is_running(&mut self) -> bool {
        matches!(self.process.try_wait(), Ok(None))
    }

    /// Waits for its end; fails with its log when the time is up.
    #[track_caller]
    pub fn wait_exit(&mut self, limit: Duration) -> ExitStatus {
        let what = format!("the node {} ends", self.process.id());
        until_some(limit, &what, || self.process.try_wait().expect("the node is a child of this process"))
    }

    /// Waits up to a minute for its end: the exit code, or nothing if a signal ended it.
    #[track_caller]
    pub fn exit_code(&mut self) -> Option<i32> {
        self.wait_exit(Duration::from_mins(1)).code()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("--- log of node {}:\n{}", self.process.id(), self.log());
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Adds `bind` to the configuration's `[http]`, which may be absent.
fn with_bind(config: &str, port: u16) -> String {
    let bind = format!("[http]\nbind = \"127.0.0.1:{port}\"\n");
    if config.lines().any(|line| line.trim() == "[http]") {
        config.replacen("[http]", bind.trim_end(), 1)
    } else {
        format!("{config}\n{bind}")
    }
}
