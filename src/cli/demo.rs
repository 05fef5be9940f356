//! `soloist demo`: the main job with nothing installed. Several nodes, processes of this binary, work through a table;
//! each handler call appends to a log, and the log is counted at the end.
//!
//! Owns the order of a demo: make, start, watch, stop, count, clean up. Nothing here knows how an entry is claimed or a
//! schedule fired.

mod interrupt;
mod kills;
mod nodes;
mod place;
mod progress;
mod summary;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;

use super::ask::Asked;
use crate::error::Result;
use crate::model::time::micros;
use crate::store::{Connection, demo, sweeps};
use interrupt::Interrupt;
use kills::Kills;
use nodes::Nodes;
use place::Place;
use progress::Progress;
use summary::Summary;

/// How often the log is looked at.
const LOOK: Duration = Duration::from_millis(25);

/// Without any progress for this long the demo gives up and counts.
const PATIENCE: Duration = Duration::from_secs(60);

/// `soloist demo`
#[derive(Debug, Args)]
pub(super) struct Demo {
    /// Rows to work through
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    entries: u64,
    /// Nodes, each a process of this binary
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=64))]
    nodes: u16,
    /// Kill nodes with kill -9 on the way, and start others
    #[arg(long)]
    kill: bool,
    /// Leave the database's file, or the tables, to be looked at
    #[arg(long)]
    keep: bool,
    /// Work in this database instead of a SQLite file of its own
    #[arg(long, value_name = "URL")]
    database: Option<String>,
}

impl Demo {
    pub(super) fn run(self, asked: &Asked) -> Result<ExitCode> {
        let interrupt = Interrupt::listen()?;
        let mut place = Place::prepare(self.database.as_deref(), self.entries)?;
        let progress = Progress::new(self.entries, asked.json);
        progress.say(&self.first_words(&place));
        let mut nodes = Nodes::new(&place);
        let ran = self.work(&place, &mut nodes, &progress, &interrupt);
        let names = nodes.names();
        // Whatever happened, no node is left before the tables go.
        drop(nodes);
        progress.end();
        let closed = place.close(&names, self.keep);
        let summary = ran?;
        closed?;
        summary.print(asked.json, &place, self.keep)?;
        Ok(ExitCode::from(if summary.is_exactly_once() { 0 } else { 1 }))
    }

    fn first_words(&self, place: &Place) -> String {
        let plural = if self.nodes == 1 { "node (a process" } else { "nodes (processes" };
        let (nodes, rows) = (self.nodes, summary::number(self.entries));
        format!("{nodes} {plural} of this binary), {}, {rows} rows, a schedule every 0.5 s", place.described)
    }

    /// All between the first node's start and the last one's end.
    fn work(&self, place: &Place, nodes: &mut Nodes, progress: &Progress, interrupt: &Interrupt) -> Result<Summary> {
        let start = Instant::now();
        let mut connection = place.store.work()?;
        let connection: &mut Connection = &mut connection;
        let sweep = sweeps::request(connection, &place.names.task)?;
        for _ in 0..self.nodes {
            nodes.start()?;
        }
        let mut kills = Kills::new(if self.kill { self.entries } else { 0 });
        let (mut calls, mut changed) = (0, Instant::now());
        let mut still = false;
        loop {
            let look = Instant::now();
            let now = demo::calls(connection, &place.names)?;
            if now != calls {
                (calls, changed) = (now, Instant::now());
                progress.set(calls);
            }
            kills.look(connection, nodes, calls, progress)?;
            if sweeps::is_over(connection, sweep)? {
                break;
            }
            nodes.check()?;
            interrupt.check()?;
            if changed.elapsed() > PATIENCE {
                still = true;
                break;
            }
            // A large log takes long to count: most of the time is the nodes'.
            std::thread::sleep(LOOK.max(look.elapsed() * 5));
        }
        let duration = start.elapsed();
        // What a node still works on may yet be logged: count only when they have ended.
        nodes.stop(interrupt)?;
        progress.set(demo::calls(connection, &place.names)?);
        let counted = demo::count(connection, &place.names, self.entries)?;
        let beat = demo::count_beat(connection, &place.names, micros(place::BEAT))?;
        Ok(Summary { rows: self.entries, nodes: self.nodes, kills: kills.done(), duration, counted, beat, still })
    }
}
