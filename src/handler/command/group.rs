//! The end of a process group: TERM, then KILL to whatever is left of it.
//!
//! The group outlives its leader while it has members, and its number is not given away before; the first answer
//! "no such process" is taken for the end, and no signal is sent after it.

use std::io;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, test_kill_process_group, waitid};
use tokio::process::Child;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

/// From TERM to KILL.
const GRACE: Duration = Duration::from_secs(5);
/// The same when the call is stopped: its claim is about to be another node's, or the node is about to exit.
const GRACE_OF_A_STOP: Duration = Duration::from_millis(500);
/// For members that end by themselves right after the leader, such as the rest of a pipeline.
const LINGER: Duration = Duration::from_millis(200);
/// After KILL, for the kernel and whoever reaps what is not ours.
const AFTER_KILL: Duration = Duration::from_secs(1);
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// A process group that is ended with this value, at the latest.
#[derive(Debug)]
pub(super) struct Group {
    id: Pid,
    over: bool,
}

impl Group {
    /// The group that a child leads.
    pub(super) fn led_by(child: &Child) -> io::Result<Self> {
        let id = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        Ok(Self { id: id.ok_or_else(|| io::Error::other("it ended before it could be looked at"))?, over: false })
    }

    /// Ends the group whose leader runs, and reaps the leader.
    pub(super) async fn end(mut self, leader: &mut Child, stop: &CancellationToken) {
        self.signal(Signal::TERM);
        let asked = Instant::now();
        let patience = patience(stop);
        tokio::pin!(patience);
        tokio::select! {
            _ = leader.wait() => {
                self.gone_within(GRACE.saturating_sub(asked.elapsed()), stop).await;
            }
            () = &mut patience => {}
        }
        self.signal(Signal::KILL);
        if timeout(AFTER_KILL, leader.wait()).await.is_err() {
            tracing::warn!(group = %self.id.as_raw_nonzero(), "a program does not end, not even by KILL");
        }
        self.gone_within(AFTER_KILL, &CancellationToken::new()).await;
    }

    /// Ends what a leader that has exited left behind.
    pub(super) async fn end_of_stragglers(mut self, stop: &CancellationToken) {
        if self.gone_within(LINGER, stop).await {
            return;
        }
        self.signal(Signal::TERM);
        if self.gone_within(GRACE, stop).await {
            return;
        }
        self.signal(Signal::KILL);
        self.gone_within(AFTER_KILL, &CancellationToken::new()).await;
    }

    /// True as soon as the group has no member; false when that took too long. The leader must have been reaped.
    async fn gone_within(&mut self, mut time: Duration, stop: &CancellationToken) -> bool {
        let since = Instant::now();
        loop {
            if self.is_gone() {
                return true;
            }
            if stop.is_cancelled() {
                time = time.min(GRACE_OF_A_STOP);
            }
            if since.elapsed() >= time {
                return false;
            }
            sleep(LOOK_AGAIN).await;
        }
    }

    fn is_gone(&mut self) -> bool {
        if !self.over {
            // Orphans are ours only where the node is the process that adopts them, as the first of a container is.
            let adopted = WaitId::Pgid(Some(self.id));
            while let Ok(Some(_)) = waitid(adopted.clone(), WaitIdOptions::EXITED | WaitIdOptions::NOHANG) {}
            self.over = test_kill_process_group(self.id) == Err(Errno::SRCH);
        }
        self.over
    }

    fn signal(&mut self, signal: Signal) {
        if !self.over && kill_process_group(self.id, signal) == Err(Errno::SRCH) {
            self.over = true;
        }
    }
}

/// Whoever drops a call in the middle leaves no program behind.
impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

async fn patience(stop: &CancellationToken) {
    let hurry = async {
        stop.cancelled().await;
        sleep(GRACE_OF_A_STOP).await;
    };
    tokio::select! {
        () = sleep(GRACE) => {}
        () = hurry => {}
    }
}
