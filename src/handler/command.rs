//! `command = […]`: a program in a process group of its own.
//!
//! Owns one run from start to outcome: what goes in, what comes out, and that nothing of the group is left when
//! the call ends, however it ends. Starting is `spawn`, ending is `group`, and `watch` if the node is killed; reading
//! and writing is `talk`.
//!
//! Calls must be made on a thread that lives as long as the node: the kernel ends a program when the *thread* that
//! started it ends (see `spawn`). The executor's arbiter is such a thread.

mod group;
mod orphans;
mod spawn;
mod talk;
mod watch;

use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::slice;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use tokio_util::sync::CancellationToken;

use self::talk::Talk;
use super::output::{OF_FAILURE, OF_SUCCESS};
use super::{Call, Handler, passed, trace_of};
use crate::error::{Error, Result};
use crate::model::{Entry, Outcome, Trace};

pub(crate) use self::group::{GRACE_OF_A_STOP, Group};
pub use self::orphans::adopt_orphans;
pub(crate) use self::spawn::end_with_the_node;
pub(crate) use self::watch::Watch;

/// `EX_DATAERR` of sysexits.h: the entry itself is wrong.
const FAILED_FOR_GOOD: i32 = 65;

/// Runs a program for each entry.
#[derive(Debug)]
pub struct CommandHandler {
    program: String,
    arguments: Vec<String>,
    /// Names of variables that the program must not see.
    hidden: Vec<OsString>,
    grace_of_a_stop: Duration,
}

/// How a run came to its end.
enum End {
    Exited(ExitStatus),
    TimedOut(Duration),
    Stopped,
    /// Nobody can say how.
    Lost(std::io::Error),
}

impl CommandHandler {
    /// `command` is the program and its arguments. `hidden` are the names of the environment variables that hold
    /// secrets of the node; all others are handed on.
    pub fn new(command: &[String], hidden: impl IntoIterator<Item = impl Into<OsString>>) -> Result<Self> {
        let Some((program, arguments)) = command.split_first().filter(|(program, _)| !program.is_empty()) else {
            return Err(Error::usage(
                "command: the program is missing; expected a list like [\"python3\", \"thumb.py\"]",
            ));
        };
        if command.iter().any(|word| word.contains('\0')) {
            return Err(Error::usage("command: a program and its arguments cannot hold the character U+0000"));
        }
        let hidden = hidden.into_iter().map(Into::into).collect();
        let arguments = arguments.to_vec();
        Ok(Self { program: program.clone(), arguments, hidden, grace_of_a_stop: group::GRACE_OF_A_STOP })
    }

    /// The same handler, whose programs have at most this long from TERM to KILL when their call is stopped.
    pub fn with_grace_of_a_stop(self, grace: Duration) -> Self {
        Self { grace_of_a_stop: self.grace_of_a_stop.min(grace), ..self }
    }

    async fn run(&self, entry: &Entry, trace: Trace, timeout: Option<Duration>, stop: &CancellationToken) -> Outcome {
        let input = match serde_json::to_vec(entry) {
            Ok(input) => input,
            Err(error) => return Outcome::failed(format!("the entry cannot be written as JSON: {error}")),
        };
        let started = match spawn::spawn(&self.program, &self.arguments, &self.hidden, (entry, trace)) {
            Ok(started) => started,
            // A program that is missing may be a deployment on its way: worth another attempt.
            Err(error) => return Outcome::retry(self.not_started(&error)),
        };
        let spawn::Started { mut child, group, watch, output } = started;
        let group = group.with_grace_of_a_stop(self.grace_of_a_stop);
        let talk = Talk::start(child.stdin.take(), input, output);
        let end = tokio::select! {
            biased;
            status = child.wait() => status.map_or_else(End::Lost, End::Exited),
            () = stop.cancelled() => End::Stopped,
            after = passed(timeout) => End::TimedOut(after),
        };
        match end {
            End::Exited(_) | End::Lost(_) => group.end_of_stragglers(stop).await,
            End::TimedOut(_) | End::Stopped => group.end(&mut child, stop).await,
        }
        if let Some(watch) = watch {
            watch.end().await;
        }
        orphans::reap();
        let said = talk.finish().await;
        match end {
            End::Exited(status) if status.success() => Outcome::Completed { output: said.text(OF_SUCCESS) },
            End::Exited(status) => {
                let output = said.text(OF_FAILURE);
                let error = self.error(status, output.as_deref());
                match status.code() {
                    Some(FAILED_FOR_GOOD) => Outcome::Failed { error, output },
                    _ => Outcome::Retry { error, output, not_before: None },
                }
            }
            End::TimedOut(after) => Outcome::TimedOut { after, output: said.text(OF_FAILURE) },
            End::Stopped => Outcome::HandedBack,
            End::Lost(error) => {
                let error = format!("{}: its exit status cannot be had: {error}", self.program);
                Outcome::Retry { error, output: said.text(OF_FAILURE), not_before: None }
            }
        }
    }

    fn not_started(&self, error: &std::io::Error) -> String {
        let hint = match error.kind() {
            ErrorKind::NotFound if self.program.contains('/') => {
                "; there must be a file of this name, and the interpreter that its first line names"
            }
            ErrorKind::NotFound => "; it must be in a directory of PATH, or be given with its path",
            ErrorKind::PermissionDenied => "; it must be a file that this user may execute",
            _ => "",
        };
        format!("the program {:?} cannot be started: {error}{hint}", self.program)
    }

    /// How it ended, and the last line of what it said: mostly that is the reason.
    fn error(&self, status: ExitStatus, output: Option<&str>) -> String {
        let how = match (status.code(), status.signal()) {
            (Some(code), _) => format!("exited with {code}"),
            (None, Some(signal)) => format!("was ended by {}", signal_name(signal)),
            (None, None) => format!("ended with {status}"),
        };
        let last = output.and_then(|text| text.lines().rev().map(str::trim).find(|line| !line.is_empty()));
        match last {
            Some(line) => format!("{} {how}: {}", self.program, &line[..line.floor_char_boundary(500)]),
            None => format!("{} {how}", self.program),
        }
    }
}

impl Handler for CommandHandler {
    fn call(&self, call: Call) -> LocalBoxFuture<'_, Vec<Outcome>> {
        async move {
            let mut outcomes = Vec::with_capacity(call.entries.len());
            // Each entry is a run of its own, in its own trace.
            let alone = call.entries.len() == 1;
            let trace = |entry| if alone { call.trace } else { trace_of(slice::from_ref(entry)) };
            for entry in &call.entries {
                outcomes.push(match call.stop.is_cancelled() {
                    true => Outcome::HandedBack,
                    false => self.run(entry, trace(entry), call.timeout, &call.stop).await,
                });
            }
            outcomes
        }
        .boxed_local()
    }
}

fn signal_name(signal: i32) -> String {
    const NAMES: [(i32, &str); 9] = [
        (1, "HUP"),
        (2, "INT"),
        (3, "QUIT"),
        (4, "ILL"),
        (6, "ABRT"),
        (9, "KILL"),
        (11, "SEGV"),
        (13, "PIPE"),
        (15, "TERM"),
    ];
    match NAMES.iter().find(|(number, _)| *number == signal) {
        Some((_, name)) => format!("signal {signal} ({name})"),
        None => format!("signal {signal}"),
    }
}
