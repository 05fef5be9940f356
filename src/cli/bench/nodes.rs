//! The nodes that a bench drives: one in this process, the others as processes of this binary.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::oneshot;

use super::Kind;
use super::ground::{Ground, blocking};
use crate::cli::ask::Asked;
use crate::config::{self, Config, HandlerKind, NodeRole, WebHook};
use crate::error::{Error, Result};
use crate::model::start_times::StartTimes;
use crate::node::{Migrate, Node};
use crate::store::bench;

/// Entries of the no-op at once.
const NOOP_AT_ONCE: usize = 4000;

/// Web hooks at once.
const HOOKS_AT_ONCE: usize = 64;

/// How long a stopping node waits for what runs.
const DRAIN: Duration = Duration::from_secs(5);

/// A node with the tasks of a bench.
pub(super) struct BenchNode {
    pub node: Node,
    /// When the handlers of the part `start` were called.
    pub times: StartTimes,
}

/// Starts the node of this process.
pub(super) async fn start(ground: &Ground, kind: Kind, hook: Option<&url::Url>) -> Result<BenchNode> {
    launch(&ground.config, &ground.mark, "", kind, hook).await
}

async fn launch(config: &Config, mark: &str, suffix: &str, kind: Kind, hook: Option<&url::Url>) -> Result<BenchNode> {
    let times = StartTimes::default();
    let note = config::Task::new(bench::task(mark, "start"), HandlerKind::Note(times.clone()));
    let tasks = [drain(mark, kind, config.database.connections, hook)?, note];
    let config = Config {
        database: config.database.clone(),
        node: config::Node {
            name: format!("{}{mark}{suffix}", bench::PREFIX),
            roles: vec![NodeRole::Scheduler, NodeRole::Worker],
            ..config.node.clone()
        },
        tasks: tasks.into_iter().map(|task| (task.name.clone(), task)).collect(),
        ..Config::default()
    };
    let (pulse, first) = oneshot::channel();
    let pulse = Mutex::new(Some(pulse));
    let node = Node::start(Arc::new(config), move |felt| {
        if felt && let Some(pulse) = pulse.lock().ok().and_then(|mut pulse| pulse.take()) {
            // Nobody waits any more: nothing to do.
            let _ = pulse.send(());
        }
    });
    node.open(Migrate::Refuse).await?;
    first.await.map_err(|_| Error::internal("the HeartbeatActor is gone"))?;
    Ok(BenchNode { node, times })
}

/// The task that is drained.
fn drain(mark: &str, kind: Kind, connections: usize, hook: Option<&url::Url>) -> Result<config::Task> {
    let (handler, concurrency) = match kind {
        Kind::Noop => (HandlerKind::Noop, NOOP_AT_ONCE),
        Kind::Sql => (HandlerKind::Sql(bench::NOTHING.to_owned()), connections),
        Kind::Hook => {
            let url = hook.cloned().ok_or_else(|| Error::usage("--task hook of a further node wants --hook"))?;
            let hook = WebHook { url, token: None, secrets: Vec::new(), headers: Vec::new() };
            (HandlerKind::Http(hook), HOOKS_AT_ONCE)
        }
    };
    let mut task = config::Task::new(bench::task(mark, "drain"), handler);
    task.concurrency = concurrency;
    Ok(task)
}

impl BenchNode {
    pub async fn stop(&self) {
        self.node.drain(DRAIN).await;
    }
}

/// Is one of the further nodes: says when it is ready, begins at the first line of its input, and ends with its input.
pub(super) async fn be_one(config: &Config, mark: &str, kind: Kind, hook: Option<url::Url>) -> Result<()> {
    let suffix = format!("-{}", std::process::id());
    let node = launch(config, mark, &suffix, kind, hook.as_ref()).await?;
    crate::cli::output::line("ready")?;
    let scheduler = node.node.scheduler.clone();
    blocking(move || {
        for line in std::io::stdin().lines() {
            if line.is_ok() {
                scheduler.do_send(crate::actor::message::Wake);
            }
        }
        Ok(())
    })
    .await?;
    node.stop().await;
    Ok(())
}

/// The further nodes; they end with this process, however it ends.
pub(super) struct Others(Vec<Child>);

impl Others {
    pub fn start(asked: &Asked, ground: &Ground, count: u32, kind: Kind, hook: Option<&url::Url>) -> Result<Self> {
        let failed = |error: std::io::Error| Error::transient(format!("a further node cannot be started: {error}"));
        let program = std::env::current_exe().map_err(failed)?;
        let mut others = Self(Vec::new());
        for _ in 0..count {
            let mut command = Command::new(&program);
            if let Some(file) = &asked.config {
                command.arg("--config").arg(file);
            }
            let word = match kind {
                Kind::Noop => "noop",
                Kind::Sql => "sql",
                Kind::Hook => "hook",
            };
            command.args(["bench", "--task", word, "--node-of", &ground.mark]);
            if let Some(hook) = hook {
                command.args(["--hook", hook.as_str()]);
            }
            others.0.push(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(failed)?);
        }
        Ok(others)
    }

    /// Waits until each has a lease.
    pub async fn wait_ready(&mut self, ground: &Ground) -> Result<()> {
        for child in &mut self.0 {
            let Some(output) = child.stdout.take() else { continue };
            ground.stop.check()?;
            let word = blocking(move || {
                let mut line = String::new();
                BufReader::new(output).read_line(&mut line).map_err(Error::transient)?;
                Ok(line)
            });
            if word.await?.trim() != "ready" {
                return Err(Error::transient("a further node ended before it was ready"));
            }
        }
        Ok(())
    }

    /// Wakes them.
    pub fn go(&mut self) {
        for child in &mut self.0 {
            if let Some(input) = &mut child.stdin {
                // One that is gone is missed by nobody but the figure.
                let _ = input.write_all(b"go\n");
            }
        }
    }

    /// Ends them and waits for that.
    pub fn stop(&mut self) {
        for child in &mut self.0 {
            drop(child.stdin.take());
        }
        for child in &mut self.0 {
            let _ = child.wait();
        }
        self.0.clear();
    }
}

impl Drop for Others {
    fn drop(&mut self) {
        self.stop();
    }
}
