//! The web hook handler over TLS: whom it trusts, and what a host that it does not trust means.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "handlers/call.rs"]
mod call;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::thread;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use soloist::config::WebHook;
use soloist::handler::webhook::{WebHookHandler, client_trusting};
use soloist::model::Outcome;

use call::{call, entry, outcome_of};

/// A certificate of an authority of its own and its key, made by the command `openssl`; false without it.
fn make_certificate(certificate: &Path, key: &Path) -> bool {
    let names = "subjectAltName=DNS:localhost";
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"])
        .args(["-subj", "/CN=localhost", "-addext", names, "-addext", "basicConstraints=critical,CA:FALSE"])
        .arg("-out")
        .arg(certificate)
        .arg("-keyout")
        .arg(key)
        .output();
    made.is_ok_and(|made| made.status.success())
}

/// Answers each request with 200 and a body; gives the URL.
fn serve(certificate: &Path, key: &Path) -> String {
    let chain = vec![CertificateDer::from_pem_file(certificate).expect("a certificate")];
    let key = PrivateKeyDer::from_pem_file(key).expect("a key");
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("protocol versions")
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .expect("a certificate with its key");
    let (config, listener) = (Arc::new(config), TcpListener::bind("127.0.0.1:0").expect("a port"));
    let url = format!("https://localhost:{}/hook", listener.local_addr().expect("an address").port());
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let session = ServerConnection::new(config.clone()).expect("a session");
            let mut stream = BufReader::new(StreamOwned::new(session, stream));
            let (mut line, mut length) = (String::new(), 0);
            while stream.read_line(&mut line).is_ok_and(|read| read > 2) {
                if let Some(text) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = text.trim().parse().expect("a length");
                }
                line.clear();
            }
            if stream.read_exact(&mut vec![0; length]).is_ok() && length > 0 {
                let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret";
                stream.get_mut().write_all(answer).expect("an answer");
            }
        }
    });
    url
}

#[actix::test]
async fn a_host_is_trusted_by_its_authority_and_refused_without() {
    let directory = tempfile::tempdir().expect("a directory");
    let (certificate, key) = (directory.path().join("certificate.pem"), directory.path().join("key.pem"));
    if !make_certificate(&certificate, &key) {
        assert!(!house::ci(), "the command openssl is absent, and nothing may be left out under CI");
        println!("left out: TLS: the command openssl is not installed");
        return;
    }
    let url = serve(&certificate, &key).parse().expect("a URL");
    let hook = WebHook { url, token: None, secrets: Vec::new(), headers: Vec::new() };
    let answer = async |authorities: Option<&Path>| {
        let handler =
            WebHookHandler::new(client_trusting(authorities).expect("a client"), &hook, 1).expect("a handler");
        outcome_of(&handler, call(vec![entry(1, "{}")])).await
    };
    assert_eq!(answer(Some(&certificate)).await, Outcome::Completed { output: Some("secret".to_owned()) });
    let refused = answer(None).await;
    assert!(matches!(&refused, Outcome::Refused { reason } if reason.contains("UnknownIssuer")), "{refused:?}");
}

#[test]
fn a_file_of_authorities_that_cannot_be_used_is_named() {
    for file in ["/no/such/file.pem", file!()] {
        let error = client_trusting(Some(Path::new(file))).expect_err("refused");
        assert!(error.is_usage() && error.to_string().contains(file), "{error}");
    }
}
