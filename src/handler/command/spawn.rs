//! Starts the program: its group, its environment, its pipes, and its end with the node.

use std::ffi::OsString;
use std::io;
use std::process::Stdio;

use tokio::net::unix::pipe;
use tokio::process::{Child, Command};

use super::group::Group;
use super::watch::Watch;
use crate::model::{Entry, Trace, time};

/// A running program.
pub(super) struct Started {
    pub(super) child: Child,
    pub(super) group: Group,
    /// `None` where there is no shell for it.
    pub(super) watch: Option<Watch>,
    /// Its standard output and standard error in one pipe, so that they keep their order.
    pub(super) output: pipe::Receiver,
}

/// Starts the program with the entry and its trace in its environment.
pub(super) fn spawn(
    program: &str,
    arguments: &[String],
    hidden: &[OsString],
    (entry, trace): (&Entry, Trace),
) -> io::Result<Started> {
    let (reader, writer) = io::pipe()?;
    let mut command = Command::new(program);
    command.args(arguments).process_group(0).kill_on_drop(true);
    command.stdin(Stdio::piped()).stdout(writer.try_clone()?).stderr(writer);
    for name in hidden {
        command.env_remove(name);
    }
    for (name, value) in variables(entry, trace) {
        match value {
            // The environment cannot hold U+0000; the entry on standard input has it unchanged.
            Some(value) => command.env(name, value.replace('\0', "\u{FFFD}")),
            None => command.env_remove(name),
        };
    }
    end_with_the_node(&mut command);
    let child = command.spawn()?;
    // The command holds our copies of the pipe's writing end: without dropping it the output would never end.
    drop(command);
    let group = Group::led_by(&child)?;
    let watch = Watch::over(group.id())
        .inspect_err(|error| tracing::warn!(%error, "no watch over a program: /bin/sh cannot be started"))
        .ok();
    Ok(Started { child, group, watch, output: pipe::Receiver::from_owned_fd(reader.into())? })
}

fn variables(entry: &Entry, trace: Trace) -> [(&'static str, Option<String>); 8] {
    [
        ("SOLOIST_ENTRY_ID", Some(entry.id.to_string())),
        ("SOLOIST_TASK", Some(entry.task.clone())),
        ("SOLOIST_KEY", entry.key.clone()),
        ("SOLOIST_ATTEMPT", Some(entry.attempt.to_string())),
        ("SOLOIST_IDEMPOTENCY_KEY", Some(entry.idempotency_key.clone())),
        ("SOLOIST_SCHEDULED_FOR", entry.scheduled_for.map(time::rfc3339)),
        ("TRACEPARENT", Some(trace.to_string())),
        // What the node itself may have got belongs to another trace.
        ("TRACESTATE", None),
    ]
}

/// Has the kernel end the program when the node dies, also by kill -9. The kernel means the thread that starts the
/// program, not the process: a thread that ends earlier takes its programs with it.
#[cfg(target_os = "linux")]
pub(crate) fn end_with_the_node(command: &mut Command) {
    use rustix::io::Errno;
    use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};

    let node = getpid();
    let hook = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // The node may have died between fork and the call above, which then came too late.
        if getppid() == Some(node) { Ok(()) } else { Err(Errno::SRCH.into()) }
    };
    // SAFETY: the hook runs in the child between fork and exec, where only async-signal-safe calls are allowed. It
    // makes two system calls (prctl, getppid), which rustix issues directly; it captures one integer, takes no lock,
    // allocates nothing (both errors are made from an error number), and cannot panic.
    unsafe { command.pre_exec(hook) };
}

/// Other kernels have no such call: there a program outlives a node that is killed.
#[cfg(not(target_os = "linux"))]
pub(crate) fn end_with_the_node(_: &mut Command) {}
