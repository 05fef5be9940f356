//! The demo's nodes: processes of this binary that run `serve`. None outlives the demo, however it ends.

use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::interrupt::Interrupt;
use super::place::Place;
use crate::error::{Error, Result};

/// How long a clean stop may take.
const STOP: Duration = Duration::from_secs(10);

/// The nodes, by number from 0.
pub(super) struct Nodes {
    directory: PathBuf,
    mark: String,
    url: String,
    running: Vec<Running>,
    names: Vec<String>,
}

struct Running {
    process: Child,
    name: String,
}

impl Nodes {
    pub(super) fn new(place: &Place) -> Self {
        let (directory, mark, url) = (place.directory.clone(), place.mark.clone(), place.url.clone());
        Self { directory, mark, url, running: Vec::new(), names: Vec::new() }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.running.len()
    }

    /// Every name that a node has had.
    pub(super) fn names(&self) -> Vec<String> {
        self.names.clone()
    }

    /// One more.
    pub(super) fn start(&mut self) -> Result<()> {
        let started = self.spawn(self.running.len())?;
        self.running.push(started);
        Ok(())
    }

    /// kill -9; the name that the node had.
    pub(super) fn kill(&mut self, index: usize) -> Result<String> {
        let node = &mut self.running[index];
        node.process.kill().and_then(|()| node.process.wait()).map_err(Error::internal)?;
        Ok(node.name.clone())
    }

    /// Another in the place of one that has ended.
    pub(super) fn restart(&mut self, index: usize) -> Result<()> {
        self.running[index] = self.spawn(index)?;
        Ok(())
    }

    /// An error if one has ended by itself.
    pub(super) fn check(&mut self) -> Result<()> {
        for (index, node) in self.running.iter_mut().enumerate() {
            if let Some(status) = node.process.try_wait().map_err(Error::internal)? {
                let said = std::fs::read_to_string(log(&self.directory, index)).unwrap_or_default();
                let last: Vec<_> = said.lines().rev().take(3).collect();
                let last = last.into_iter().rev().collect::<Vec<_>>().join("\n");
                return Err(Error::transient(format!("node {} ended by itself ({status}):\n{last}", index + 1)));
            }
        }
        Ok(())
    }

    /// Asks all to stop and waits for their end.
    pub(super) fn stop(&mut self, interrupt: &Interrupt) -> Result<()> {
        for node in &self.running {
            if let Some(pid) = Pid::from_raw(node.process.id().cast_signed()) {
                // One that has ended needs no signal.
                let _ = kill_process(pid, Signal::TERM);
            }
        }
        let start = Instant::now();
        for node in &mut self.running {
            while node.process.try_wait().map_err(Error::internal)?.is_none() {
                interrupt.check()?;
                if start.elapsed() > STOP {
                    node.process.kill().and_then(|()| node.process.wait()).map_err(Error::internal)?;
                    break;
                }
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        self.running.clear();
        Ok(())
    }

    fn spawn(&mut self, index: usize) -> Result<Running> {
        let broken = |what: &str, error: std::io::Error| Error::internal(format!("{what}: {error}"));
        let name = format!("demo-{}-{}-{}", self.mark, index + 1, self.names.len() + 1);
        let binary = std::env::current_exe().map_err(|error| broken("this binary cannot be found", error))?;
        let mut options = File::options();
        let file = options.create(true).append(true).open(log(&self.directory, index));
        let output = file.map_err(|error| broken("a node's log cannot be written", error))?;
        let copy = output.try_clone().map_err(|error| broken("a node's log cannot be written", error))?;
        let mut command = Command::new(binary);
        command.arg("serve").arg("--end-with").arg(std::process::id().to_string());
        command.arg("--config").arg(self.directory.join("soloist.toml"));
        // In the environment, where the URL's password is not seen by others. A group of its own, so that Ctrl-C
        // reaches the demo alone, which then sees to its nodes.
        command.env("SOLOIST_DEMO_URL", &self.url).env("SOLOIST_DEMO_NODE", &name).process_group(0);
        command.stdin(Stdio::null()).stdout(copy).stderr(output);
        let process = command.spawn().map_err(|error| broken("a node cannot be started", error))?;
        self.names.push(name.clone());
        Ok(Running { process, name })
    }
}

fn log(directory: &std::path::Path, index: usize) -> PathBuf {
    directory.join(format!("node-{}.log", index + 1))
}

impl Drop for Nodes {
    fn drop(&mut self) {
        for node in &mut self.running {
            let _ = node.process.kill();
            let _ = node.process.wait();
        }
    }
}
