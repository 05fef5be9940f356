//! The pure-Rust MySQL driver as a blocking diesel connection, bounded in time.
//!
//! The driver has no time-out for an answer: on a silent network a call would hang for a quarter of an hour. Its
//! runtime gives up instead and unwinds with [`Silent`], which [`patiently`] turns into an error on the spot.

use std::cell::Cell;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

use diesel::result::{DatabaseErrorKind, Error, QueryResult};
use diesel_async::AsyncMysqlConnection;
use diesel_async::async_connection_wrapper::{AsyncConnectionWrapper, BlockOn};

/// A blocking connection to MySQL or MariaDB.
pub type MysqlConnection = AsyncConnectionWrapper<AsyncMysqlConnection, OwnRuntime>;

/// How long one answer is waited for, unless [`with_patience`] says otherwise.
const PATIENCE: Duration = Duration::from_secs(20);

thread_local! {
    static PATIENCE_HERE: Cell<Duration> = const { Cell::new(PATIENCE) };
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
        let answered = self.0.as_ref().map(|own| own.block_on(async { tokio::time::timeout(patience, answer).await }));
        match answered {
            Some(Ok(output)) => output,
            Some(Err(_)) | None => resume_unwind(Box::new(Silent)),
        }
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
    let before = PATIENCE_HERE.replace(patience);
    let result = work();
    PATIENCE_HERE.set(before);
    result
}
