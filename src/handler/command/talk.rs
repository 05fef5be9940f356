//! What goes in and what comes out while a program runs: both all the time, neither waiting for the other.

use std::io::ErrorKind;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;
use tokio::process::ChildStdin;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::handler::output::Tail;

/// When the group is gone, for what is left in the pipe. It lasts that long only if a process that left the group
/// holds the pipe open.
const REST: Duration = Duration::from_millis(500);
/// What a pipe of Linux holds.
const PIECE: usize = 64 * 1024;

/// A conversation; dropping it hangs up.
pub(super) struct Talk {
    tail: Arc<Mutex<Tail>>,
    writer: JoinSet<()>,
    reader: JoinSet<()>,
}

impl Talk {
    /// Writes the input and reads the output from here on.
    pub(super) fn start(stdin: Option<ChildStdin>, input: Vec<u8>, output: pipe::Receiver) -> Self {
        let tail = Arc::new(Mutex::new(Tail::default()));
        let mut talk = Self { tail: tail.clone(), writer: JoinSet::new(), reader: JoinSet::new() };
        if let Some(stdin) = stdin {
            talk.writer.spawn(write(stdin, input));
        }
        talk.reader.spawn(read(output, tail));
        talk
    }

    /// The last of what was said, once the program is gone.
    pub(super) async fn finish(mut self) -> Tail {
        self.writer.abort_all();
        let _ = timeout(REST, self.reader.join_next()).await;
        std::mem::take(&mut *self.tail.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A program may close its input, or end, without having read it: that is its own affair.
async fn write(mut stdin: ChildStdin, input: Vec<u8>) {
    if let Err(error) = stdin.write_all(&input).await
        && error.kind() != ErrorKind::BrokenPipe
    {
        tracing::warn!(%error, "the entry could not be written to a program's standard input");
    }
}

async fn read(mut output: pipe::Receiver, tail: Arc<Mutex<Tail>>) {
    let mut piece = vec![0; PIECE];
    loop {
        match output.read(&mut piece).await {
            Ok(0) => return,
            Ok(length) => tail.lock().unwrap_or_else(PoisonError::into_inner).push(&piece[..length]),
            Err(error) => {
                tracing::warn!(%error, "the output of a program cannot be read on");
                return;
            }
        }
    }
}
