//! Requests that carry an idempotency key: one effect, and the same answer again for a day.
//!
//! The row that names a request is written first, in the transaction of its effect: whoever sends the same request
//! meanwhile, to any node, waits for that row. What a request does, and what an answer means, is not known here.

use std::time::Duration;

use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Integer, Text};

use super::connection::Connection;
use super::prune;
use super::statement::Statement;
use crate::error::{Error, Result};
use crate::model::time::SECOND;

/// How long an answer is kept.
const KEPT: i64 = 86_400 * SECOND;

/// How often it is tried to be the first, or to find the answer of who was.
const TRIES: u32 = 10;

/// What names a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Whose it is: the name of a token.
    pub token: String,
    /// What was asked, such as `POST /tasks/thumbnail/trigger`.
    pub route: String,
    /// The idempotency key; ASCII.
    pub key: String,
    /// A digest of the body, in at most 64 characters.
    pub body: String,
}

/// An answer to be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// The status.
    pub status: u16,
    /// The body.
    pub body: String,
}

/// What became of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Once {
    /// It was the first, and was done.
    Done(Kept),
    /// It was done before: the answer from then.
    Again(Kept),
    /// Its key stands for a request with another body.
    Differs,
}

#[derive(QueryableByName)]
struct Row {
    #[diesel(sql_type = BigInt)]
    id: i64,
    #[diesel(sql_type = Text)]
    body_digest: String,
    #[diesel(sql_type = Integer)]
    status: i32,
    #[diesel(sql_type = Text)]
    answer: String,
    #[diesel(sql_type = BigInt)]
    age: i64,
}

/// Why a transaction was given up.
enum Stop<E> {
    /// Another had the key first.
    Taken,
    /// The work failed, or the database did.
    Failed(E),
}

impl<E: From<Error>> From<Error> for Stop<E> {
    fn from(error: Error) -> Self {
        Self::Failed(error.into())
    }
}

/// Does `work` and keeps its answer, in one transaction, unless that was done before. Of a failure nothing is kept.
pub fn once<E: From<Error>>(
    connection: &mut Connection,
    request: &Request,
    work: impl Fn(&mut Connection) -> Result<Kept, E>,
) -> Result<Once, E> {
    if crate::testing::broken("repeat_requests") {
        return work(connection).map(Once::Done);
    }
    for _ in 0..TRIES {
        if let Some(row) = find(connection, request)? {
            let same = row.body_digest == request.body;
            let status = u16::try_from(row.status).unwrap_or_default();
            return Ok(if same { Once::Again(Kept { status, body: row.answer }) } else { Once::Differs });
        }
        let done = connection.atomically(|connection| {
            begin(connection, request)?;
            let answer = work(connection).map_err(Stop::Failed)?;
            keep(connection, request, &answer)?;
            Ok(answer)
        });
        match done {
            Ok(answer) => return Ok(Once::Done(answer)),
            Err(Stop::Failed(error)) => return Err(error),
            // It has answered by now, or failed.
            Err(Stop::Taken) => std::thread::sleep(Duration::from_millis(fastrand::u64(1..10))),
        }
    }
    Err(Error::transient("others send the same request all the time; nothing was done").into())
}

const NAMED: &str = "token = ? AND route = ? AND request_key = ?";

fn named(statement: Statement, request: &Request) -> Statement {
    let token: String = request.token.chars().take(100).collect();
    statement.bind(token).bind(request.route.as_str()).bind(request.key.as_str())
}

fn find(connection: &mut Connection, request: &Request) -> Result<Option<Row>> {
    let sql = connection.dialect().sql(&format!(
        "SELECT id, body_digest, status, COALESCE(answer, '') AS answer, {{now}} - created_at AS age \
         FROM soloist_requests WHERE {NAMED}"
    ));
    let Some(row) = connection.first::<Row>(named(Statement::new(sql), request))? else { return Ok(None) };
    if row.age < KEPT {
        return Ok(Some(row));
    }
    connection.execute(Statement::new("DELETE FROM soloist_requests WHERE id = ?").bind(row.id))?;
    Ok(None)
}

/// Waits while another that has begun has not ended.
fn begin<E: From<Error>>(connection: &mut Connection, request: &Request) -> Result<(), Stop<E>> {
    let sql = connection.dialect().sql(
        "INSERT INTO soloist_requests (token, route, request_key, body_digest, created_at) VALUES (?, ?, ?, ?, {now})",
    );
    let insert = named(Statement::new(sql), request).bind(request.body.as_str());
    match connection.execute(insert) {
        Ok(_) => Ok(()),
        // Those who waited for one that failed are in each other's way on MySQL.
        Err(error) if error.is_conflict() || error.to_string().to_lowercase().contains("deadlock") => Err(Stop::Taken),
        Err(error) => Err(error.into()),
    }
}

fn keep(connection: &mut Connection, request: &Request, answer: &Kept) -> Result<()> {
    let sql = format!("UPDATE soloist_requests SET status = ?, answer = ? WHERE {NAMED}");
    let update = Statement::new(sql).bind(i32::from(answer.status)).bind(answer.body.as_str());
    connection.execute(named(update, request)).map(|_| ())
}

/// Deletes answers that need not be kept any more, a chunk at a time; true if there may be more.
pub fn prune(connection: &mut Connection) -> Result<bool> {
    prune::older_than(connection, "soloist_requests", "created_at", KEPT)
}
