//! Opening a connection, as its URL says.

use diesel::Connection as _;

use super::Raw;
use crate::config::DatabaseUrl;
use crate::error::{Error, Result};
use crate::store::fault;

/// How long a MySQL server may take until a connection stands: less than a caller waits for one.
#[cfg(feature = "mysql")]
const GREETING: std::time::Duration = std::time::Duration::from_secs(4);

/// Opens a connection as its URL says, with nothing set yet.
pub(in crate::store) fn establish(url: &DatabaseUrl) -> Result<Raw> {
    let failed = |error: diesel::ConnectionError| fault::connecting(url, &error);
    match url {
        #[cfg(feature = "sqlite")]
        DatabaseUrl::Sqlite { path, .. } => {
            diesel::sqlite::SqliteConnection::establish(path).map(Raw::Sqlite).map_err(failed)
        }
        #[cfg(feature = "postgres")]
        DatabaseUrl::Postgres(url) => {
            diesel::pg::PgConnection::establish(url.expose()).map(Raw::Postgres).map_err(failed)
        }
        #[cfg(feature = "mysql")]
        DatabaseUrl::Mysql(secret) => {
            use crate::store::mysql_connection::{MysqlConnection, patiently, with_patience};
            // A server that waits for the client to speak first is none of MySQL's.
            with_patience(GREETING, || patiently(|| Ok(MysqlConnection::establish(secret.expose()))))
                .map_err(|_| fault::silent(url, GREETING))?
                .map(Raw::Mysql)
                .map_err(failed)
        }
        #[allow(unreachable_patterns)]
        _ => Err(Error::usage("this binary was built without the driver for that database")),
    }
}
