//! LISTEN on PostgreSQL: wakes the node within a millisecond or two of a commit.
//!
//! A hint, never the truth: polling finds what a lost notification did not tell. Each new connection wakes once, for
//! what was missed before it.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream;
use tokio_postgres::AsyncMessage;

use crate::actor::reports::Reports;
use crate::config::{Secret, url};
use crate::error::Error;
use crate::store::wake::CHANNEL;

/// As reports name it.
const NAME: &str = "wake-up";

/// The longest between two tries to connect.
const LONGEST: Duration = Duration::from_secs(10);

/// Listens until the process ends; calls `wake` for each notification and each new connection.
pub async fn listen(libpq: Secret, wake: impl Fn(), reports: Reports) {
    let mut failures: u32 = 0;
    reports.expect(NAME, None, Duration::ZERO);
    loop {
        let listens = || reports.done(NAME);
        let error = match once(&libpq, &wake, listens, &mut failures).await {
            Ok(()) => "the server closed the connection".to_owned(),
            Err(error) => error.to_string(),
        };
        failures = failures.saturating_add(1);
        let wait = Duration::from_millis(100) * 2_u32.saturating_pow(failures.min(8));
        let wait = wait.min(LONGEST).mul_f64(0.5 + 0.5 * fastrand::f64());
        reports.failed(NAME, &Error::transient(&error));
        tracing::debug!(error, ?wait, "not listening; entries are found by polling until it is mended");
        tokio::time::sleep(wait).await;
    }
}

async fn once(
    libpq: &Secret,
    wake: &impl Fn(),
    listens: impl Fn(),
    failures: &mut u32,
) -> Result<(), tokio_postgres::Error> {
    let mut config: tokio_postgres::Config = url::for_tokio_postgres(libpq).expose().parse()?;
    config.application_name("soloist listener");
    let (client, mut connection) = config.connect(tokio_postgres::NoTls).await?;
    let mut messages = stream::poll_fn(move |context| connection.poll_message(context));
    let listen = format!("LISTEN {CHANNEL}");
    let listen = client.batch_execute(&listen);
    tokio::pin!(listen);
    let mut listening = false;
    loop {
        tokio::select! {
            answer = &mut listen, if !listening => {
                answer?;
                listening = true;
                *failures = 0;
                listens();
                wake();
            }
            message = messages.next() => match message {
                Some(Ok(AsyncMessage::Notification(_))) => wake(),
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(error),
                None => return Ok(()),
            },
        }
    }
}
