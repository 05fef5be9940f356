//! The end of a group when the node is killed: a second process that waits for that and for nothing else.
//!
//! The kernel ends the leader with the node (see `spawn`), but not what the leader has started. So a shell beside
//! the program reads a pipe that only the node holds: a word on it means that all is well, its end that the node is
//! gone. Where there is no shell, what a leader has started outlives a kill -9 of the node.

use std::io::{self, Write};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::Pid;
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// `$0` is the group. Signals for a whole session, such as those of a terminal, are not for the watch.
const SCRIPT: &str = r#"trap '' HUP INT TERM; read -r well || kill -s KILL -- "-$0""#;

/// For a shell that somebody has stopped; the runtime reaps it later.
const PATIENCE: Duration = Duration::from_secs(1);

/// A watch over a group. Dropping it tells it that the group is over.
pub(crate) struct Watch {
    shell: Option<Child>,
    line: io::PipeWriter,
}

impl Watch {
    /// Sets a watch over the group that this process leads.
    pub(crate) fn over(group: Pid) -> io::Result<Self> {
        let (reader, line) = io::pipe()?;
        let mut command = Command::new("/bin/sh");
        command.args(["-c", SCRIPT]).arg(group.as_raw_nonzero().to_string());
        // An environment of its own: it needs none, and secrets of the node are none of its business.
        command.env_clear().process_group(0);
        command.stdin(reader).stdout(Stdio::null()).stderr(Stdio::null());
        by_fork(&mut command);
        Ok(Self { shell: Some(command.spawn()?), line })
    }

    /// The group is over: so is the watch.
    pub(crate) async fn end(mut self) {
        self.all_is_well();
        if let Some(mut shell) = self.shell.take() {
            let _ = timeout(PATIENCE, shell.wait()).await;
        }
    }

    fn all_is_well(&mut self) {
        // Err: somebody has ended the shell.
        let _ = self.line.write_all(b"well\n");
    }
}

/// Has the shell started by fork instead of vfork. Before it has its own group and its traps, what a terminal sends to
/// ours goes to it too: by vfork it would be stopped by it, and we with it for good; by fork our own handlers run there.
fn by_fork(command: &mut Command) {
    // SAFETY: the hook, which runs between fork and exec, does nothing; that there is one is all that counts.
    unsafe { command.pre_exec(|| Ok(())) };
}

/// The shell reads the word, ends, and is reaped by the runtime.
impl Drop for Watch {
    fn drop(&mut self) {
        if self.shell.is_some() {
            self.all_is_well();
        }
    }
}
