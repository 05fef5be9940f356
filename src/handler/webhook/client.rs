//! The HTTP client: how connections are made, never what is said over them.
//!
//! A client must not be shared between runtimes: a pooled connection is driven by the runtime that opened it, and
//! a request from another one can hang. So each executor arbiter makes its own, on its own thread.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use reqwest::redirect::Policy;
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use crate::error::{Error, Result};

/// A host that does not answer a connection attempt for this long cannot be connected to.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Application servers close idle connections after 2 s and more; a POST that meets the closing end is lost and costs
/// an attempt. A connection that is idle for longer than this is not used again.
const IDLE: Duration = Duration::from_secs(1);
/// A host that vanished without a word is noticed by keep-alive probes, also where the task has no time-out.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Makes ring the TLS provider of the process, once; without one rustls panics at the first handshake. A provider
/// that the application has installed before stays.
pub fn install_tls_provider() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Err: another thread was first.
        let _ = ring::default_provider().install_default();
    }
}

/// A client for the handlers of one executor arbiter: no redirects, no proxy from the environment. It trusts the
/// authorities of Mozilla, compiled in, and those of the file that `SSL_CERT_FILE` names. Time-outs of whole calls are
/// the handler's.
pub fn client() -> Result<reqwest::Client> {
    let file = std::env::var_os("SSL_CERT_FILE").filter(|name| !name.is_empty());
    client_trusting(file.as_deref().map(Path::new))
}

/// The same with a file of further authorities, in PEM.
pub fn client_trusting(authorities: Option<&Path>) -> Result<reqwest::Client> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    if let Some(file) = authorities {
        let wrong = |what: String| {
            Error::usage(format!("{}: {what}; expected the certificates of authorities in PEM", file.display()))
        };
        let found = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let found = found.map_err(|error| wrong(error.to_string()))?;
        if found.is_empty() {
            return Err(wrong("it holds no certificate".to_owned()));
        }
        // Bundles hold old certificates that nobody can use; the rest is good.
        let _ = roots.add_parsable_certificates(found);
    }
    let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::internal(format!("the TLS client cannot be set up: {error}")))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .redirect(Policy::none())
        .no_proxy()
        .referer(false)
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_idle_timeout(IDLE)
        .tcp_keepalive(KEEP_ALIVE)
        .build()
        .map_err(|error| Error::internal(format!("the HTTP client cannot be set up: {error}")))
}
