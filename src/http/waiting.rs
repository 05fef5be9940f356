//! Requests that wait for work of a task: one look at the database for all of them, then a turn for one after the other.
//!
//! Owns who waits and whose turn it is. What a request does with its turn is its own; the turn says only that there
//! seemed to be something. Looks are made after each wake and each `poll`, and only while somebody waits.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use actix_web::http::{StatusCode, header};
use actix_web::{rt, web};
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::{Instant, sleep, timeout_at};
use tokio_util::sync::CancellationToken;

use super::problem::Problem;
use super::state::ApiState;
use crate::store::claim::{self, Due, Limited};

/// Requests that wait at once in this process.
const MOST: usize = 1000;

/// Between two looks, however often there are wakes.
const PAUSE: Duration = Duration::from_millis(10);

/// How soon entries of a task that is limited over all nodes are looked at again: how many may start now is known only
/// to the claim.
const LIMITED: Duration = Duration::from_millis(100);

/// What a place hears: that its turn has come, or why nobody can look.
type Heard = Result<(), Problem>;

/// Who waits for work; cheap to clone, all clones are one.
#[derive(Clone)]
pub struct Waiting {
    room: Arc<Room>,
}

struct Room {
    woken: watch::Receiver<()>,
    poll: Duration,
    closed: CancellationToken,
    entered: Notify,
    queues: Mutex<Queues>,
}

#[derive(Default)]
struct Queues {
    of_task: BTreeMap<String, VecDeque<(u64, mpsc::Sender<Heard>)>>,
    /// The number of the last place.
    last: u64,
    waiting: usize,
    /// True while somebody looks for them.
    looking: bool,
}

impl Waiting {
    /// Looks whenever `woken` changes, and at least every `poll`.
    pub fn new(woken: watch::Receiver<()>, poll: Duration) -> Self {
        let closed = CancellationToken::new();
        Self { room: Arc::new(Room { woken, poll, closed, entered: Notify::new(), queues: Mutex::default() }) }
    }

    /// Nobody waits any longer: who does is told so at once.
    pub fn close(&self) {
        self.room.closed.cancel();
    }

    /// A problem once the node drains: it hands out nothing whose end it may not live to hear.
    pub(super) fn open(&self) -> Result<(), Problem> {
        if self.room.closed.is_cancelled() { Err(draining()) } else { Ok(()) }
    }

    /// How many wait.
    pub fn count(&self) -> usize {
        self.room.queues().waiting
    }

    /// A place in the queue of a task, until it is dropped.
    pub(super) fn enter(&self, state: &web::Data<ApiState>, task: &str) -> Result<Place, Problem> {
        let (place, is_first) = enter(&self.room, task)?;
        if is_first {
            rt::spawn(look(self.room.clone(), state.clone()));
        }
        // What came after the last look of whoever enters is found by this one.
        self.room.entered.notify_one();
        Ok(place)
    }
}

fn draining() -> Problem {
    let detail = "the node is draining before a stop: ask another";
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "not_ready", detail).header(header::RETRY_AFTER, "1")
}

/// A new place at the end of its queue, and whether somebody must begin to look.
fn enter(room: &Arc<Room>, task: &str) -> Result<(Place, bool), Problem> {
    let (send, heard) = mpsc::channel(1);
    let mut queues = room.queues();
    if queues.waiting == MOST {
        let detail = format!("{MOST} requests wait for work here already: ask again later, or another node");
        let problem = Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too_many_waiting", detail);
        return Err(problem.header(header::RETRY_AFTER, "1"));
    }
    queues.last += 1;
    queues.waiting += 1;
    let number = queues.last;
    queues.of_task.entry(task.to_owned()).or_default().push_back((number, send));
    let is_first = !std::mem::replace(&mut queues.looking, true);
    Ok((Place { room: room.clone(), task: task.to_owned(), number, heard }, is_first))
}

/// A place in the queue of a task.
pub(super) struct Place {
    room: Arc<Room>,
    task: String,
    number: u64,
    heard: mpsc::Receiver<Heard>,
}

