//! The end of a process group: TERM, then KILL to whatever is left of it.
//!
//! The group outlives its leader while it has members, and its number is not given away before; the first answer
//! "no such process" is taken for the end, and no signal is sent after it.

use std::fs;
use std::io;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, test_kill_process_group, waitid};
use tokio::process::Child;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

/// From TERM to KILL.
const GRACE: Duration = Duration::from_secs(5);
/// The same, at most, when the call is stopped: its claim is about to be another node's, or the node is about to exit.
pub(crate) const GRACE_OF_A_STOP: Duration = Duration::from_millis(500);
/// For members that end by themselves right after the leader, such as the rest of a pipeline.
const LINGER: Duration = Duration::from_millis(200);
/// After KILL, for the kernel and whoever reaps what is not ours.
const AFTER_KILL: Duration = Duration::from_secs(1);
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// A process group that is ended with this value, at the latest.
#[derive(Debug)]
pub(crate) struct Group {
    id: Pid,
    over: bool,
    grace_of_a_stop: Duration,
}

impl Group {
    /// The group that a child leads.
    pub(crate) fn led_by(child: &Child) -> io::Result<Self> {
        let id = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let id = id.ok_or_else(|| io::Error::other("it ended before it could be looked at"))?;
        Ok(Self { id, over: false, grace_of_a_stop: GRACE_OF_A_STOP })
    }

    /// The same group, with less time from TERM to KILL when its call is stopped.
    pub(crate) fn with_grace_of_a_stop(mut self, grace: Duration) -> Self {
        self.grace_of_a_stop = grace;
        self
    }

    /// Its number, which is that of its leader.
    pub(crate) fn id(&self) -> Pid {
        self.id
    }

    /// Ends the group whose leader runs, and reaps the leader.
    pub(crate) async fn end(mut self, leader: &mut Child, stop: &CancellationToken) {
        self.signal(Signal::TERM);
        let asked = Instant::now();
        let patience = patience(stop, self.grace_of_a_stop);
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

    /// Leaves alone what a leader that has exited left behind.
    pub(crate) fn let_go(mut self) {
        self.over = true;
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

    /// True as soon as no member of the group lives; false when that took too long. The leader must have been reaped.
    async fn gone_within(&mut self, mut time: Duration, stop: &CancellationToken) -> bool {
        let since = Instant::now();
        let mut look_closely = LOOK_AGAIN;
        loop {
            let waited = since.elapsed();
            if self.is_gone() {
                return true;
            }
            // The list of all processes is long: it is read less and less often.
            if waited >= look_closely {
                if self.is_dead() {
                    return true;
                }
                look_closely = waited * 2;
            }
            if stop.is_cancelled() {
                time = time.min(self.grace_of_a_stop);
            }
            if waited >= time {
                return false;
            }
            sleep(LOOK_AGAIN).await;
        }
    }

    /// True once the group has no member.
    fn is_gone(&mut self) -> bool {
        if !self.over {
            // Orphans are ours only where the node is the process that adopts them, as the first of a container is.
            let adopted = WaitId::Pgid(Some(self.id));
            while let Ok(Some(_)) = waitid(adopted.clone(), WaitIdOptions::EXITED | WaitIdOptions::NOHANG) {}
            self.over = test_kill_process_group(self.id) == Err(Errno::SRCH);
        }
        self.over
    }

    /// True if all members have ended and only wait to be reaped by the process that adopted them, which can take its
    /// time. Without a list of processes: false.
    fn is_dead(&self) -> bool {
        let Ok(processes) = fs::read_dir("/proc") else { return false };
        let group = self.id.as_raw_nonzero().get();
        let pids = processes.flatten().filter_map(|process| process.file_name().to_str()?.parse().ok());
        !pids.filter_map(Stat::of).any(|stat| stat.group == group && !stat.ended)
    }

    /// Sends a signal to all its members.
    pub(crate) fn signal(&mut self, signal: Signal) {
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

/// What `/proc/PID/stat` tells of a process.
#[derive(Debug, PartialEq)]
pub(super) struct Stat {
    /// True if it only waits to be reaped.
    pub(super) ended: bool,
    pub(super) parent: i32,
    pub(super) group: i32,
}

impl Stat {
    pub(super) fn of(pid: i32) -> Option<Self> {
        Self::read(&fs::read(format!("/proc/{pid}/stat")).ok()?)
    }

    /// `PID (NAME) STATE PARENT GROUP …`, and the name may hold anything.
    fn read(stat: &[u8]) -> Option<Self> {
        let end = stat.iter().rposition(|byte| *byte == b')')?;
        let rest = String::from_utf8_lossy(&stat[end + 1..]);
        let mut fields = rest.split_ascii_whitespace();
        let ended = matches!(fields.next()?, "Z" | "X");
        Some(Self { ended, parent: fields.next()?.parse().ok()?, group: fields.next()?.parse().ok()? })
    }
}

async fn patience(stop: &CancellationToken, grace_of_a_stop: Duration) {
    let hurry = async {
        stop.cancelled().await;
        sleep(grace_of_a_stop).await;
    };
    tokio::select! {
        () = sleep(GRACE) => {}
        () = hurry => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_proc_is_read_whatever_the_name_of_the_program() {
        assert_eq!(Stat::read(b"12 (sh) S 1 12 7 0"), Some(Stat { ended: false, parent: 1, group: 12 }));
        assert_eq!(Stat::read(b"12 (a) S 7 8 (b) Z 3 4 7 0"), Some(Stat { ended: true, parent: 3, group: 4 }));
        assert_eq!(Stat::read(b"12 (sh"), None);
        assert_eq!(Stat::read(b""), None);
    }
}
