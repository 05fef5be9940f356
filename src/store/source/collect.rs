//! Collects the keys of pending rows, chunk by chunk, behind a position that is a key itself: each row is passed once,
//! and what lies behind is never read again.

use serde::{Deserialize, Serialize};

use super::{Row, TableSource, catalog, value};
use crate::error::{Error, Result};
use crate::store::connection::Connection;
use crate::store::dialect::Dialect;
use crate::store::source::catalog::Column;
use crate::store::statement::Statement;

/// Rows that a step of a sweep collects at most.
pub const CHUNK: usize = 1000;

/// How far a sweep has come.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// With `order`: false while rows that have a value there are passed, true when those without are.
    #[serde(default)]
    without_order: bool,
    /// The sort columns of the last row that was passed, as the database's texts; empty at the start of a phase.
    #[serde(default)]
    after: Vec<String>,
    /// What the rows were sorted by: under another configuration the position means nothing.
    #[serde(default)]
    by: String,
}

/// A chunk of keys.
#[derive(Debug, Default)]
pub struct Collected {
    /// Keys as entries hold them.
    pub keys: Vec<String>,
    /// Where to go on; `None` when every row has been passed.
    pub next: Option<Position>,
    /// What is wrong with a row that was left out, if one was.
    pub left_out: Option<Error>,
}

impl TableSource {
    /// The next keys of pending rows, `limit` at most. Locks nothing.
    pub fn collect(&self, connection: &mut Connection, position: &Position, limit: usize) -> Result<Collected> {
        let by = self.sorted_by();
        let start = Position { by: by.clone(), ..Position::default() };
        let position = if position.by == by { position } else { &start };
        let rows: Vec<Row> = connection.load(self.collecting(position, limit))?;
        let mut collected = Collected::default();
        let mut last = None;
        for row in &rows {
            let texts = catalog::texts(&row.soloist_row)?;
            match value::key(self.dialect, &self.key, &texts) {
                Some(key) => collected.keys.push(key),
                None => collected.left_out = Some(value::unusable_key(self.dialect, &self.label, &self.key, &texts)),
            }
            last = Some(texts);
        }
        collected.next = match last {
            Some(texts) if rows.len() >= limit => {
                // The order's text comes behind those of the key.
                let ordered = self.order.is_some() && !position.without_order;
                let places = ordered.then_some(self.key.len()).into_iter().chain(self.index_order.iter().copied());
                let after = value::picked(&texts, &places.collect::<Vec<_>>())?;
                if after == position.after {
                    return Err(Error::refused(format!("{}: its order gives the same rows again", self.label)));
                }
                Some(Position { without_order: position.without_order, after, by })
            }
            _ if self.order.is_some() && !position.without_order => {
                Some(Position { without_order: true, after: Vec::new(), by })
            }
            _ => None,
        };
        Ok(collected)
    }

    fn sorted_by(&self) -> String {
        let sort = self.order.iter().chain(self.index_order.iter().map(|place| &self.key[*place]));
        let named: Vec<_> = sort.map(|column| format!("{} {}", column.name, column.declared)).collect();
        format!("{}: {}", self.label, named.join(", "))
    }

    pub(super) fn collecting(&self, position: &Position, limit: usize) -> Statement {
        let order = self.order.as_ref().filter(|_| !position.without_order);
        let mut texts: Vec<_> = self.key.iter().map(|column| catalog::exact(self.dialect, column)).collect();
        texts.extend(order.map(|column| catalog::exact(self.dialect, column)));
        let sort: Vec<&Column> =
            order.into_iter().chain(self.index_order.iter().map(|place| &self.key[*place])).collect();
        let names: Vec<_> = sort.iter().map(|column| catalog::quoted(self.dialect, column)).collect();
        let mut sql = format!(
            "SELECT {} AS soloist_row FROM {} WHERE {}",
            catalog::array(self.dialect, &texts),
            self.table.quoted,
            self.pending
        );
        for name in &names {
            sql.push_str(&format!(" AND {name} IS NOT NULL"));
        }
        if let Some(column) = self.order.as_ref().filter(|_| position.without_order) {
            sql.push_str(&format!(" AND {} IS NULL", catalog::quoted(self.dialect, column)));
        }
        let mut statement = Statement::new(sql);
        if position.after.len() == sort.len() {
            statement = self.behind(statement.text(" AND "), &sort, &names, &position.after);
        }
        // Not bound: PostgreSQL plans for any limit as for a tenth of the table, and sorts it.
        let statement = statement.text(&format!(" ORDER BY {} LIMIT {limit}", names.join(", ")));
        if limit == CHUNK { statement } else { statement.once() }
    }

    /// Adds the condition that a row sorts behind a position.
    fn behind(&self, mut statement: Statement, sort: &[&Column], names: &[String], after: &[String]) -> Statement {
        let compared: Vec<_> = sort.iter().map(|column| catalog::compared(self.dialect, column)).collect();
        let bind = |place: usize| catalog::bind_exact(self.dialect, sort[place], &after[place]);
        if self.dialect != Dialect::Mysql || sort.len() == 1 {
            let row =
                |parts: &[String]| if let [one] = parts { one.clone() } else { format!("({})", parts.join(", ")) };
            statement = statement.text(&format!("{} > {}", row(names), row(&compared)));
            return (0..sort.len()).fold(statement, |statement, place| statement.bind(bind(place)));
        }
        // MySQL makes ranges of an index of this form, but not of a comparison of rows.
        statement = statement.text("(");
        for last in 0..sort.len() {
            statement = statement.text(if last > 0 { " OR (" } else { "(" });
            for place in 0..=last {
                let (and, sign) = (if place > 0 { " AND " } else { "" }, if place == last { ">" } else { "=" });
                statement = statement.text(&format!("{and}{} {sign} {}", names[place], compared[place]));
                statement = statement.bind(bind(place));
            }
            statement = statement.text(")");
        }
        statement.text(")")
    }
}