impl Place {
    /// Waits for a turn; nothing when the time is over. The place stays in the queue.
    pub(super) async fn turn(&mut self, until: Instant) -> Result<Option<Turn>, Problem> {
        let closed = self.room.closed.clone();
        let heard = tokio::select! {
            biased;
            () = closed.cancelled() => Some(Err(draining())),
            heard = timeout_at(until, self.heard.recv()) => heard.unwrap_or_default(),
        };
        let turn = || Turn { room: self.room.clone(), task: self.task.clone(), may_be_more: true };
        heard.transpose().map(|heard| heard.map(|()| turn()))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut queues = self.room.queues();
        queues.waiting -= 1;
        let mut is_empty = false;
        if let Some(queue) = queues.of_task.get_mut(&self.task) {
            queue.retain(|(number, _)| *number != self.number);
            is_empty = queue.is_empty();
        }
        if is_empty {
            queues.of_task.remove(&self.task);
        }
        drop(queues);
        // A turn that it was given and did not take.
        if let Ok(Ok(())) = self.heard.try_recv() {
            self.room.give_turn(&self.task);
        }
    }
}

/// One that may try; when it is dropped the next in the queue may, since there may be more.
pub(super) struct Turn {
    room: Arc<Room>,
    task: String,
    may_be_more: bool,
}

impl Turn {
    /// There was nothing: nobody else needs to try before the next look.
    pub(super) fn found_nothing(mut self) {
        self.may_be_more = false;
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if self.may_be_more {
            self.room.give_turn(&self.task);
        }
    }
}

impl Room {
    fn queues(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The tasks that somebody waits for; if there are none, nobody looks any longer.
    fn tasks(&self) -> Vec<String> {
        let mut queues = self.queues();
        queues.looking = !queues.of_task.is_empty() && !self.closed.is_cancelled();
        if queues.looking { queues.of_task.keys().cloned().collect() } else { Vec::new() }
    }

    /// Gives the first in the queue a turn, and puts it last.
    fn give_turn(&self, task: &str) {
        let mut queues = self.queues();
        let Some(queue) = queues.of_task.get_mut(task) else { return };
        let Some((number, place)) = queue.pop_front() else { return };
        // One that has not yet taken its turn needs no second.
        let _ = place.try_send(Ok(()));
        queue.push_back((number, place));
    }

    /// Tells everybody why nobody can look.
    fn tell(&self, problem: &Problem) {
        for (_, place) in self.queues().of_task.values().flatten() {
            let _ = place.try_send(Err(problem.clone()));
        }
    }

    /// Gives a turn for each task of which something is due; the span to the next due time.
    fn give_turns(&self, found: Vec<Due>) -> Option<Duration> {
        let mut next = None;
        for due in found.into_iter().filter(|due| !due.paused) {
            if !due.priorities.is_empty() {
                self.give_turn(&due.task);
            }
            let span = due.next_in.map(|span| Duration::from_micros(span.try_into().unwrap_or(0)));
            let again = (due.limited != Limited::No && !due.priorities.is_empty()).then_some(LIMITED);
            next = next.into_iter().chain(span).chain(again).min();
        }
        next
    }
}

/// Looks until nobody waits.
async fn look(room: Arc<Room>, state: web::Data<ApiState>) {
    let mut woken = room.woken.clone();
    loop {
        woken.borrow_and_update();
        let tasks = room.tasks();
        if tasks.is_empty() {
            return;
        }
        let found = state.database(move |connection| {
            let tasks: Vec<_> = tasks.iter().map(String::as_str).collect();
            Ok(claim::due(connection, &tasks)?)
        });
        let poll = room.poll.mul_f64(0.8 + 0.4 * fastrand::f64());
        let wait = match found.await {
            Ok(found) => room.give_turns(found).map_or(poll, |next| next.min(poll)),
            Err(problem) => {
                room.tell(&problem);
                poll
            }
        };
        sleep(PAUSE).await;
        tokio::select! {
            () = changed(&mut woken) => {}
            () = room.entered.notified() => {}
            () = room.closed.cancelled() => {}
            () = sleep(wait.saturating_sub(PAUSE)) => {}
        }
    }
}

/// Until there is a wake; for ever if nobody is there to tell of one.
async fn changed(woken: &mut watch::Receiver<()>) {
    if woken.changed().await.is_err() {
        std::future::pending().await
    }
}

#[cfg(test)]
mod tests;
