//! `sqlite:` URLs.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use percent_encoding::percent_decode_str;

use super::{Refusal, parameters, refuse};
use crate::config::DatabaseUrl;

static MEMORIES: AtomicU32 = AtomicU32::new(0);

/// The plain `:memory:` of SQLite is another database for each connection; one of the `memdb` file system is shared by
/// all connections of the process that know its name.
pub(super) fn memory() -> DatabaseUrl {
    let number = MEMORIES.fetch_add(1, Ordering::Relaxed);
    DatabaseUrl::Sqlite { path: format!("file:/soloist-{}-{number}?vfs=memdb", std::process::id()), memory: true }
}

pub(super) fn parse(rest: &str) -> Result<DatabaseUrl, Refusal> {
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    if parameters(query).contains(&("mode", "ro")) {
        return refuse("asks for a database that is only read", "Soloist writes: take “mode=ro” out");
    }
    let path = match path.strip_prefix("//") {
        None => path.to_owned(),
        Some(path) => {
            let decoded = percent_decode_str(path).decode_utf8();
            let Ok(decoded) = decoded else {
                return refuse("holds a “%” sequence that is not UTF-8", "write the path as it is");
            };
            slashes(&decoded)
        }
    };
    if path == ":memory:" || parameters(query).contains(&("mode", "memory")) {
        return Ok(memory());
    }
    if path.is_empty() {
        return refuse(
            "names no file",
            "write sqlite:soloist.db, or sqlite::memory: for a database that keeps nothing",
        );
    }
    if path.ends_with('/') {
        return refuse("names a directory", "name a file in it, such as sqlite:data/soloist.db");
    }
    Ok(DatabaseUrl::Sqlite { path, memory: false })
}

/// What stands after `sqlite://`. `sqlite:///PATH` is read in two ways: SQLAlchemy and Django take PATH as it is, so that
/// an absolute one has four slashes; others take three slashes for an absolute one. The first holds, unless the directory that it
/// names is not there and that of the second is.
fn slashes(path: &str) -> String {
    let Some(relative) = path.strip_prefix('/') else {
        return path.to_owned();
    };
    let directory = |path: &str| Path::new(path).parent().is_none_or(|up| up.as_os_str().is_empty() || up.is_dir());
    if !relative.starts_with('/') && !directory(relative) && directory(path) {
        return path.to_owned();
    }
    relative.to_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn path(rest: &str) -> String {
        match parse(rest).unwrap() {
            DatabaseUrl::Sqlite { path, memory: false } => path,
            other => panic!("{rest}: {other:?}"),
        }
    }

    #[test]
    fn paths_are_taken_as_people_write_them() {
        let directory = tempfile::tempdir().unwrap();
        let absolute = format!("{}/app.db", directory.path().display());
        for (rest, expected) in [
            ("soloist.db", "soloist.db"),
            ("./data/a b.db", "./data/a b.db"),
            ("/var/lib/app.db", "/var/lib/app.db"),
            ("//app.db", "app.db"),
            ("///app.db", "app.db"),
            ("///a%20b.db", "a b.db"),
            ("////nowhere/at/all/app.db", "/nowhere/at/all/app.db"),
            ("///nowhere/at/all/app.db", "nowhere/at/all/app.db"),
            ("//app.db?mode=rwc", "app.db"),
            (&format!("//{absolute}"), &absolute),
            (&format!("///{absolute}"), &absolute),
        ] {
            assert_eq!(path(rest), expected, "{rest}");
        }
    }

    #[test]
    fn each_database_in_memory_has_a_name_of_its_own_that_connections_share() {
        let mut seen = Vec::new();
        for rest in [":memory:", "//:memory:", "///:memory:", "x?mode=memory"] {
            let DatabaseUrl::Sqlite { path, memory: true } = parse(rest).unwrap() else { panic!("{rest}") };
            assert!(path.starts_with("file:/soloist-") && path.ends_with("?vfs=memdb"), "{path}");
            assert!(!seen.contains(&path));
            seen.push(path);
        }
    }

    #[cfg(feature = "sqlite")]
    #[test]
    fn connections_share_a_database_in_memory_and_two_of_them_are_apart() {
        use diesel::{Connection as _, RunQueryDsl as _, SqliteConnection};
        let open = |url: &DatabaseUrl| match url {
            DatabaseUrl::Sqlite { path, .. } => SqliteConnection::establish(path).unwrap(),
            other => panic!("{other:?}"),
        };
        let url = memory();
        let (mut first, mut second, mut stranger) = (open(&url), open(&url), open(&memory()));
        diesel::sql_query("CREATE TABLE shared (id INTEGER)").execute(&mut first).unwrap();
        assert_eq!(diesel::sql_query("INSERT INTO shared VALUES (1)").execute(&mut second), Ok(1));
        assert!(diesel::sql_query("INSERT INTO shared VALUES (1)").execute(&mut stranger).is_err());
    }

    #[test]
    fn a_url_without_a_file_is_refused() {
        for (rest, message) in [
            ("", "names no file"),
            ("//", "names no file"),
            ("///", "names no file"),
            ("data/", "names a directory"),
            ("a.db?mode=ro", "only read"),
        ] {
            assert!(parse(rest).unwrap_err().message.contains(message), "{rest}");
        }
    }
}
