//! `soloist status`: what is wrong, worst first, and how tasks and nodes stand.

use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::ask::Asked;
use super::time_text::shown;
use super::{output, table};
use crate::error::Result;
use crate::problems::{Level, Problem};
use crate::store::status::{self, Status as State};
use crate::store::tasks::TaskShape;

/// How often `--watch` looks again.
const AGAIN: Duration = Duration::from_secs(2);

/// `soloist status`
#[derive(Debug, Args)]
pub(super) struct Status {
    /// Exit with 1 if something is at least this bad
    #[arg(long, value_name = "LEVEL")]
    fail_on: Option<FailOn>,
    /// Look again every 2 s, until interrupted
    #[arg(long)]
    watch: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum FailOn {
    Risk,
    Broken,
    Stopped,
}

impl FailOn {
    fn level(self) -> Level {
        match self {
            Self::Risk => Level::Risk,
            Self::Broken => Level::Broken,
            Self::Stopped => Level::Stopped,
        }
    }
}

impl Status {
    pub(super) fn run(self, asked: &Asked) -> Result<ExitCode> {
        let mut connection = asked.connect()?;
        loop {
            let state = status::read(&mut connection)?;
            if self.watch && output::is_terminal() {
                output::line("\x1b[2J\x1b[H")?;
            }
            if asked.json {
                output::json(&state)?;
            } else {
                print(&state)?;
            }
            if !self.watch {
                let worst = state.problems.iter().map(|problem| problem.level).max();
                let failed = self.fail_on.is_some_and(|limit| worst >= Some(limit.level()));
                return Ok(ExitCode::from(u8::from(failed)));
            }
            std::thread::sleep(AGAIN);
        }
    }
}

fn print(state: &State) -> Result<()> {
    if state.problems.is_empty() {
        output::line(mark(Level::Note, &state.verdict.sentence))?;
        if let Some(detail) = &state.verdict.detail {
            output::line(format!("  {detail}"))?;
        }
    }
    for problem in state.problems.iter().chain(&state.notes) {
        print_problem(problem)?;
    }
    output::line("")?;
    let rows = state.tasks.iter().map(task_row).collect();
    let headings =
        ["TASK", "PENDING", "DUE", "OLDEST DUE", "RUNNING", "COMPLETED 24 h", "FAILED 24 h", "PER S", "STATE"];
    table::print(&headings, rows, "No task is declared, and no entry waits.")?;
    print_firings(state)?;
    output::line("")?;
    let leads = |id| state.leader.as_ref().is_some_and(|leader| leader.id == id);
    let rows = state.nodes.iter().map(|node| {
        let mut roles = node.roles.join(", ");
        if leads(node.id) {
            roles.push_str(" (leads)");
        }
        vec![
            node.name.clone(),
            node.id.to_string(),
            roles,
            shown(node.started_at),
            shown(node.seen_at),
            node.version.clone(),
        ]
    });
    table::print(&["NODE", "ID", "ROLES", "STARTED", "SEEN", "VERSION"], rows.collect(), "No node is running.")
}

/// What fires next and what fired last; nothing at all where there is no schedule.
fn print_firings(state: &State) -> Result<()> {
    if state.next_firings.is_empty() && state.last_firings.is_empty() {
        return Ok(());
    }
    output::line("")?;
    let next = state.next_firings.iter();
    let rows = next.map(|next| {
        vec![next.name.clone(), next.definition.task.clone(), next.next_fire_at.map(shown).unwrap_or_default()]
    });
    table::print(&["NEXT FIRINGS", "TASK", "AT"], rows.collect(), "No schedule fires any more.")?;
    output::line("")?;
    let rows = state.last_firings.iter().map(|last| {
        let times = last.count.filter(|count| *count > 1).map(|count| format!(" × {count}")).unwrap_or_default();
        vec![
            last.schedule.clone(),
            shown(last.scheduled_for),
            last.late_ms.map(|late| format!("{late:.0} ms")).unwrap_or_default(),
            format!("{}{times}", last.outcome),
            last.result.clone().or_else(|| last.reason.clone()).unwrap_or_default(),
        ]
    });
    table::print(&["LAST FIRINGS", "DUE", "LATE", "OUTCOME", "RESULT"], rows.collect(), "Nothing has fired yet.")
}

fn print_problem(problem: &Problem) -> Result<()> {
    output::line(mark(problem.level, &problem.sentence))?;
    if let Some(detail) = &problem.detail {
        output::line(format!("  {detail}"))?;
    }
    if let Some(command) = &problem.command {
        output::line(format!("  $ {command}"))?;
    }
    Ok(())
}

/// A sentence with its level: shape and word, and a colour where that is wanted.
fn mark(level: Level, sentence: &str) -> String {
    let (colour, word) = match level {
        Level::Stopped => ("\x1b[1;31m", "STOPPED"),
        Level::Broken => ("\x1b[31m", "BROKEN "),
        Level::Risk => ("\x1b[33m", "AT RISK"),
        Level::Note => return sentence.to_owned(),
    };
    if output::takes_colours() { format!("{colour}{word}\x1b[0m {sentence}") } else { format!("{word} {sentence}") }
}

fn task_row(task: &TaskShape) -> Vec<String> {
    let oldest = task.oldest_due_age_s.map(|age| format!("{age:.1} s")).unwrap_or_default();
    vec![
        task.name.clone(),
        task.pending.to_string(),
        task.due.to_string(),
        oldest,
        task.running.to_string(),
        task.completed.to_string(),
        task.failed.to_string(),
        format!("{:.1}", task.rate_per_s),
        super::tasks::state(task),
    ]
}
