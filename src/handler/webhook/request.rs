//! What one call says: its body, its name and its headers.

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use serde::Serialize;
use sha2::{Digest, Sha256};
use url::Url;

use super::sign::Signer;
use crate::config::WebHook;
use crate::error::{Error, Result};
use crate::model::{Entry, Trace};

const ID: HeaderName = HeaderName::from_static("webhook-id");
const TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
const SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");
const TRACE: HeaderName = HeaderName::from_static("traceparent");
/// Headers that the call itself needs for being understood.
const OURS: [&str; 7] = [
    "webhook-id",
    "webhook-timestamp",
    "webhook-signature",
    "content-type",
    "content-length",
    "transfer-encoding",
    "connection",
];

/// The body of a task whose `batch` is more than 1.
#[derive(Serialize)]
struct List<'a> {
    entries: &'a [Entry],
}

/// A URL as errors may show it: user, password and query can hold secrets.
pub(super) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    // Err: the URL cannot have them.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.to_string()
}

/// Refuses a URL that no POST can be made to.
pub(super) fn check(url: &Url) -> Result<()> {
    match (url.scheme(), url.host()) {
        ("http" | "https", Some(_)) => Ok(()),
        (scheme, _) => Err(Error::usage(format!("url: `{scheme}` is not `http` or `https`"))),
    }
}

/// The headers that every call of a hook has.
pub(super) fn fixed_headers(hook: &WebHook) -> Result<HeaderMap> {
    let mut headers = HeaderMap::new();
    headers.insert(USER_AGENT, HeaderValue::from_static(concat!("soloist/", env!("CARGO_PKG_VERSION"))));
    for (name, value) in &hook.headers {
        let wrong = |what: &str| Error::usage(format!("header `{name}`: {what}"));
        let key = HeaderName::try_from(name.as_str())
            .map_err(|_| wrong("a name is letters, digits and any of !#$%&'*+-.^_`|~"))?;
        if OURS.contains(&key.as_str()) {
            return Err(wrong("is set by Soloist and cannot be given another value"));
        }
        let mut value = HeaderValue::from_str(value)
            .map_err(|_| wrong("the value holds a line break or another control character"))?;
        value.set_sensitive(true);
        headers.insert(key, value);
    }
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(token) = &hook.token {
        let mut value = HeaderValue::from_str(&format!("Bearer {}", token.expose().trim()))
            .map_err(|_| Error::usage("the token holds a line break or another control character"))?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    Ok(headers)
}

/// The headers and the body of one call that is made `at` seconds after 1970, in this trace.
pub(super) fn request(
    fixed: &HeaderMap,
    signer: &Signer,
    entries: &[Entry],
    list: bool,
    (at, trace): (u64, Trace),
) -> Result<(HeaderMap, Vec<u8>), String> {
    let body = match entries {
        [entry] if !list => serde_json::to_vec(entry),
        entries => serde_json::to_vec(&List { entries }),
    }
    .map_err(|error| format!("the entry cannot be written as JSON: {error}"))?;
    let name = match entries {
        [entry] if !list => entry.idempotency_key.clone(),
        entries => name_of(entries),
    };
    let id = HeaderValue::from_str(&name)
        .map_err(|_| format!("the idempotency key {name:?} cannot be sent as the header `webhook-id`"))?;
    let mut headers = fixed.clone();
    headers.insert(ID, id);
    headers.insert(TIMESTAMP, HeaderValue::from(at));
    if let Some(signature) = signer.signature(&name, at, &body).and_then(|text| HeaderValue::try_from(text).ok()) {
        headers.insert(SIGNATURE, signature);
    }
    if let Ok(trace) = HeaderValue::try_from(trace.to_string()) {
        headers.insert(TRACE, trace);
    }
    Ok((headers, body))
}

/// A name for a call with a batch: the same for the same attempts at the same entries, whatever their order.
fn name_of(entries: &[Entry]) -> String {
    let mut keys: Vec<_> = entries.iter().map(|entry| (entry.idempotency_key.as_str(), entry.attempt)).collect();
    keys.sort_unstable();
    let mut hash = Sha256::new();
    for (key, attempt) in keys {
        hash.update(format!("{key}\n{attempt}\n"));
    }
    let hex: String = hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    format!("batch_{hex}")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;
    use crate::config::Secret;

    fn hook(headers: &[(&str, &str)], token: Option<&str>) -> WebHook {
        WebHook {
            url: "http://me:pw@127.0.0.1:1/a/b?key=hush#x".parse().unwrap(),
            token: token.map(Secret::new),
            secrets: Vec::new(),
            headers: headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        }
    }

    #[test]
    fn a_shown_url_holds_nothing_secret() {
        assert_eq!(shown(&hook(&[], None).url), "http://127.0.0.1:1/a/b");
    }

    #[test]
    fn only_http_and_https_are_called() {
        for (url, good) in [("http://a", true), ("https://a/b", true), ("ftp://a", false), ("file:///a", false)] {
            assert_eq!(check(&url.parse().unwrap()).is_ok(), good, "{url}");
        }
    }

    #[test]
    fn wrong_headers_are_named_and_their_values_are_not_shown() {
        for (name, value, words) in [
            ("X Y", "hush", "header `X Y`: a name is"),
            ("X-Y", "hush\r\nA: b", "header `X-Y`: the value holds a line break"),
            ("Webhook-Id", "hush", "header `Webhook-Id`: is set by Soloist"),
            ("Content-Length", "hush", "is set by Soloist"),
        ] {
            let error = fixed_headers(&hook(&[(name, value)], None)).unwrap_err();
            assert!(error.is_usage() && error.to_string().contains(words), "{error}");
            assert!(!error.to_string().contains("hush"), "{error}");
        }
        let error = fixed_headers(&hook(&[], Some("hush\nhush"))).unwrap_err();
        assert!(!error.to_string().contains("hush"), "{error}");
        let headers = fixed_headers(&hook(&[("X-Key", "hush")], Some("hush"))).unwrap();
        assert!(!format!("{headers:?}").contains("hush"));
    }
}
