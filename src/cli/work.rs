//! `soloist work`: one run for cron. Sweeps, works until nothing is due, says what became of it, and exits.

use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};

use super::ask::Asked;
use super::output;
use crate::config::nearest::nearest;
use crate::config::{Config, HandlerKind, Purpose, print};
use crate::error::{Error, Result};
use crate::store::Store;
use crate::store::runs::TaskLeft;
use crate::telemetry;
use crate::work::{self, Report, span_text};

/// `soloist work`
#[derive(Debug, Args)]
pub(super) struct Work {
    /// Only this task; may be said several times
    #[arg(long = "task", value_name = "T")]
    tasks: Vec<String>,
}

impl Work {
    pub(super) fn run(self, asked: &Asked) -> Result<ExitCode> {
        let mut config = Config::load(asked.config.as_deref(), Purpose::Work).map_err(|errors| {
            Error::usage(errors.render(!asked.json && print::stderr_takes_colours(), "nothing was started"))
        })?;
        self.choose(&mut config)?;
        // A run for cron does not wait for a database that is away: the next run comes by itself.
        Store::new(&config.database, config.node.lease, 1).server()?;
        telemetry::init_at("warn");
        let report = work::run(config)?;
        if asked.json {
            output::json(&as_json(&report))?;
        } else {
            print(&report)?;
        }
        Ok(ExitCode::from(if report.is_good() { 0 } else { 1 }))
    }

    /// Leaves the tasks that were named, or all that a node can work.
    fn choose(&self, config: &mut Config) -> Result<()> {
        for name in &self.tasks {
            match config.tasks.get(name) {
                None => {
                    let near = nearest(name, config.tasks.keys().map(String::as_str));
                    let near = near.map(|near| format!("; the nearest is “{near}”")).unwrap_or_default();
                    return Err(Error::usage(format!("the configuration has no task “{name}”{near}")));
                }
                Some(task) if task.handler == HandlerKind::Pull => {
                    return Err(Error::usage(format!(
                        "“{name}” has pull = true: workers outside of Soloist work it, over the claim API"
                    )));
                }
                Some(_) => {}
            }
        }
        let named = |name: &String| self.tasks.is_empty() || self.tasks.contains(name);
        config.tasks.retain(|name, task| named(name) && task.handler != HandlerKind::Pull);
        if config.tasks.is_empty() {
            return Err(Error::usage("the configuration has no task that could be worked; soloist init writes one"));
        }
        Ok(())
    }
}

fn print(report: &Report) -> Result<()> {
    for (name, task) in &report.tasks {
        output::line(format!("{name}: {}", sentence(task)))?;
    }
    for (task, error) in &report.sweeps {
        output::note(format!("error: {task}: rows were not collected: {error}"));
    }
    if report.stopped {
        output::note("stopped by a signal before all was done");
    }
    Ok(())
}

/// What became of one task: what was done first, then what waits and why.
fn sentence(task: &TaskLeft) -> String {
    let mut parts = vec![format!("{} completed", task.completed), format!("{} failed", task.failed)];
    if task.retries_waiting > 0 {
        let next = task.next_retry_in.map(|next| format!(", the next in {}", span_text(next))).unwrap_or_default();
        let word = if task.retries_waiting == 1 { "waits" } else { "wait" };
        parts.push(format!("{} {word} for another attempt{next}", task.retries_waiting));
    }
    if task.later > 0 {
        parts.push(format!("{} not due yet", task.later));
    }
    if task.due > 0 {
        parts.push(format!("{} due and left", task.due));
    }
    let mut text = parts.join(", ");
    if task.paused {
        text.push_str("; the task is paused");
    }
    if let Some(reason) = &task.held {
        text.push_str(&format!("; held back: {reason}"));
    }
    text
}

fn as_json(report: &Report) -> Value {
    let of = |task: &TaskLeft| {
        #[allow(clippy::cast_precision_loss)] // shown to a millisecond
        let next = task.next_retry_in.map(|next| (next.max(0) / 1000) as f64 / 1000.0);
        json!({
            "completed": task.completed, "failed": task.failed, "retried": task.retried,
            "retries_waiting": task.retries_waiting, "next_retry_in_s": next, "not_due": task.later, "due": task.due,
            "paused": task.paused, "held": task.held,
        })
    };
    let sum = |part: fn(&TaskLeft) -> u64| report.tasks.values().map(part).sum::<u64>();
    let tasks: serde_json::Map<_, _> = report.tasks.iter().map(|(name, task)| (name.clone(), of(task))).collect();
    json!({
        "ok": report.is_good(), "stopped": report.stopped, "completed": sum(|task| task.completed),
        "failed": sum(|task| task.failed), "retries_waiting": sum(|task| task.retries_waiting),
        "tasks": tasks, "sweep_errors": report.sweeps,
    })
}
