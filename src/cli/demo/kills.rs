//! Kills nodes on the way, starts others, and watches how long it takes until the living have taken over.

use std::time::Instant;

use super::nodes::Nodes;
use super::progress::Progress;
use super::summary::plural;
use crate::error::Result;
use crate::store::{Connection, demo};

/// Where on the way a node is killed, in parts of a hundred.
const AT: [u64; 4] = [15, 35, 55, 75];

/// What of the killing is done, and what is to come.
pub(super) struct Kills {
    rows: u64,
    done: usize,
    /// Killed nodes that held something: number, name, when, how much.
    waiting: Vec<Killed>,
}

struct Killed {
    number: usize,
    name: String,
    at: Instant,
    held: u64,
}

impl Kills {
    /// Of a demo with so many rows; none for 0.
    pub(super) fn new(rows: u64) -> Self {
        Self { rows, done: 0, waiting: Vec::new() }
    }

    /// How often a node was killed.
    pub(super) fn done(&self) -> usize {
        self.done
    }

    /// Kills the next node if it is time, and looks whether what others held has been taken over.
    pub(super) fn look(
        &mut self,
        connection: &mut Connection,
        nodes: &mut Nodes,
        calls: u64,
        progress: &Progress,
    ) -> Result<()> {
        let mut left = Vec::new();
        for killed in std::mem::take(&mut self.waiting) {
            if demo::held(connection, &killed.name)? > 0 {
                left.push(killed);
                continue;
            }
            let (number, seconds) = (killed.number, killed.at.elapsed().as_secs_f64());
            let what = plural(killed.held, "entry", "entries");
            progress.say(&format!("node {number}: what it held, {what}, was taken over after {seconds:.1} s"));
        }
        self.waiting = left;
        let due = AT.get(self.done).is_some_and(|part| self.rows > 0 && calls >= (self.rows * part / 100).max(1));
        if !due {
            return Ok(());
        }
        let index = self.done % nodes.count();
        let (number, name) = (index + 1, nodes.kill(index)?);
        self.done += 1;
        let held = demo::held(connection, &name)?;
        let words = match held {
            0 => "between two entries".to_owned(),
            held => format!("while it held {}", plural(held, "entry", "entries")),
        };
        progress.say(&format!("node {number} killed -9 {words}; another starts"));
        if held > 0 {
            self.waiting.push(Killed { number, name, at: Instant::now(), held });
        }
        nodes.restart(index)
    }
}
