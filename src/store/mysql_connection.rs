//! The pure-Rust MySQL driver as a blocking diesel connection, bounded in time.
//!
//! The driver has no time-out for an answer: on a silent network a call would hang for a quarter of an hour. Its
//! runtime gives up instead and unwinds with [`Silent`], which [`patiently`] turns into an error on the spot. A
//! statement that only takes too long is first ended on the server, by [`Killer`], so that its connection stays good.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::time::Duration;

use diesel::result::{DatabaseErrorKind, Error, QueryResult};
use diesel_async::async_connection_wrapper::{AsyncConnectionWrapper, BlockOn};
use diesel_async::{AsyncConnection as _, AsyncMysqlConnection, SimpleAsyncConnection as _};

use crate::config::Secret;

/// A blocking connection to MySQL or MariaDB.
pub type MysqlConnection = AsyncConnectionWrapper<AsyncMysqlConnection, OwnRuntime>;

/// How long one answer is waited for, unless [`with_patience`] says otherwise.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long it may take to end a statement, from asking to its last answer.
const GRACE: Duration = Duration::from_secs(5);

thread_local! {
    static PATIENCE_HERE: Cell<Duration> = const { Cell::new(PATIENCE) };
    static KILLER_HERE: RefCell<Option<Killer>> = const { RefCell::new(None) };
    static ENDED_HERE: Cell<bool> = const { Cell::new(false) };
}

/// Ends what a connection runs, by another one: the server would go on with it, its locks held, for nobody.
#[derive(Clone)]
pub(super) struct Killer {
    url: Secret,
    session: i64,
}

impl Killer {
    pub(super) fn new(url: Secret, session: i64) -> Self {
        Self { url, session }
    }

    async fn end(&self) {
        let ended = match AsyncMysqlConnection::establish(self.url.expose()).await {
            Ok(mut other) => other.batch_execute(&format!("KILL QUERY {}", self.session)).await.is_ok(),
            Err(_) => false,
        };
        if !ended {
            tracing::warn!(session = self.session, "a statement past its time-out could not be ended on the server");
        }
    }
}

/// A runtime of the connection's own; with a timer, so that waits can end. There until it is dropped.
pub struct OwnRuntime(Option<tokio::runtime::Runtime>);

/// Without waiting: the last owner of a connection may be a thread that runs a runtime itself, where waiting panics.
impl Drop for OwnRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// The server did not answer in time.
struct Silent;

impl BlockOn for OwnRuntime {
    fn block_on<F: Future>(&self, answer: F) -> F::Output {
        let patience = PATIENCE_HERE.get();
        let killer = KILLER_HERE.with_borrow(Clone::clone);
        let answered = self.0.as_ref().and_then(|own| {
            own.block_on(async {
                let mut answer = pin!(answer);
                if let Ok(output) = tokio::time::timeout(patience, &mut answer).await {
                    return Some(output);
                }
                let killer = killer?;
                ENDED_HERE.set(true);
                let end = async {
                    killer.end().await;
                    answer.await
                };
                tokio::time::timeout(GRACE, end).await.ok()
            })
        });
        answered.unwrap_or_else(|| resume_unwind(Box::new(Silent)))
    }

    // The trait allows no error here; a process that cannot open an event queue cannot go on.
    #[allow(clippy::expect_used)]
    fn get_runtime() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        Self(Some(runtime.expect("the system has no event queue for a database connection")))
    }
}

/// Runs `call` on this connection; a silent server becomes an error that reads as a lost connection.
pub(super) fn patiently<T>(call: impl FnOnce() -> QueryResult<T>) -> QueryResult<T> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| {
        if panic.is::<Silent>() {
            let message = format!("the server did not answer for {} s", PATIENCE_HERE.get().as_secs());
            Err(Error::DatabaseError(DatabaseErrorKind::ClosedConnection, Box::new(message)))
        } else {
            resume_unwind(panic)
        }
    })
}

/// Runs `work` with answers waited for as long as `patience`.
pub(super) fn with_patience<T>(patience: Duration, work: impl FnOnce() -> T) -> T {
    /// Sets it back also when `work` panics, which the actor around it survives.
    struct Before(Duration);
    impl Drop for Before {
        fn drop(&mut self) {
            PATIENCE_HERE.set(self.0);
        }
    }
    let _before = Before(PATIENCE_HERE.replace(patience));
    work()
}

/// Runs `work`; what patience does not suffice for is ended by `killer`. Whether anything was.
pub(super) fn ending_late<T>(killer: Option<Killer>, work: impl FnOnce() -> T) -> (T, bool) {
    /// Takes it away also when `work` panics: it must not end a later statement of this thread.
    struct Done;
    impl Drop for Done {
        fn drop(&mut self) {
            KILLER_HERE.set(None);
        }
    }
    let _done = Done;
    KILLER_HERE.set(killer);
    ENDED_HERE.set(false);
    (work(), ENDED_HERE.get())
}
