//! Beginning and ending a transaction, whatever the driver calls it.

use diesel::connection::TransactionManager;

/// The transaction manager of a connection, under short names.
pub(super) struct AnsiOrAsync;

impl AnsiOrAsync {
    pub fn begin<C: diesel::Connection>(c: &mut C) -> diesel::QueryResult<()> {
        C::TransactionManager::begin_transaction(c)
    }
    pub fn commit<C: diesel::Connection>(c: &mut C) -> diesel::QueryResult<()> {
        C::TransactionManager::commit_transaction(c)
    }
    pub fn rollback<C: diesel::Connection>(c: &mut C) -> diesel::QueryResult<()> {
        C::TransactionManager::rollback_transaction(c)
    }
    pub fn is_broken<C: diesel::Connection>(c: &mut C) -> bool {
        C::TransactionManager::is_broken_transaction_manager(c)
    }
}

/// Says the isolation each time, since a session behind a pooler cannot be told it once: claims count on READ COMMITTED,
/// and the server's own default may be another.
#[cfg(feature = "postgres")]
pub(super) fn begin_read_committed(c: &mut diesel::pg::PgConnection) -> diesel::QueryResult<()> {
    use diesel::connection::AnsiTransactionManager;

    let status =
        <AnsiTransactionManager as TransactionManager<diesel::pg::PgConnection>>::transaction_manager_status_mut(c);
    if status.transaction_depth()?.is_some() {
        return AnsiOrAsync::begin(c);
    }
    AnsiTransactionManager::begin_transaction_sql(c, "BEGIN ISOLATION LEVEL READ COMMITTED")
}
