//! Keeps the lease while the program runs: a thread that renews it, and the word on how long it can be trusted.
//!
//! As a node's: trusted for two thirds of its length, on the monotonic clock, counted from before each renewal was
//! asked for. A database that does not answer holds up the thread, never that word.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::sleep_until;

use super::turn::{Taken, Turn};
use crate::cli::output;
use crate::config::duration;
use crate::error::Result;
use crate::handler::command::GRACE_OF_A_STOP;

/// How long the end of the lease is waited for when the program has ended.
const LAST_WRITE: Duration = Duration::from_secs(3);

const UNRENEWED: &str = "could not be renewed in time";
const LOST: &str = "had ended, or was taken";

/// What the thread tells.
enum News {
    /// Renewed, and counted from then.
    Kept(Instant),
    Lost,
}

/// The lease of a program that runs.
pub(super) struct Keeper {
    lease: Duration,
    trusted_until: Instant,
    lost: bool,
    news: UnboundedReceiver<News>,
    stop: mpsc::Sender<()>,
    given_up: mpsc::Receiver<Result<()>>,
}

impl Keeper {
    /// Renews the lease from here on.
    pub(super) fn start(turn: Turn, taken: Taken) -> Self {
        let (tell, news) = unbounded_channel();
        let (stop, stopped) = mpsc::channel();
        let (done, given_up) = mpsc::channel();
        let lease = turn.lease;
        let trusted_until = taken.asked + lease * 2 / 3;
        thread::spawn(move || {
            if keep(&turn, &taken, &stopped, &tell) {
                // Err: the end was not waited for.
                let _ = done.send(turn.resign(taken.term));
            }
        });
        Self { lease, trusted_until, lost: false, news, stop, given_up }
    }

    /// Why the lease can no longer be trusted; `None` while it can.
    pub(super) fn lost(&mut self) -> Option<&'static str> {
        while let Ok(news) = self.news.try_recv() {
            self.hear(news);
        }
        if self.lost {
            return Some(LOST);
        }
        (Instant::now() >= self.trusted_until).then_some(UNRENEWED)
    }

    /// Ends when the lease can no longer be trusted, with the reason. May be dropped and asked again.
    pub(super) async fn until_lost(&mut self) -> &'static str {
        loop {
            if let Some(why) = self.lost() {
                return why;
            }
            tokio::select! {
                Some(news) = self.news.recv() => self.hear(news),
                () = sleep_until(self.trusted_until.into()) => {}
            }
        }
    }

    fn hear(&mut self, news: News) {
        match news {
            News::Kept(asked) => self.trusted_until = asked + self.lease * 2 / 3,
            News::Lost => self.lost = true,
        }
    }

    /// How long a program may take from TERM to KILL: to be gone, with the children that it waits for, while the lease
    /// still stands; or in short, where it may stand no longer.
    pub(super) fn grace(&self) -> Duration {
        let grace = self.lease / 8;
        let stands = !self.lost && self.trusted_until.elapsed() < self.lease / 20;
        if stands { grace } else { grace.min(GRACE_OF_A_STOP) }
    }

    /// Gives up the lease: the program has ended.
    pub(super) fn finish(&self) {
        // Err: the thread has ended, and with it the lease.
        let _ = self.stop.send(());
        let fault = match self.given_up.recv_timeout(LAST_WRITE) {
            Ok(Ok(())) | Err(mpsc::RecvTimeoutError::Disconnected) => return,
            Ok(Err(error)) => error.to_string(),
            Err(mpsc::RecvTimeoutError::Timeout) => "the database did not answer in time".to_owned(),
        };
        let lease = duration::format(self.lease);
        output::note(format!("note: the lease was not given up, it ends by itself within {lease}: {fault}"));
    }
}

/// Renews the lease until it is to be given up; false if it was lost before.
fn keep(turn: &Turn, taken: &Taken, stopped: &mpsc::Receiver<()>, tell: &UnboundedSender<News>) -> bool {
    let mut next = taken.asked + turn.lease / 3;
    while let Err(mpsc::RecvTimeoutError::Timeout) =
        stopped.recv_timeout(next.saturating_duration_since(Instant::now()))
    {
        // Err of `send`: nobody listens any more, as the next look shows.
        match turn.renew(taken.term) {
            Ok(Some(asked)) => {
                let _ = tell.send(News::Kept(asked));
                next = asked + turn.lease / 3;
            }
            Ok(None) => {
                let _ = tell.send(News::Lost);
                return false;
            }
            Err(error) => {
                tracing::warn!(%error, "the lease could not be renewed; trying again");
                next = Instant::now() + (turn.lease / 10).min(Duration::from_secs(1));
            }
        }
    }
    true
}
