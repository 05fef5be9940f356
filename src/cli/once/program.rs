//! The program while it runs: started under the lease, told what signals Soloist gets, ended when the lease is lost.
//!
//! To be run on the main thread: the kernel ends the program when the *thread* that started it ends, and the main
//! thread lives as long as Soloist.

use std::ffi::OsString;
use std::io;
use std::process::ExitStatus;

use tokio::process::{Child, Command};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::keeper::Keeper;
use super::signals::Signals;
use super::terminal::Terminal;
use crate::error::{Error, Result};
use crate::handler::command::{Group, Watch, end_with_the_node};

/// How it came to its end.
pub(super) enum Ended {
    /// By itself, or by a signal.
    Exited(ExitStatus),
    /// Before its beginning.
    NotStarted(io::Error),
    /// By Soloist, since the lease was lost: why.
    LeaseLost(&'static str),
}

/// Runs the program to its end, without the environment variables that are hidden. Its input and output are ours.
pub(super) fn run(command: &[OsString], hidden: &[String], keeper: &mut Keeper) -> Result<Ended> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(Error::internal)?.block_on(start(command, hidden, keeper))
}

async fn start(command: &[OsString], hidden: &[String], keeper: &mut Keeper) -> Result<Ended> {
    // From here on none of them ends Soloist.
    let signals = Signals::new()?;
    let changes = signal(SignalKind::child()).map_err(Error::internal)?;
    if let Some(why) = keeper.lost() {
        return Ok(Ended::LeaseLost(why));
    }
    let Some((program, arguments)) = command.split_first() else {
        return Err(Error::usage("there is no program to run"));
    };
    let mut command = Command::new(program);
    command.args(arguments).process_group(0).kill_on_drop(true);
    for name in hidden {
        command.env_remove(name);
    }
    end_with_the_node(&mut command);
    match command.spawn() {
        Ok(child) => follow(child, signals, changes, keeper).await,
        Err(error) => Ok(Ended::NotStarted(error)),
    }
}

/// Stays with the program to its end. Should this fail midway, dropping the group ends it.
async fn follow(mut child: Child, mut signals: Signals, mut changes: Signal, keeper: &mut Keeper) -> Result<Ended> {
    let mut group = Group::led_by(&child).map_err(Error::internal)?;
    let watch = Watch::over(group.id())
        .inspect_err(|error| tracing::warn!(%error, "no watch over what the program starts: no /bin/sh"))
        .ok();
    let mut terminal = Terminal::open();
    // It may have been stopped already.
    if let Some(terminal) = &mut terminal {
        terminal.look(&mut group);
    }
    let ended = loop {
        tokio::select! {
            biased;
            status = child.wait() => break Ended::Exited(status.map_err(Error::internal)?),
            why = keeper.until_lost() => break Ended::LeaseLost(why),
            heard = signals.next() => {
                // Soloist itself may have been stopped for long: the program is not to go on before this is known.
                if let Some(why) = keeper.lost() {
                    break Ended::LeaseLost(why);
                }
                if let Some(terminal) = &mut terminal {
                    terminal.before(heard, &group);
                }
                heard.pass_on(&mut group);
            }
            _ = changes.recv() => {
                if let Some(terminal) = &mut terminal {
                    terminal.look(&mut group);
                }
            }
        }
    };
    match ended {
        // What it has left behind is on its own, as after any program.
        Ended::Exited(_) => group.let_go(),
        _ => {
            let now = CancellationToken::new();
            now.cancel();
            group.with_grace_of_a_stop(keeper.grace()).end(&mut child, &now).await;
        }
    }
    if let Some(watch) = watch {
        watch.end().await;
    }
    Ok(ended)
}
