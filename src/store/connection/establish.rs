//! Opening a connection, as its URL says.

use diesel::Connection as _;

use super::Raw;
use crate::config::DatabaseUrl;
use crate::error::{Error, Result};
use crate::store::fault;

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
        DatabaseUrl::Mysql(url) => crate::store::mysql_connection::patiently(|| {
            Ok(crate::store::mysql_connection::MysqlConnection::establish(url.expose()))
        })
        .map_err(|error| Error::transient(error.to_string()))?
        .map(Raw::Mysql)
        .map_err(failed),
        #[allow(unreachable_patterns)]
        _ => Err(Error::usage("this binary was built without the driver for that database")),
    }
}
