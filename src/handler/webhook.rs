//! `http = { … }`: a POST to the application, after the Standard Webhooks specification.
//!
//! Owns one call from request to outcomes. What an answer means is `answer`, what a broken connection means is
//! `fault`; nothing here retries, waits or records.

mod answer;
mod batch;
mod client;
mod fault;
mod request;
mod retry_after;
mod sign;

use std::time::{SystemTime, UNIX_EPOCH};

use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use reqwest::Client;
use reqwest::header::HeaderMap;

use self::fault::Fault;
use self::sign::Signer;
use super::{Call, Handler, passed};
use crate::config::{Secret, WebHook};
use crate::error::Result;
use crate::model::{Entry, Outcome, Trace};

pub use self::client::{client, client_trusting, install_tls_provider};

/// Posts entries to the application and reads its answers.
#[derive(Debug)]
pub struct WebHookHandler {
    client: Client,
    url: url::Url,
    /// The URL as errors show it: without user, password, query.
    shown: String,
    /// The headers that every call has.
    headers: HeaderMap,
    signer: Signer,
    /// What must not come back in the output of an attempt.
    secrets: Vec<Secret>,
    /// True if the task's `batch` is more than 1: then the body is always a list.
    list: bool,
}

impl WebHookHandler {
    /// `client` must have been made on the runtime that this handler's calls run on: see [`client`].
    ///
    /// Fails on a URL, a header or a signing secret that cannot be used; the error names it and never shows its value.
    pub fn new(client: Client, hook: &WebHook, batch: usize) -> Result<Self> {
        request::check(&hook.url)?;
        Ok(Self {
            client,
            url: hook.url.clone(),
            shown: request::shown(&hook.url),
            headers: request::fixed_headers(hook)?,
            signer: Signer::new(&hook.secrets)?,
            secrets: hook.token.iter().chain(&hook.secrets).cloned().collect(),
            list: batch > 1,
        })
    }

    async fn post(&self, entries: &[Entry], trace: Trace) -> Vec<Outcome> {
        let all = |outcome: Outcome| vec![outcome; entries.len()];
        let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let (headers, body) = match request::request(&self.headers, &self.signer, entries, self.list, (at, trace)) {
            Ok(request) => request,
            Err(error) => return all(Outcome::failed(error)),
        };
        let response = match self.client.post(self.url.clone()).headers(headers).body(body).send().await {
            Ok(response) => response,
            Err(error) => {
                return all(match fault::of_sending(error) {
                    Fault::Host(words) => Outcome::Refused { reason: format!("POST {}: {words}", self.shown) },
                    Fault::Passing(words) => Outcome::retry(format!("POST {}: {words}", self.shown)),
                });
            }
        };
        answer::read(response, self.list).await.outcomes(&self.shown, entries, &self.secrets)
    }
}

impl Handler for WebHookHandler {
    fn call(&self, call: Call) -> LocalBoxFuture<'_, Vec<Outcome>> {
        async move {
            let all = |outcome: Outcome| vec![outcome; call.entries.len()];
            tokio::select! {
                biased;
                outcomes = self.post(&call.entries, call.trace) => outcomes,
                () = call.stop.cancelled() => all(Outcome::HandedBack),
                after = passed(call.timeout) => all(Outcome::TimedOut { after, output: None }),
            }
        }
        .boxed_local()
    }
}
