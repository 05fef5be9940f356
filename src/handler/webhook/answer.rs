//! What an answer means.

use std::time::{Duration, SystemTime};

use reqwest::header::LOCATION;
use reqwest::{Response, StatusCode};

use super::{batch, fault, retry_after};
use crate::config::Secret;
use crate::handler::output::{OF_FAILURE, OF_SUCCESS, clean, head};
use crate::model::{Entry, Outcome};

/// Answers are read to here; what follows is dropped with the connection.
const LONGEST: usize = 1024 * 1024;
/// Secrets shorter than this are not looked for in answers: they would be found in innocent words.
const SHORTEST_SECRET: usize = 6;

/// An answer as far as it was read.
#[derive(Debug)]
pub(super) struct Answer {
    status: StatusCode,
    /// True if it answers a list of entries.
    list: bool,
    location: Option<String>,
    retry_after: Option<Duration>,
    body: Vec<u8>,
    /// False if the body went on after what was read.
    whole: bool,
    /// Why the body broke off, if it did.
    broken: Option<String>,
}

/// Reads an answer. Only the answer to a batch is kept whole: of others only what is recorded of them.
pub(super) async fn read(mut response: Response, list: bool) -> Answer {
    // Twice what is recorded, so that a secret is found also where it crosses the cut.
    let keep = if list && response.status().is_success() { LONGEST } else { 2 * OF_FAILURE };
    let location = response.headers().get(LOCATION).map(|value| value.as_bytes().to_vec());
    let mut answer = Answer {
        status: response.status(),
        list,
        location: location.and_then(|bytes| head(&bytes, OF_SUCCESS)),
        retry_after: retry_after::retry_after(response.headers(), SystemTime::now()),
        body: Vec::new(),
        whole: true,
        broken: None,
    };
    let mut length = 0;
    loop {
        match response.chunk().await {
            Ok(None) => return answer,
            Ok(Some(chunk)) => {
                length += chunk.len();
                let room = keep.saturating_sub(answer.body.len());
                answer.body.extend_from_slice(&chunk[..chunk.len().min(room)]);
                if length > LONGEST {
                    answer.whole = false;
                    return answer;
                }
            }
            Err(error) => {
                answer.broken = Some(fault::of_reading(error));
                return answer;
            }
        }
    }
}

impl Answer {
    /// One outcome an entry.
    pub(super) fn outcomes(self, url: &str, entries: &[Entry], secrets: &[Secret]) -> Vec<Outcome> {
        let all = |outcome: Outcome| vec![outcome; entries.len()];
        let code = self.status.as_u16();
        let error = format!("POST {url}: {}", self.status);
        match code {
            200..300 => self.success(url, entries, secrets),
            300..400 => {
                let location = self.location.as_deref().map_or("no Location".to_owned(), |to| format!("Location {to}"));
                let error = format!("{error} with {location}: redirects are not followed, give the address itself");
                all(Outcome::Failed { error: hide(error, secrets), output: self.output(secrets, OF_FAILURE) })
            }
            400 | 410 | 413 | 414 | 415 | 422 => {
                all(Outcome::Failed { error, output: self.output(secrets, OF_FAILURE) })
            }
            401 | 403 | 404 => all(Outcome::Refused { reason: error }),
            _ => {
                let output = self.output(secrets, OF_FAILURE);
                all(Outcome::Retry { error, output, not_before: self.retry_after })
            }
        }
    }

    fn success(self, url: &str, entries: &[Entry], secrets: &[Secret]) -> Vec<Outcome> {
        let status = self.status;
        if let Some(broken) = &self.broken {
            let output = self.output(secrets, OF_FAILURE);
            let error = format!("POST {url}: {status}, but {broken}");
            return vec![Outcome::Retry { error, output, not_before: None }; entries.len()];
        }
        if self.list {
            return self.batch(url, entries, secrets);
        }
        vec![Outcome::Completed { output: self.output(secrets, OF_SUCCESS) }; entries.len()]
    }

    fn batch(self, url: &str, entries: &[Entry], secrets: &[Secret]) -> Vec<Outcome> {
        match batch::failed(&self.body, self.whole) {
            Err(error) => {
                let output = self.output(secrets, OF_FAILURE);
                let error = hide(format!("POST {url}: {}, but {error}", self.status), secrets);
                vec![Outcome::Retry { error, output, not_before: None }; entries.len()]
            }
            Ok(mut failed) => {
                let outcome = |entry: &Entry| match failed.remove(&entry.id) {
                    None => Outcome::Completed { output: None },
                    Some(verdict) if verdict.retry => {
                        let error = hide(verdict.error, secrets);
                        Outcome::Retry { error, output: None, not_before: self.retry_after }
                    }
                    Some(verdict) => Outcome::failed(hide(verdict.error, secrets)),
                };
                entries.iter().map(outcome).collect()
            }
        }
    }

    fn output(&self, secrets: &[Secret], limit: usize) -> Option<String> {
        head(hide(clean(&self.body), secrets).as_bytes(), limit)
    }
}

/// A receiver may echo what it was sent: our own secrets do not come back in what is recorded.
fn hide(text: String, secrets: &[Secret]) -> String {
    secrets
        .iter()
        .map(|secret| secret.expose().trim())
        .filter(|secret| secret.len() >= SHORTEST_SECRET)
        .fold(text, |text, secret| if text.contains(secret) { text.replace(secret, "[hidden]") } else { text })
}
