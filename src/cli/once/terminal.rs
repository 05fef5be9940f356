//! The terminal, if there is one: the program reads it, is interrupted and suspended by it as if Soloist were not there.
//!
//! The program's group is in the background of the terminal, so that signals of the keyboard come to Soloist, which
//! passes them on. Whoever reads a terminal from there is stopped by the kernel; then it is handed over. When the
//! program is suspended, Soloist is too, so that the shell has the terminal again; the lease may end meanwhile.

use std::fs::File;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, getpgrp, getpid, getsid, kill_process, waitid};
use rustix::termios::{tcgetpgrp, tcsetpgrp};

use super::signals::Heard;
use crate::handler::command::Group;

/// The terminal that controls this process.
pub(super) struct Terminal {
    device: File,
    /// Our group: that of the shell's job.
    ours: Pid,
    /// True if a shell can wake us when we stop.
    has_shell: bool,
    /// The group that the terminal was handed over to.
    handed_to: Option<Pid>,
}

impl Terminal {
    /// The terminal; to be asked for once the program has been started.
    pub(super) fn open() -> Option<Self> {
        let device = File::options().read(true).write(true).open("/dev/tty").ok()?;
        // Else the kernel would stop us when we take the terminal back. After the start: the program must not inherit it.
        // SAFETY: no handler is installed, the signal is only ignored.
        unsafe { libc::signal(libc::SIGTTOU, libc::SIG_IGN) };
        let ours = getpgrp();
        Some(Self { device, ours, has_shell: getsid(None) != Ok(ours), handed_to: None })
    }

    /// Looks whether the program has been stopped, and by what.
    pub(super) fn look(&mut self, group: &mut Group) {
        // The program leads its group: the group's number is its own.
        let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG;
        while let Ok(Some(status)) = waitid(WaitId::Pid(group.id()), options) {
            let by = status.stopping_signal().and_then(Signal::from_named_raw);
            match by {
                Some(Signal::TTIN | Signal::TTOU) => self.wanted(group),
                Some(Signal::TSTP) => self.suspend(group),
                // By somebody else, who will have it go on.
                _ => {}
            }
        }
    }

    /// The program wants the terminal.
    fn wanted(&mut self, group: &mut Group) {
        if self.hand_over(group.id()) {
            group.signal(Signal::CONT);
        } else if self.has_shell {
            self.suspend(group);
        }
    }

    /// Gives the terminal to the program's group, if it is ours to give; true if it has it then.
    fn hand_over(&mut self, group: Pid) -> bool {
        let foreground = tcgetpgrp(&self.device);
        if foreground == Ok(self.ours) && tcsetpgrp(&self.device, group).is_ok() {
            self.handed_to = Some(group);
            return true;
        }
        foreground == Ok(group)
    }

    /// The program has been suspended: so are we, until the shell has the job go on, which comes back as `CONT`.
    fn suspend(&mut self, group: &mut Group) {
        self.take_back();
        if self.has_shell {
            // Does not return before we go on.
            let _ = kill_process(getpid(), Signal::STOP);
        } else {
            group.signal(Signal::CONT);
        }
    }

    /// What is to be done before a signal is passed on.
    pub(super) fn before(&mut self, heard: Heard, group: &Group) {
        if heard == Heard(Signal::CONT) && self.handed_to.is_some() {
            self.hand_over(group.id());
        }
    }

    fn take_back(&self) {
        if let Some(group) = self.handed_to
            && tcgetpgrp(&self.device) == Ok(group)
        {
            let _ = tcsetpgrp(&self.device, self.ours);
        }
    }
}

/// The shell expects its terminal back.
impl Drop for Terminal {
    fn drop(&mut self) {
        self.take_back();
    }
}
