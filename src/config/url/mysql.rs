//! `mysql:` and `mariadb:` URLs, for mysql_async.

use url::Url;

use super::{Refusal, listed, refuse, tls_is_wanted, unknown_parameter};
use crate::config::{DatabaseUrl, Secret};

/// What goes to the driver as typed.
const KNOWN: &str = "socket compression max_allowed_packet wait_timeout tcp_keepalive tcp_nodelay stmt_cache_size \
    prefer_socket secure_auth enable_cleartext_plugin built_in_roots sslmode";

/// What other drivers and their pools know, and what changes nothing here.
const FOREIGN: &str = "charset collation encoding parseTime loc pool pool_min pool_max pool_size pool_timeout pool_recycle \
    max_overflow connection_limit reconnect adapter serverVersion connect_timeout connectTimeout \
    read_timeout write_timeout timeout useUnicode characterEncoding allowPublicKeyRetrieval serverTimezone \
    autocommit client_found_rows inactive_connection_ttl ttl_check_interval conn_ttl reset_connection \
    timezone";

/// The kernel asks after this many milliseconds of silence; and what the URL says is where the driver goes, instead of a
/// socket that the server names.
const ADDED: [(&str, &str); 2] = [("tcp_keepalive", "5000"), ("prefer_socket", "false")];

/// `rest` is what stands after `mysql://`.
pub(super) fn parse(rest: &str) -> Result<DatabaseUrl, Refusal> {
    let Ok(mut url) = Url::parse(&format!("mysql://{rest}")) else {
        return refuse(
            "cannot be read",
            "write mysql://user:password@host:port/database, with “%40” for “@” and “%23” for “#” in a password",
        );
    };
    if url.host_str().is_none_or(str::is_empty) {
        return refuse("names no host", "write mysql://user@host/database");
    }
    if url.query().is_some_and(|query| query.contains('@')) {
        return refuse(
            "has an “@” where none can stand",
            "in a user or password write “%40” for “@” and “%3F” for “?”",
        );
    }
    let name = url.path().trim_start_matches('/');
    if name.is_empty() || name.contains('/') {
        return refuse("names no database", "write its name after the host: mysql://user@host/database");
    }
    let typed: Vec<(String, String)> = url.query_pairs().into_owned().collect();
    let mut kept: Vec<(String, String)> = Vec::new();
    let mut mode = "prefer".to_owned();
    for (name, value) in typed {
        match name.as_str() {
            "sslmode" | "ssl-mode" | "ssl_mode" => mode = libpq_mode(&value)?.to_owned(),
            "ssl" | "tls" | "useSSL" | "require_ssl" if value == "true" || value == "1" => mode = "require".into(),
            "ssl" | "tls" | "useSSL" | "require_ssl" => mode = "disable".into(),
            "unix_socket" => kept.push(("socket".into(), value)),
            known if listed(KNOWN, known) => kept.push((name, value)),
            foreign if listed(FOREIGN, foreign) => {}
            other => return unknown_parameter(other, KNOWN, "the driver for MySQL"),
        }
    }
    if tls_is_wanted(&mode) {
        if !cfg!(feature = "mysql-tls") {
            return refuse(
                "asks for TLS, and this binary was built without TLS for MySQL",
                "build it with the feature “mysql-tls”, or write sslmode=prefer",
            );
        }
        kept.push(("require_ssl".into(), "true".into()));
        kept.push(("verify_ca".into(), (mode != "require").to_string()));
        kept.push(("verify_identity".into(), (mode == "verify-full").to_string()));
    }
    for (name, value) in ADDED {
        if !kept.iter().any(|(kept, _)| kept == name) {
            kept.push((name.into(), value.into()));
        }
    }
    url.query_pairs_mut().clear().extend_pairs(&kept);
    url.set_fragment(None);
    Ok(DatabaseUrl::Mysql(Secret::new(url.as_str())))
}

/// The mode in the words of libpq; those of MySQL are known too.
fn libpq_mode(value: &str) -> Result<&'static str, Refusal> {
    match value.to_ascii_lowercase().replace('_', "-").as_str() {
        "disable" | "disabled" => Ok("disable"),
        // There is no trying TLS and going on without it in this driver.
        "allow" | "prefer" | "preferred" => Ok("prefer"),
        "require" | "required" => Ok("require"),
        "verify-ca" => Ok("verify-ca"),
        "verify-full" | "verify-identity" => Ok("verify-full"),
        _ => refuse(
            "has an sslmode that is not known",
            "it is one of disable, allow, prefer, require, verify-ca, verify-full",
        ),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn text(rest: &str) -> String {
        match parse(rest).unwrap() {
            DatabaseUrl::Mysql(text) => text.expose().to_owned(),
            other => panic!("{rest}: {other:?}"),
        }
    }

    #[test]
    fn what_the_driver_knows_stays_and_bounds_are_added() {
        const ADDED: &str = "tcp_keepalive=5000&prefer_socket=false";
        for (rest, expected) in [
            ("app@db/app", format!("mysql://app@db/app?{ADDED}")),
            ("app:p%40w@db:3307/app?charset=utf8mb4", format!("mysql://app:p%40w@db:3307/app?{ADDED}")),
            ("db/app?sslmode=PREFERRED", format!("mysql://db/app?{ADDED}")),
            ("db/app?prefer_socket=true", "mysql://db/app?prefer_socket=true&tcp_keepalive=5000".into()),
            ("db/app?unix_socket=/run/m.sock", format!("mysql://db/app?socket=%2Frun%2Fm.sock&{ADDED}")),
        ] {
            assert_eq!(text(rest), expected, "{rest}");
        }
    }

    #[cfg(feature = "mysql")]
    #[test]
    fn the_driver_takes_what_is_made_for_it() {
        use diesel_async::AsyncConnection as _;
        // Nothing listens on port 1: the driver got as far as the network.
        let url = text("app:pw@127.0.0.1:1/app?compression=fast&ssl_mode=DISABLED");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let error = runtime.block_on(diesel_async::AsyncMysqlConnection::establish(&url)).err().unwrap().to_string();
        assert!(error.contains("refused"), "{error}");
    }

    #[test]
    fn what_it_does_not_know_is_refused() {
        for (rest, said) in [
            ("db", "names no database"),
            ("db/", "names no database"),
            ("/app", "names no host"),
            ("app:a#b@db/app", "cannot be read"),
            ("app/x?hun=ter2@db/app", "an “@” where none can stand"),
            ("db/app?colour=red", "“colour”"),
            ("db/app?sslmode=yes", "sslmode"),
        ] {
            let refusal = parse(rest).unwrap_err();
            assert!(refusal.message.contains(said), "{rest}: {refusal:?}");
        }
        for mode in ["require", "verify-ca", "verify-full", "REQUIRED", "VERIFY_IDENTITY"] {
            assert_eq!(parse(&format!("db/app?sslmode={mode}")).is_ok(), cfg!(feature = "mysql-tls"), "{mode}");
        }
    }
}
