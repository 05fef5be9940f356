//! Leases by name, in `soloist_leases`: who holds something until when, on the database's clock.
//!
//! A lease is taken, renewed and given up by single conditional statements. Each taking raises its term, and the
//! holder's later writes are fenced by the term. What a lease is good for is the holder's duty, and so is to stop in
//! time when it cannot be renewed.

use std::time::Duration;

use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Nullable, Text};

use super::connection::Connection;
use super::statement::Statement;
use crate::error::{Error, Result};
use crate::model::time::{Micros, micros};

/// Who takes a lease.
#[derive(Debug, Clone, Copy)]
pub struct Holder<'a> {
    /// Its incarnation, if it is a node.
    pub node_id: Option<i64>,
    /// Its name for people.
    pub label: &'a str,
}

/// What came of trying to take a lease.
#[derive(Debug, Clone)]
pub enum Take {
    /// It is held now, under this term.
    Taken(i64),
    /// It cannot be had yet.
    Refused(Standing),
}

/// How a lease stands; instants are of the database's clock.
#[derive(Debug, Clone, QueryableByName)]
pub struct Standing {
    /// How often it has been taken.
    #[diesel(sql_type = BigInt)]
    pub term: i64,
    /// Who took it last; `None` if nobody has.
    #[diesel(sql_type = Nullable<Text>)]
    pub holder: Option<String>,
    /// When it was last taken.
    #[diesel(sql_type = BigInt)]
    pub since: Micros,
    /// Until when it is held, or when it ended.
    #[diesel(sql_type = BigInt)]
    pub lease_until: Micros,
    /// When this was read.
    #[diesel(sql_type = BigInt)]
    pub read_at: Micros,
}

impl Standing {
    /// True while somebody holds it.
    pub fn is_held(&self) -> bool {
        self.lease_until > self.read_at
    }

    /// How long ago it was last taken.
    pub fn age(&self) -> Micros {
        self.read_at.saturating_sub(self.since)
    }

    /// How long until it can be taken, if its holder does nothing more; `rest` as in [`take`].
    pub fn free_in(&self, rest: Duration) -> Micros {
        let free_at = self.lease_until.max(self.since.saturating_add(micros(rest)));
        free_at.saturating_sub(self.read_at).max(0)
    }
}

/// Of several who take at once all but one lose a try. More than these are lost only to a lease that is given up as
/// fast as it is taken.
const TRIES: usize = 8;

/// Takes a lease that nobody holds, and that was last taken at least `rest` ago.
///
/// The lease is at least as long as `lease`, counted from before the call. A deadlock with others who take a lease for
/// the first time is an error that passes.
pub fn take(
    connection: &mut Connection,
    name: &str,
    holder: Holder<'_>,
    lease: Duration,
    rest: Duration,
) -> Result<Take> {
    let dialect = connection.dialect();
    let broken = crate::testing::broken("take_held_lease");
    let fence = if broken { "(1 = 1 OR term = ?)" } else { "term = ?" };
    let held = if broken { "(1 = 1 OR since + ? <= 0)" } else { "lease_until <= {now} AND since + ? <= {now}" };
    let update = dialect.sql(&format!(
        "UPDATE soloist_leases SET term = term + 1, node_id = ?, holder = ?, since = {{now}}, \
         lease_until = {{now}} + ? WHERE name = ? AND {fence} AND {held}"
    ));
    let insert = format!(
        "INSERT INTO soloist_leases (name, term, since, lease_until) VALUES (?, 0, 0, 0){}",
        dialect.or_ignore("name")
    );
    for _ in 0..TRIES {
        let Some(standing) = standing(connection, name)? else {
            // A row that nobody holds: the update alone decides who is first.
            connection.execute(Statement::new(insert.as_str()).bind(name))?;
            continue;
        };
        if standing.free_in(rest) > 0 && !broken {
            return Ok(Take::Refused(standing));
        }
        let take = Statement::new(update.as_str()).bind(holder.node_id).bind(holder.label).bind(micros(lease));
        if connection.execute(take.bind(name).bind(standing.term).bind(micros(rest)))? == 1 {
            return Ok(Take::Taken(standing.term + 1));
        }
    }
    Err(Error::transient(format!("the lease “{name}” changes hands too fast")))
}

/// Extends the lease that was taken under this term; false if it had ended, which is final.
///
/// Fenced by the term: should the statement have to wait, and its clock be a little old, it extends nothing that
/// somebody else holds.
pub fn renew(connection: &mut Connection, name: &str, term: i64, lease: Duration) -> Result<bool> {
    let sql = connection
        .dialect()
        .sql("UPDATE soloist_leases SET lease_until = {now} + ? WHERE name = ? AND term = ? AND lease_until > {now}");
    Ok(connection.execute(Statement::new(sql).bind(micros(lease)).bind(name).bind(term))? == 1)
}

/// Gives up the lease that was taken under this term. When it was taken stays known.
pub fn resign(connection: &mut Connection, name: &str, term: i64) -> Result<()> {
    let sql = connection
        .dialect()
        .sql("UPDATE soloist_leases SET lease_until = {now} WHERE name = ? AND term = ? AND lease_until > {now}");
    connection.execute(Statement::new(sql).bind(name).bind(term)).map(|_| ())
}

/// How a lease stands; `None` if nobody has ever taken it.
pub fn standing(connection: &mut Connection, name: &str) -> Result<Option<Standing>> {
    let sql = "SELECT term, holder, since, lease_until, {now} AS read_at FROM soloist_leases WHERE name = ?";
    connection.first(Statement::new(connection.dialect().sql(sql)).bind(name))
}

/// Deletes leases whose names begin thus, and that were last taken and ended longer ago than `age`.
pub fn forget(connection: &mut Connection, prefix: &str, age: Duration) -> Result<()> {
    let sql = connection
        .dialect()
        .sql("DELETE FROM soloist_leases WHERE name LIKE ? AND since < {now} - ? AND lease_until < {now} - ?");
    let age = micros(age);
    connection.execute(Statement::new(sql).bind(format!("{prefix}%")).bind(age).bind(age)).map(|_| ())
}
