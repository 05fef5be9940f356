//! What programs have left outside their groups: reaped when it has ended, so that it does not stay as a zombie.
//!
//! Orphans come to the process that adopts them: to the first of a container, and to one that asked for it. Members
//! of a group are `group`'s; this is for those that left theirs, which run as long as they like.

use std::collections::HashSet;
use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use super::group::Stat;

const PAUSE: Duration = Duration::from_secs(10);

static ADOPTS: AtomicBool = AtomicBool::new(false);
static SWEEP: Mutex<Option<Sweep>> = Mutex::new(None);

/// Has this process adopt the orphans of its programs, so that none waits for another process to be reaped. For a
/// process whose children are Soloist's alone: the `soloist` command, not an application that embeds it.
pub fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    match rustix::process::set_child_subreaper(Some(rustix::process::getpid())) {
        Ok(()) => ADOPTS.store(true, Ordering::Relaxed),
        Err(error) => tracing::warn!(%error, "orphans of programs stay with the first process of this system"),
    }
}

/// Reaps orphans that have ended, if they are this process's. Cheap when it was done a moment ago.
pub(super) fn reap() {
    if !ADOPTS.load(Ordering::Relaxed) && std::process::id() != 1 {
        return;
    }
    // Err: another thread is at it.
    if let Ok(mut sweep) = SWEEP.try_lock() {
        match &mut *sweep {
            Some(sweep) if sweep.at.elapsed() < PAUSE => {}
            Some(sweep) => sweep.again(),
            None => *sweep = Some(Sweep::first()),
        }
    }
}

/// A zombie that two sweeps find is nobody's: whoever started a child of this process has had the time to reap it.
struct Sweep {
    at: Instant,
    zombies: HashSet<i32>,
}

impl Sweep {
    fn first() -> Self {
        Self { at: Instant::now(), zombies: zombies() }
    }

    fn again(&mut self) {
        let now = zombies();
        for pid in now.intersection(&self.zombies).filter_map(|pid| Pid::from_raw(*pid)) {
            let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
        }
        *self = Self { at: Instant::now(), zombies: now };
    }
}

fn zombies() -> HashSet<i32> {
    let me = i32::try_from(std::process::id()).unwrap_or_default();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = processes.filter_map(|process| process.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| Stat::of(*pid).is_some_and(|stat| stat.ended && stat.parent == me)).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    // The zombie is what is tested.
    #![allow(clippy::zombie_processes)]

    use super::*;

    #[test]
    fn a_zombie_is_reaped_when_it_is_met_again() {
        let child = std::process::Command::new("true").spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let since = Instant::now();
        while !zombies().contains(&pid) {
            assert!(since.elapsed() < Duration::from_secs(10), "{pid} does not end");
        }
        let mut sweep = Sweep::first();
        assert!(zombies().contains(&pid));
        sweep.again();
        assert!(!zombies().contains(&pid));
    }
}
