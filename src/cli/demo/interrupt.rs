//! Hears Ctrl-C and SIGTERM while the demo's own thread is busy, so that it can clean up before it ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::signal::unix::{SignalKind, signal};

use crate::error::{Error, Result};

/// True once somebody wants the demo to end.
pub(super) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Begins to listen, on a thread of its own.
    pub(super) fn listen() -> Result<Self> {
        let deaf = |error: std::io::Error| Error::internal(format!("signals cannot be heard: {error}"));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(deaf)?;
        let flag = Arc::new(AtomicBool::new(false));
        let raised = flag.clone();
        let (mut interrupt, mut terminate, mut hang_up) = {
            let _entered = runtime.enter();
            let listen = |kind| signal(kind).map_err(deaf);
            (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?, listen(SignalKind::hangup())?)
        };
        std::thread::spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                    _ = hang_up.recv() => {}
                }
                raised.store(true, Ordering::SeqCst);
                // The handlers stay: a second signal must not end the demo before it has cleaned up.
                std::future::pending::<()>().await;
            });
        });
        Ok(Self(flag))
    }

    /// An error once a signal has come.
    pub(super) fn check(&self) -> Result<()> {
        if self.0.load(Ordering::SeqCst) { Err(Error::transient("stopped by a signal; cleaned up")) } else { Ok(()) }
    }
}
