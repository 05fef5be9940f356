//! What the schedule of a demo came to: its firings, and the log of its handler's calls.

use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Nullable};

use super::Names;
use crate::error::Result;
use crate::model::time::Micros;
use crate::store::connection::Connection;
use crate::store::statement::Statement;

/// What the schedule came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Beat {
    /// Due times from the first that fired to the last.
    pub due: i64,
    /// Due times that fired.
    pub fired: i64,
    /// Handler calls in the log.
    pub calls: i64,
    /// Firings whose handler was called more than once.
    pub doubled: i64,
    /// How late the latest fired.
    pub latest: Micros,
}

impl Beat {
    /// True if each due time fired, and no handler was called twice for one.
    pub fn is_exactly_once(&self) -> bool {
        self.due == self.fired && self.doubled == 0 && self.calls <= self.fired
    }
}

/// Counts the firings and the log. `every` is the interval of the schedule.
pub fn count(connection: &mut Connection, names: &Names, every: Micros) -> Result<Beat> {
    #[derive(QueryableByName)]
    struct Row {
        #[diesel(sql_type = BigInt)]
        fired: i64,
        #[diesel(sql_type = Nullable<BigInt>)]
        first: Option<i64>,
        #[diesel(sql_type = Nullable<BigInt>)]
        last: Option<i64>,
        #[diesel(sql_type = Nullable<BigInt>)]
        latest: Option<i64>,
        #[diesel(sql_type = BigInt)]
        calls: i64,
        #[diesel(sql_type = BigInt)]
        doubled: i64,
    }
    let sql = format!(
        "SELECT count(*) AS fired, MIN(scheduled_for) AS first, MAX(scheduled_for) AS last, \
         MAX(decided_at - scheduled_for) AS latest, (SELECT count(*) FROM {beat}) AS calls, \
         (SELECT count(*) FROM (SELECT entry_id FROM {beat} GROUP BY entry_id HAVING count(*) > 1) AS d) AS doubled \
         FROM soloist_firings WHERE schedule = ? AND outcome = 'fired'",
        beat = names.beat
    );
    let row: Option<Row> = connection.first(Statement::new(sql).bind(names.beat.as_str()))?;
    Ok(row.map_or(Beat::default(), |row| Beat {
        due: row.first.zip(row.last).map_or(0, |(first, last)| (last - first) / every + 1),
        fired: row.fired,
        calls: row.calls,
        doubled: row.doubled,
        latest: row.latest.unwrap_or(0),
    }))
}
