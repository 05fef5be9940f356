//! What a bench found out, and how it is shown.

use std::time::Duration;

use serde::Serialize;

use super::{Bench, Kind};
use crate::cli::ask::Asked;
use crate::cli::output;
use crate::error::Result;

/// The figures of one run; what was not measured is null.
#[derive(Debug, Serialize)]
pub(super) struct Figures {
    task: &'static str,
    entries: usize,
    nodes: u32,
    enqueue_per_s: f64,
    drain_per_s: f64,
    limit_per_s: f64,
    start_ms_p50: Option<f64>,
    start_ms_p99: Option<f64>,
    lateness_ms_p99: Option<f64>,
    rss_mb: Option<f64>,
}

impl Figures {
    pub fn new(
        bench: &Bench,
        entries: usize,
        (enqueue, drain, limit): (f64, f64, f64),
        waits: &[Duration],
        late: &[Duration],
    ) -> Self {
        let ms = |spans, share| percentile(spans, share).map(|span| rounded(span.as_secs_f64() * 1000.0, 1000.0));
        Self {
            task: match bench.task {
                Kind::Noop => "noop",
                Kind::Sql => "sql",
                Kind::Hook => "hook",
            },
            entries,
            nodes: bench.nodes,
            enqueue_per_s: enqueue.round(),
            drain_per_s: drain.round(),
            limit_per_s: limit.round(),
            start_ms_p50: ms(waits, 0.5),
            start_ms_p99: ms(waits, 0.99),
            lateness_ms_p99: ms(late, 0.99),
            rss_mb: resident().map(|bytes| rounded(bytes / 1_048_576.0, 10.0)),
        }
    }

    pub fn print(&self, asked: &Asked) -> Result<()> {
        if asked.json {
            return output::json(self);
        }
        let text = |value: Option<f64>, unit: &str| value.map_or("not measured".to_owned(), |v| format!("{v} {unit}"));
        let share = self.drain_per_s / self.limit_per_s;
        output::line(format!("enqueue          {} entries a second, 1000 a transaction", self.enqueue_per_s))?;
        output::line(format!(
            "drain            {} entries a second ({}, {} of them, nodes: {})",
            self.drain_per_s, self.task, self.entries, self.nodes
        ))?;
        output::line(format!(
            "bare limit       {} entries a second: two connections, no actors; the drain is at {share:.2} of it",
            self.limit_per_s
        ))?;
        output::line(format!(
            "commit to start  p50 {}, p99 {}",
            text(self.start_ms_p50, "ms"),
            text(self.start_ms_p99, "ms")
        ))?;
        output::line(format!("firing lateness  p99 {}", text(self.lateness_ms_p99, "ms")))?;
        output::line(format!("memory           {}", text(self.rss_mb, "MB resident after the drain")))
    }
}

fn rounded(value: f64, steps: f64) -> f64 {
    (value * steps).round() / steps
}

/// The smallest of the sorted values that this share of them does not exceed.
fn percentile(sorted: &[Duration], share: f64) -> Option<Duration> {
    let rank = (share * sorted.len() as f64).ceil().max(1.0) as usize;
    sorted.get(rank - 1).copied()
}

/// Memory that this process has resident, where the system says so.
fn resident() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.parse::<f64>().ok().map(|kb| kb * 1024.0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn percentiles_are_values_that_were_measured() {
        let waits: Vec<_> = (1..=100).map(Duration::from_millis).collect();
        assert_eq!(percentile(&waits, 0.5).unwrap().as_millis(), 50);
        assert_eq!(percentile(&waits, 0.99).unwrap().as_millis(), 99);
        assert_eq!(percentile(&waits[..1], 0.99).unwrap().as_millis(), 1);
        assert_eq!(percentile(&[], 0.5), None);
    }
}
