//! All streams of a process: one looks at the database for them, and each has a queue with an end.
//!
//! What was sent is kept for a while, so that a stream that was cut goes on where it was. A reader that does not read
//! loses its place, not its neighbours theirs.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use actix_web::http::{StatusCode, header};
use actix_web::web::Bytes;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::changes::{self, Seen};
use crate::http::problem::Problem;
use crate::http::snapshots::{Snapshot, Snapshots};

/// Streams of one process.
const STREAMS: usize = 64;
/// Events that are kept for those who come back.
const KEPT: usize = 256;
/// Events that wait for a reader: all that are kept, and a few seconds' more.
const WAITING: usize = 2 * KEPT;
/// How often it is looked what has changed.
pub(super) const LOOK: Duration = Duration::from_secs(1);

struct Hub {
    /// Tells the ids of this process from those of another.
    run: String,
    snapshots: Snapshots,
    closed: CancellationToken,
    streams: Mutex<Streams>,
}

#[derive(Default)]
struct Streams {
    senders: BTreeMap<u64, mpsc::Sender<Bytes>>,
    /// The number of the last place that was given.
    places: u64,
    /// The number of the last event.
    last: u64,
    /// The last events, each with its number.
    kept: VecDeque<(u64, Bytes)>,
    /// What the last look saw.
    seen: Option<Seen>,
    /// True if the last look failed.
    away: bool,
    /// True while somebody looks.
    looking: bool,
}

/// The streams of a process; cheap to clone, all clones are one.
#[derive(Clone)]
pub struct Events(Arc<Hub>);

/// The place of one stream, until it is dropped.
pub(super) struct Place {
    hub: Arc<Hub>,
    number: u64,
    queue: mpsc::Receiver<Bytes>,
}

impl Events {
    /// Streams of what these snapshots show.
    pub fn new(snapshots: Snapshots) -> Self {
        let run = format!("{:08x}", fastrand::u32(..));
        let (closed, streams) = (CancellationToken::new(), Mutex::default());
        Self(Arc::new(Hub { run, snapshots, closed, streams }))
    }

    /// Ends all streams, for good.
    pub fn close(&self) {
        self.0.closed.cancel();
    }

    /// How many streams are open.
    pub fn count(&self) -> usize {
        self.0.lock().senders.len()
    }

    /// A place for a stream, whose reader has seen all events up to `last`.
    pub(super) fn enter(&self, last: Option<&str>) -> Result<Place, Problem> {
        let refuse = |code, detail: String| {
            Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, code, detail).header(header::RETRY_AFTER, "5"))
        };
        if self.0.closed.is_cancelled() {
            return refuse("not_ready", "the node is draining before a stop: ask another".to_owned());
        }
        let mut streams = self.0.lock();
        if streams.senders.len() >= STREAMS {
            return refuse("too_many_streams", format!("this node has {STREAMS} streams of events already: close one"));
        }
        let (sender, queue) = mpsc::channel(WAITING);
        match self.0.missed(&streams, last) {
            Ok(after) => {
                for (_, frame) in streams.kept.iter().filter(|(number, _)| *number > after) {
                    // There is room for all that are kept.
                    let _ = sender.try_send(frame.clone());
                }
            }
            Err(reason) => {
                let _ = sender.try_send(self.0.frame(streams.last, "reset", &json!({ "reason": reason })));
            }
        }
        streams.places += 1;
        let number = streams.places;
        streams.senders.insert(number, sender);
        Ok(Place { hub: self.0.clone(), number, queue })
    }

    /// True for the one who is to look from now on.
    pub(super) fn begins_to_look(&self) -> bool {
        !std::mem::replace(&mut self.0.lock().looking, true)
    }

    /// Looks until no stream is open.
    pub(super) async fn look(self) {
        loop {
            let snapshot = self.0.snapshots.get(LOOK / 2).await;
            {
                let mut streams = self.0.lock();
                self.0.tell(&mut streams, &snapshot);
                if streams.senders.is_empty() {
                    streams.looking = false;
                    return;
                }
            }
            tokio::select! {
                () = tokio::time::sleep(LOOK) => {}
                () = self.0.closed.cancelled() => return,
            }
        }
    }
}

