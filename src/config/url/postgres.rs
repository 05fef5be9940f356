//! `postgres:` URLs, for libpq.

use super::{Refusal, listed, parameters, refuse, tls_is_wanted, unknown_parameter};
use crate::config::{DatabaseUrl, Secret};

/// What libpq knows.
const KNOWN: &str = "host hostaddr port dbname user password passfile require_auth channel_binding connect_timeout \
    client_encoding options application_name fallback_application_name keepalives keepalives_idle \
    keepalives_interval keepalives_count tcp_user_timeout replication gssencmode sslmode requiressl \
    sslnegotiation sslcompression sslcert sslkey sslpassword sslcertmode sslrootcert sslcrl sslcrldir sslsni \
    requirepeer ssl_min_protocol_version ssl_max_protocol_version krbsrvname gsslib gssdelegation service \
    target_session_attrs load_balance_hosts min_protocol_version max_protocol_version";

/// What other drivers and their pools know, and what changes nothing here.
const FOREIGN: &str = "pool pool_size pool_timeout max_overflow connection_limit max_connections pgbouncer statement_cache_size \
    prepared_statement_cache_size prepared_statements statement_cache_capacity async_fallback \
    prepareThreshold timeout encoding serverVersion";

/// A silent network is noticed within seconds: without these a call waits for the kernel's quarter of an hour.
const BOUNDS: [(&str, &str); 6] = [
    ("connect_timeout", "5"),
    ("keepalives", "1"),
    ("keepalives_idle", "5"),
    ("keepalives_interval", "2"),
    ("keepalives_count", "3"),
    ("tcp_user_timeout", "8000"),
];

const MODES: [&str; 6] = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"];

/// `rest` is what stands after `postgres://`; hosts, user and database go to libpq as typed, which knows several hosts
/// and sockets.
pub(super) fn parse(rest: &str) -> Result<DatabaseUrl, Refusal> {
    let (before, query) = rest.split_once('?').unwrap_or((rest, ""));
    // What is left of a password that was cut at one of these signs would be shown by whoever reads on.
    let (login, path) = before.split_once('/').unwrap_or((before, ""));
    if login.matches('@').count() > 1 || path.contains('@') || query.contains('@') {
        return refuse(
            "has an “@” where none can stand",
            "in a user or password write “%40” for “@”, “%2F” for “/” and “%3F” for “?”",
        );
    }
    let mut kept: Vec<(String, String)> = Vec::new();
    for (name, value) in parameters(query) {
        match (name, value) {
            (name, _) if listed(FOREIGN, name) => {}
            ("ssl", "true" | "1") => kept.push(("sslmode".into(), "require".into())),
            ("ssl", _) => {}
            ("sslmode", "no-verify") => kept.push(("sslmode".into(), "require".into())),
            ("sslmode", mode) if !MODES.contains(&mode) => {
                return refuse("has an sslmode that is not known", format!("it is one of {}", MODES.join(", ")));
            }
            ("schema", _) => {
                return refuse(
                    "has the parameter “schema”, which means nothing to libpq",
                    "write options=-csearch_path%3DNAME, or set the search_path of the role",
                );
            }
            (name, value) if listed(KNOWN, name) => kept.push((name.into(), value.into())),
            (name, _) => return unknown_parameter(name, KNOWN, "libpq"),
        }
    }
    if kept.iter().any(|(name, value)| name == "sslmode" && tls_is_wanted(value)) && !cfg!(feature = "postgres-tls") {
        return refuse(
            "asks for TLS, and this binary was built without TLS for PostgreSQL",
            "build it with the feature “postgres-tls”, or write sslmode=prefer",
        );
    }
    for (name, value) in BOUNDS {
        if !kept.iter().any(|(kept, _)| kept == name) {
            kept.push((name.into(), value.into()));
        }
    }
    let slash = if before.contains('/') { "" } else { "/" };
    Ok(DatabaseUrl::Postgres(Secret::new(format!("postgresql://{before}{slash}?{}", join(&kept)))))
}

fn join(parameters: &[(String, String)]) -> String {
    parameters.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&")
}

