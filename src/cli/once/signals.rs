//! The signals that are passed on to the program: what it would have got without Soloist before it.

use std::future::poll_fn;
use std::task::Poll;

use rustix::process::{Signal, kill_process};
use tokio::signal::unix::{Signal as Stream, SignalKind, signal};

use crate::error::{Error, Result};
use crate::handler::command::Group;

/// For the program and all that it has started, as a terminal sends them; the last two for the program alone, since
/// they end whoever does not expect them.
const PASSED_ON: [Signal; 9] = [
    Signal::HUP,
    Signal::INT,
    Signal::QUIT,
    Signal::TERM,
    Signal::TSTP,
    Signal::CONT,
    Signal::WINCH,
    Signal::USR1,
    Signal::USR2,
];

/// The signals that Soloist hears instead of being ended by them.
pub(super) struct Signals(Vec<(Signal, Stream)>);

/// A signal that Soloist got.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Heard(pub(super) Signal);

impl Signals {
    /// Listens from now on. What was ignored already, as by `nohup`, stays ignored, by the program too.
    pub(super) fn new() -> Result<Self> {
        let listen = |number: Signal| match signal(SignalKind::from_raw(number.as_raw())) {
            Ok(stream) => Ok((number, stream)),
            Err(error) => Err(Error::internal(format!("signals cannot be heard: {error}"))),
        };
        PASSED_ON.into_iter().filter(|number| !is_ignored(*number)).map(listen).collect::<Result<_>>().map(Self)
    }

    /// The next one. May be dropped and asked again.
    pub(super) async fn next(&mut self) -> Heard {
        poll_fn(|context| {
            for (number, stream) in &mut self.0 {
                if stream.poll_recv(context).is_ready() {
                    return Poll::Ready(Heard(*number));
                }
            }
            Poll::Pending
        })
        .await
    }
}

impl Heard {
    /// Sends it on to a program that has not been waited for.
    pub(super) fn pass_on(self, group: &mut Group) {
        if matches!(self.0, Signal::USR1 | Signal::USR2) {
            // Err: it has just ended.
            let _ = kill_process(group.id(), self.0);
        } else {
            group.signal(self.0);
        }
    }
}

fn is_ignored(number: Signal) -> bool {
    // SAFETY: the struct is plain data, for which zeros are a value; it is the kernel's to fill in.
    let mut now: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: a null pointer for the new action changes nothing; `now` is a valid place for the present one.
    let asked = unsafe { libc::sigaction(number.as_raw(), std::ptr::null(), &raw mut now) };
    asked == 0 && now.sa_sigaction == libc::SIG_IGN
}