impl Hub {
    fn lock(&self) -> MutexGuard<'_, Streams> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// After which event a reader goes on; or why it cannot.
    fn missed(&self, streams: &Streams, last: Option<&str>) -> Result<u64, &'static str> {
        let Some(last) = last else { return Err("a new stream") };
        let Some((run, number)) = last.split_once('-') else { return Err("the last id is none of a stream") };
        if run != self.run {
            return Err("the last id is another node's, or of before a restart");
        }
        let oldest = streams.kept.front().map_or(streams.last + 1, |(number, _)| *number);
        match number.parse::<u64>() {
            Ok(number) if number + 1 >= oldest && number <= streams.last => Ok(number),
            Ok(number) if number <= streams.last => Err("too much has happened since the last id"),
            _ => Err("the last id is none of a stream"),
        }
    }

    fn frame(&self, number: u64, event: &str, data: &Value) -> Bytes {
        format!("id: {}-{number}\nevent: {event}\ndata: {data}\n\n", self.run).into()
    }

    /// Tells all streams what a look has seen.
    fn tell(&self, streams: &mut Streams, snapshot: &Snapshot) {
        let away = snapshot.status().map_or(true, |status| status.away);
        if std::mem::replace(&mut streams.away, away) != away {
            self.send(streams, "database", &json!({ "reachable": !away }));
        }
        let Ok(status) = snapshot.status() else { return };
        let seen = Seen::of(status);
        match streams.seen.replace(seen.clone()) {
            Some(before) => {
                for (event, data) in changes::between(&before, &seen, status) {
                    self.send(streams, event, &data);
                }
            }
            // What was fetched before the first look may be older than it.
            None => self.send(streams, "reset", &json!({ "reason": "this node has just begun to look" })),
        }
    }

    fn send(&self, streams: &mut Streams, event: &str, data: &Value) {
        streams.last += 1;
        let frame = self.frame(streams.last, event, data);
        // Without its sender a queue ends when it is empty: that is how its reader hears that it was too slow.
        streams.senders.retain(|_, sender| sender.try_send(frame.clone()).is_ok());
        streams.kept.push_back((streams.last, frame));
        if streams.kept.len() > KEPT {
            streams.kept.pop_front();
        }
    }
}

impl Place {
    /// The next event; nothing if some were left out, since they were not read in time.
    pub async fn next(&mut self) -> Option<Bytes> {
        self.queue.recv().await
    }

    /// Cancelled when all streams are to end.
    pub fn closed(&self) -> CancellationToken {
        self.hub.closed.clone()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.hub.lock().senders.remove(&self.number);
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").field("streams", &self.count()).finish()
    }
}

#[cfg(all(test, feature = "sqlite"))]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::actor::reports::Reports;
    use crate::config::{Database, DatabaseUrl};
    use crate::store::Store;

    fn events() -> Events {
        let database = Database { url: DatabaseUrl::parse("sqlite::memory:").unwrap(), ..Database::default() };
        Events::new(Snapshots::new(Store::new(&database, Duration::from_secs(15), 1), Reports::default()))
    }

    fn send(events: &Events, count: usize) {
        for n in 0..count {
            events.0.send(&mut events.0.lock(), "task", &json!({ "n": n }));
        }
    }

    #[test]
    fn a_reader_that_does_not_read_loses_its_place_alone() {
        let events = events();
        let mut slow = events.enter(None).unwrap();
        send(&events, WAITING);
        let mut other = events.enter(None).unwrap();
        send(&events, 1);
        assert_eq!(events.count(), 1, "the slow one is out");
        let waits = futures_util::FutureExt::now_or_never(async {
            let mut waits = 0;
            while slow.next().await.is_some() {
                waits += 1;
            }
            waits
        });
        assert_eq!(waits, Some(WAITING), "it has what it was sent, and then its end");
        assert!(futures_util::FutureExt::now_or_never(other.next()).flatten().is_some());
    }

    #[test]
    fn what_is_no_longer_kept_is_told() {
        let events = events();
        send(&events, KEPT + 10);
        let first = |last: u64| {
            let last = format!("{}-{last}", events.0.run);
            let mut place = events.enter(Some(&last)).unwrap();
            let frame = futures_util::FutureExt::now_or_never(place.next()).flatten();
            String::from_utf8(frame.unwrap_or_default().to_vec()).unwrap()
        };
        assert!(first(9).contains("event: reset"));
        assert!(first(10).contains("-11\nevent: task"));
        assert_eq!(first(KEPT as u64 + 10), "", "nothing was missed");
    }
}
