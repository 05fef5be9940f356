//! `soloist bench`: measures this installation on its own database.
//!
//! Owns the order of the measurements and their end: whatever happens, what was written is taken away again.

mod drain;
mod figures;
mod fill;
mod ground;
mod hook;
mod lateness;
mod limit;
mod nodes;
mod start;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{Args, ValueEnum};

use super::ask::Asked;
use super::output;
use crate::error::{Error, Result};
use crate::handler;
use figures::Figures;
use ground::Ground;

/// `soloist bench`
#[derive(Debug, Args)]
pub(super) struct Bench {
    /// Entries of each measurement; without it 100000 for noop, 5000 for sql and hook
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(10..=100_000_000))]
    entries: Option<u32>,
    /// What works the entries: nothing at all, an SQL statement, or a web hook answered by this process
    #[arg(long, value_enum, default_value_t = Kind::Noop)]
    task: Kind,
    /// Nodes that drain together, each a process
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    nodes: u32,
    /// Be one of the further nodes of the run with this mark
    #[arg(long, hide = true, value_name = "MARK")]
    node_of: Option<String>,
    /// Where the run that this node belongs to answers web hooks
    #[arg(long, hide = true, value_name = "URL")]
    hook: Option<url::Url>,
}

/// `--task`
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    Noop,
    Sql,
    Hook,
}

impl Kind {
    fn entries(self) -> u32 {
        match self {
            Self::Noop => 100_000,
            Self::Sql | Self::Hook => 5_000,
        }
    }
}

impl Bench {
    pub(super) fn run(self, asked: &Asked) -> Result<ExitCode> {
        if std::env::var_os("SOLOIST_LOG").is_some() {
            crate::telemetry::init();
        }
        handler::webhook::install_tls_provider();
        let config = asked.config()?;
        let system = actix::System::new();
        if let Some(mark) = &self.node_of {
            system.block_on(nodes::be_one(&config, mark, self.task, self.hook.clone()))?;
            return Ok(ExitCode::SUCCESS);
        }
        let stop = Stop::default();
        let measured = system.block_on(async {
            stop.listen();
            let ground = Ground::prepare(asked, config, stop.clone()).await?;
            let measured = self.measure(asked, &ground).await;
            let erased = ground.clear().await;
            measured.and_then(|figures| erased.map(|()| figures))
        });
        if stop.is_set() {
            output::note("stopped; what was written is taken away again");
            return Ok(ExitCode::from(130));
        }
        measured?.print(asked)?;
        Ok(ExitCode::SUCCESS)
    }

    async fn measure(&self, asked: &Asked, ground: &Ground) -> Result<Figures> {
        let entries = self.entries.unwrap_or(self.task.entries()) as usize;
        let hook = if self.task == Kind::Hook { Some(hook::serve()?) } else { None };
        let node = nodes::start(ground, self.task, hook.as_ref()).await?;
        let waits = start::measure(ground, &node).await;
        let figures = async {
            let waits = waits?;
            let late = lateness::measure(ground).await?;
            let enqueue = fill::measure(ground, "limit", entries).await?;
            let enqueue = fill::measure(ground, "drain", entries).await.map(|again| f64::midpoint(enqueue, again))?;
            let limit = limit::measure(ground, entries).await?;
            let others = nodes::Others::start(asked, ground, self.nodes - 1, self.task, hook.as_ref())?;
            let drain = drain::measure(ground, &node, others, entries).await?;
            Ok(Figures::new(self, entries, (enqueue, drain, limit), &waits, &late))
        };
        let figures = figures.await;
        node.stop().await;
        figures
    }
}

/// Whether somebody has asked to stop. A second time ends the process at once.
#[derive(Debug, Clone, Default)]
struct Stop(Arc<AtomicBool>);

impl Stop {
    fn listen(&self) {
        let stop = self.clone();
        actix::spawn(async move {
            while tokio::signal::ctrl_c().await.is_ok() {
                if stop.0.swap(true, Ordering::Relaxed) {
                    std::process::exit(130);
                }
            }
        });
    }

    fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// An error once it is set: to be asked between two steps.
    fn check(&self) -> Result<()> {
        if self.is_set() { Err(Error::transient("the bench was stopped")) } else { Ok(()) }
    }
}
