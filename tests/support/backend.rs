//! The backends, and how one test function becomes one test for each of them.

use crate::TestDatabase;

/// A database that Soloist runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Backend {
    /// A file in a directory of its own.
    Sqlite,
    /// The server of `SOLOIST_TEST_POSTGRES_URL`, else one of this process.
    Postgres,
    /// The server of `SOLOIST_TEST_MARIADB_URL`, else one of this process.
    MariaDb,
    /// The server of `SOLOIST_TEST_MYSQL_URL`: real MySQL, left out where that is not set.
    MySql,
}

impl Backend {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Sqlite, Self::Postgres, Self::MariaDb, Self::MySql];

    /// The name that tests carry.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
            Self::MariaDb => "mariadb",
            Self::MySql => "mysql",
        }
    }

    /// True for MariaDB and MySQL, which share a dialect.
    pub fn is_mysql(self) -> bool {
        matches!(self, Self::MariaDb | Self::MySql)
    }

    /// Runs a test on a fresh database, or says why it is left out. What `on_every_backend!` expands to.
    pub fn run(self, test: fn(&TestDatabase)) {
        if let Some(database) = TestDatabase::new(self) {
            test(&database);
        }
    }
}

/// Makes one `#[test]` per backend of each function that takes a `&TestDatabase`: `claims_once` becomes
/// `claims_once::sqlite`, `claims_once::postgres`, `claims_once::mariadb` and `claims_once::mysql`.
#[macro_export]
macro_rules! on_every_backend {
    ($($test:ident),+ $(,)?) => { $(
        mod $test {
            #[test]
            fn sqlite() {
                $crate::Backend::Sqlite.run(super::$test);
            }
            #[test]
            fn postgres() {
                $crate::Backend::Postgres.run(super::$test);
            }
            #[test]
            fn mariadb() {
                $crate::Backend::MariaDb.run(super::$test);
            }
            #[test]
            fn mysql() {
                $crate::Backend::MySql.run(super::$test);
            }
        }
    )+ };
}