/// The same URL for the driver `tokio-postgres`: what it does not know is left out, and its `tcp_user_timeout` counts
/// seconds.
pub fn for_tokio_postgres(libpq: &Secret) -> Secret {
    const SHARED: &str = "host hostaddr port dbname user password connect_timeout options application_name keepalives \
    keepalives_idle keepalives_interval sslmode target_session_attrs channel_binding";
    let text = libpq.expose();
    let (before, query) = text.split_once('?').unwrap_or((text, ""));
    let kept: Vec<(String, String)> = parameters(query)
        .into_iter()
        .filter_map(|(name, value)| match name {
            "tcp_user_timeout" => {
                let milliseconds: u64 = value.parse().ok()?;
                Some((name.to_owned(), milliseconds.div_ceil(1000).to_string()))
            }
            "keepalives_count" => Some(("keepalives_retries".to_owned(), value.to_owned())),
            "sslmode" if value == "allow" => Some((name.to_owned(), "prefer".to_owned())),
            "sslmode" if value.starts_with("verify") => Some((name.to_owned(), "require".to_owned())),
            _ => listed(SHARED, name).then(|| (name.to_owned(), value.to_owned())),
        })
        .collect();
    Secret::new(format!("{before}?{}", join(&kept)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    const ADDED: &str = "connect_timeout=5&keepalives=1&keepalives_idle=5&keepalives_interval=2&keepalives_count=3&tcp_user_timeout=8000";

    fn text(rest: &str) -> String {
        match parse(rest).unwrap() {
            DatabaseUrl::Postgres(text) => text.expose().to_owned(),
            other => panic!("{rest}: {other:?}"),
        }
    }

    #[test]
    fn what_libpq_knows_stays_and_bounds_are_added() {
        for (rest, expected) in [
            ("app@db/app", format!("postgresql://app@db/app?{ADDED}")),
            ("app:p%40w@a:1,b:2/app", format!("postgresql://app:p%40w@a:1,b:2/app?{ADDED}")),
            ("db", format!("postgresql://db/?{ADDED}")),
            ("/app?host=/var/run/postgresql", format!("postgresql:///app?host=/var/run/postgresql&{ADDED}")),
            ("db/app?sslmode=prefer&pool=5", format!("postgresql://db/app?sslmode=prefer&{ADDED}")),
            (
                "db/app?tcp_user_timeout=1&connect_timeout=9",
                "postgresql://db/app?tcp_user_timeout=1&connect_timeout=9&keepalives=1&keepalives_idle=5&keepalives_interval=2&keepalives_count=3".into(),
            ),
        ] {
            assert_eq!(text(rest), expected, "{rest}");
        }
    }

    #[test]
    fn what_it_does_not_know_is_refused() {
        let refusal = parse("db/app?sslmod=require").unwrap_err();
        assert_eq!(refusal.help, "the nearest parameter is “sslmode”");
        assert!(parse("db/app?sslmode=yes").unwrap_err().help.contains("verify-full"));
        assert!(parse("db/app?schema=x").unwrap_err().help.contains("search_path"));
        assert_eq!(parse("db/app?ssl=true").is_ok(), cfg!(feature = "postgres-tls"));
        assert_eq!(parse("db/app?sslmode=verify-full").is_ok(), cfg!(feature = "postgres-tls"));
    }

    #[test]
    fn a_password_that_was_not_encoded_is_not_taken_apart() {
        for rest in ["app:hun@ter2@db/app", "app:hun/ter2@db/app", "app:hun?ter2@db/app", "app:hun?ter2=x&y@db/app"] {
            let refusal = parse(rest).unwrap_err();
            assert!(refusal.help.contains("%40") && !format!("{refusal:?}").contains("ter2"), "{refusal:?}");
        }
    }

    #[cfg(feature = "postgres")]
    #[test]
    fn libpq_takes_what_is_made_for_it() {
        use diesel::Connection as _;
        // Nothing listens on port 1: libpq got as far as the network.
        let url = text("app:pw@127.0.0.1:1/app?sslmode=disable");
        let error = diesel::PgConnection::establish(&url).err().unwrap().to_string();
        assert!(error.contains("refused"), "{error}");
    }

    #[cfg(feature = "postgres")]
    #[test]
    fn the_other_driver_takes_what_is_made_for_it() {
        let libpq = text("app:pw@db:5433/app?sslmode=allow&sslrootcert=/x&application_name=a&keepalives_count=4");
        let config: tokio_postgres::Config = for_tokio_postgres(&Secret::new(libpq)).expose().parse().unwrap();
        assert_eq!(config.get_tcp_user_timeout(), Some(&std::time::Duration::from_secs(8)));
        assert_eq!(config.get_keepalives_retries(), Some(4));
        assert_eq!(config.get_dbname(), Some("app"));
    }
}
