//! A page of a list reads a bounded number of rows, whatever is asked for, however large the table is, and though no server
//! has analyzed it.

use std::time::{Duration, Instant};

use house::{Backend, TestDatabase, numbers, on_every_backend};
use soloist::Result;
use soloist::model::State;
use soloist::store::Connection;
use soloist::store::entries::{self, Filter};
use soloist::store::statement::Statement;

use super::{fill, open};

on_every_backend!(a_page_reads_no_more_in_a_large_table);

/// A stretch of the walk twice, once for its end, and what three indexes have, at most, with some to spare.
const MOST: i64 = 2 * 10_000 + 3 * 5_001 + 2_000;

/// Most are completed entries of `t`. At the old end lies what is rare: a task, a key, each state, an error.
fn rows(database: &TestDatabase, hundred_thousands: u32) {
    let node = "'HTTP 503', 's', 1, 1";
    let rare: Vec<_> = State::ALL
        .iter()
        .map(|state| {
            let end = if state.is_final() { "1" } else { "NULL" };
            format!("('rare', '{}', 'rare', 0, {node}, {end})", state.word())
        })
        .collect();
    database.sql(&format!(
        "INSERT INTO soloist_entries (task, state, dedupe_key, key_held, error, schedule, node_id, created_at, \
         finished_at) VALUES {}",
        rare.join(", ")
    ));
    let numbers = fill::numbers();
    for _ in 0..hundred_thousands {
        database.sql(&format!(
            "INSERT INTO soloist_entries (task, state, dedupe_key, key_held, payload, node_id, started_at, finished_at) \
             SELECT 't', 'completed', CASE WHEN n % 2 = 0 THEN 'often' END, 0, '{{\"text\": \"{}\"}}', 2, 5, 6 \
             FROM {numbers}",
            "x".repeat(200)
        ));
    }
}

fn a_page_reads_no_more_in_a_large_table(database: &TestDatabase) {
    let store = open(database);
    fill::tables(database);
    rows(database, numbers(1, 10));
    let mut connection = store.read().unwrap();
    let mut slowest = (Duration::ZERO, Filter::default());
    let mut most = 0;
    let states = [None].into_iter().chain(State::ALL.map(Some));
    for state in states {
        for chosen in 0..3_u32.pow(2) * 2_u32.pow(3) {
            let filter = filter(state, chosen);
            let (took, read) = page(&mut connection, database.backend(), &filter).unwrap();
            assert!(read <= MOST, "{read} rows are read for {filter:?}");
            most = most.max(read);
            if took > slowest.0 {
                slowest = (took, filter);
            }
        }
    }
    println!("{}: at most {most} rows a page; the slowest {slowest:?}", database.backend().name());
}

/// Task and key are none, a rare one or a usual one; schedule, error and age are there or not.
fn filter(state: Option<State>, chosen: u32) -> Filter {
    let three = |digit: u32, rare: &str, usual: &str| match digit % 3 {
        0 => None,
        1 => Some(rare.to_owned()),
        _ => Some(usual.to_owned()),
    };
    let has = |bit: u32| (chosen / 9) & (1 << bit) != 0;
    Filter {
        ids: None,
        state,
        task: three(chosen, "rare", "t"),
        key: three(chosen / 3, "rare", "often"),
        schedule: has(0).then(|| "s".to_owned()),
        error: has(1).then(|| "503".to_owned()),
        before: has(2).then_some(1),
        older_than: None,
    }
}

/// How long a page takes, and how many rows the database reads for it, where it can be asked.
fn page(connection: &mut Connection, backend: Backend, filter: &Filter) -> Result<(Duration, i64)> {
    connection.transaction(|connection| {
        let before = rows_read(connection, backend)?;
        let start = Instant::now();
        entries::list(connection, filter, 50, None)?;
        let took = start.elapsed();
        Ok((took, rows_read(connection, backend)? - before))
    })
}

fn rows_read(connection: &mut Connection, backend: Backend) -> Result<i64> {
    let sql = match backend {
        // The plans are looked at elsewhere.
        Backend::Sqlite => return Ok(0),
        Backend::Postgres => {
            "SELECT (SELECT sum(seq_tup_read) FROM pg_stat_xact_user_tables WHERE relname = 'soloist_entries')::bigint \
             + (SELECT sum(pg_stat_get_xact_tuples_returned(indexrelid)) FROM pg_index \
             WHERE indrelid = 'soloist_entries'::regclass)::bigint AS n"
        }
        Backend::MariaDb => return handler_reads(connection, "information_schema"),
        Backend::MySql => return handler_reads(connection, "performance_schema"),
    };
    connection.number(Statement::new(sql))
}

fn handler_reads(connection: &mut Connection, schema: &str) -> Result<i64> {
    let names = ["FIRST", "KEY", "LAST", "NEXT", "PREV", "RND_NEXT"].map(|name| format!("'Handler_read_{name}'"));
    connection.number(Statement::new(format!(
        "SELECT CAST(sum(VARIABLE_VALUE) AS SIGNED) AS n FROM {schema}.session_status WHERE VARIABLE_NAME IN ({})",
        names.join(", ")
    )))
}
