//! What the backends write in different ways: the clock, sets of ids, upserts. One small file a backend.

mod mysql;
mod postgres;
mod sqlite;

use super::statement::Bind;

/// A backend's way of writing SQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// SQLite.
    Sqlite,
    /// PostgreSQL.
    Postgres,
    /// MySQL or MariaDB.
    Mysql,
}

/// Columns of a JSON array of objects that a statement reads as rows: names and kinds.
pub type Columns<'a> = &'a [(&'a str, ColumnKind)];

/// The kind of a column in [`Columns`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// 64-bit integer.
    Integer,
    /// Text.
    Text,
}

impl Dialect {
    /// The database's clock in microseconds: the start of the statement.
    pub fn now(self) -> &'static str {
        match self {
            Self::Sqlite => sqlite::NOW,
            Self::Postgres => postgres::NOW,
            Self::Mysql => mysql::NOW,
        }
    }

    /// `sql` with `{now}` replaced by the database's clock.
    pub fn sql(self, sql: &str) -> String {
        if crate::testing::broken("node_clock") {
            return sql.replace("{now}", &crate::testing::node_clock().to_string());
        }
        sql.replace("{now}", self.now())
    }

    /// The suffix of a `SELECT` that locks its rows until the transaction ends.
    pub fn for_update(self) -> &'static str {
        match self {
            Self::Sqlite => "",
            Self::Postgres | Self::Mysql => " FOR UPDATE",
        }
    }

    /// The suffix of a `SELECT` that locks its rows and leaves out those that another has locked.
    pub fn skip_locked(self) -> &'static str {
        match self {
            Self::Sqlite => "",
            Self::Postgres | Self::Mysql => " FOR UPDATE SKIP LOCKED",
        }
    }

    /// An identifier, quoted.
    pub fn quote(self, name: &str) -> String {
        match self {
            Self::Sqlite | Self::Postgres => format!("\"{}\"", name.replace('"', "\"\"")),
            Self::Mysql => format!("`{}`", name.replace('`', "``")),
        }
    }

    /// A condition that `column` is one of the ids bound next with [`Dialect::ids`]. For `SELECT`;
    /// an `UPDATE` is made by [`Dialect::update_ids`], a `DELETE` by [`Dialect::delete_ids`].
    pub fn among_ids(self, column: &str) -> String {
        match self {
            Self::Sqlite => sqlite::among(column),
            Self::Postgres => format!("{column} = ANY(?)"),
            Self::Mysql => mysql::among_integers(column),
        }
    }

    /// A condition that `column` is one of the texts bound next with [`Dialect::texts`].
    pub fn among_texts(self, column: &str) -> String {
        match self {
            Self::Sqlite => sqlite::among(column),
            Self::Postgres => format!("{column} = ANY(?)"),
            Self::Mysql => mysql::among_texts(column),
        }
    }

    /// Texts as rows of `{alias}(value)`, bound next with [`Dialect::texts`]; to stand after `FROM`.
    pub fn rows_of_texts(self, alias: &str) -> String {
        match self {
            Self::Sqlite => format!("json_each(?) AS {alias}"),
            Self::Postgres => format!("unnest(?) AS {alias}(value)"),
            Self::Mysql => mysql::rows_of_texts(alias),
        }
    }

    /// A JSON array of objects, bound next as text, as rows of `alias` with these columns; to stand after `FROM`.
    pub fn rows_of_json(self, alias: &str, columns: Columns<'_>) -> String {
        match self {
            Self::Sqlite => sqlite::rows_of_json(alias, columns),
            Self::Postgres => postgres::rows_of_json(alias, columns),
            Self::Mysql => mysql::rows_of_json(alias, columns),
        }
    }

    /// An `UPDATE` of `soloist_entries` by the ids bound first with [`Dialect::ids`] or, where `set` binds too, after
    /// those of `set`: see [`Dialect::ids_first`].
    pub fn update_ids(self, set: &str, condition: &str) -> String {
        match self {
            Self::Sqlite => {
                format!("UPDATE soloist_entries SET {set} WHERE id IN (SELECT value FROM json_each(?)) AND {condition}")
            }
            Self::Postgres => format!("UPDATE soloist_entries SET {set} WHERE id = ANY(?) AND {condition}"),
            Self::Mysql => mysql::update_ids(set, condition),
        }
    }

    /// A `DELETE` of the rows of `table` whose `column` is one of the ids bound first with [`Dialect::ids`].
    pub fn delete_ids(self, table: &str, column: &str, condition: &str) -> String {
        match self {
            Self::Sqlite | Self::Postgres => {
                format!("DELETE FROM {table} WHERE {} AND {condition}", self.among_ids(column))
            }
            Self::Mysql => mysql::delete_ids(table, column, condition),
        }
    }

    /// A `SELECT` of `soloist_entries AS e` by the ids bound next, which locks its rows until the transaction ends.
    pub fn lock_ids(self, columns: &str, condition: &str) -> String {
        match self {
            Self::Sqlite | Self::Postgres => {
                let lock = self.for_update();
                let among = self.among_ids("id");
                format!("SELECT {columns} FROM soloist_entries AS e WHERE {among} AND {condition}{lock}")
            }
            Self::Mysql => mysql::lock_ids(columns, condition),
        }
    }

    /// True if the ids of [`Dialect::update_ids`] are bound before what `set` binds.
    pub fn ids_first(self) -> bool {
        self == Self::Mysql
    }

    /// An `UPDATE` of `soloist_entries AS e` joined by `id` to rows of JSON: see [`Dialect::update_rows`].
    pub fn update_from_json(self, columns: Columns<'_>, set: &[(&str, &str)], condition: &str) -> String {
        self.update_rows("soloist_entries", &["id"], columns, set, condition)
    }

    /// An `UPDATE` of `table AS e` joined by `keys` to rows of JSON named `o`, as in [`Dialect::rows_of_json`]. `set`
    /// names columns bare on its left sides and `e.`, `o.` on its right sides; it and `condition` bind nothing.
    pub fn update_rows(
        self,
        table: &str,
        keys: &[&str],
        columns: Columns<'_>,
        set: &[(&str, &str)],
        condition: &str,
    ) -> String {
        let rows = self.rows_of_json("o", columns);
        let set = |prefix: &str| {
            set.iter().map(|(column, value)| format!("{prefix}{column} = {value}")).collect::<Vec<_>>().join(", ")
        };
        let on = keys.iter().map(|key| format!("e.{key} = o.{key}")).collect::<Vec<_>>().join(" AND ");
        match self {
            Self::Sqlite | Self::Postgres => {
                format!("UPDATE {table} AS e SET {} FROM {rows} WHERE {on} AND {condition}", set(""))
            }
            Self::Mysql => {
                format!("UPDATE {rows} STRAIGHT_JOIN {table} AS e ON {on} SET {} WHERE {condition}", set("e."))
            }
        }
    }

    /// The end of an `INSERT` that leaves a row alone if its key is taken; `column` is any column of the table.
    pub fn or_ignore(self, column: &str) -> String {
        match self {
            Self::Sqlite | Self::Postgres => " ON CONFLICT DO NOTHING".to_owned(),
            Self::Mysql => format!(" ON DUPLICATE KEY UPDATE {column} = {column}"),
        }
    }

    /// The end of an `INSERT` that changes these columns to the new values if `key` is taken.
    pub fn or_update(self, key: &str, columns: &[&str]) -> String {
        match self {
            Self::Sqlite | Self::Postgres => {
                let set: Vec<_> = columns.iter().map(|c| format!("{c} = excluded.{c}")).collect();
                format!(" ON CONFLICT ({key}) DO UPDATE SET {}", set.join(", "))
            }
            Self::Mysql => {
                let set: Vec<_> = columns.iter().map(|c| format!("{c} = VALUES({c})")).collect();
                format!(" ON DUPLICATE KEY UPDATE {}", set.join(", "))
            }
        }
    }

    /// Ids, in the form that this backend binds.
    pub fn ids(self, ids: &[i64]) -> Bind {
        match self {
            Self::Postgres => Bind::Integers(ids.to_vec()),
            Self::Sqlite | Self::Mysql => {
                let mut text = String::with_capacity(ids.len() * 8 + 2);
                text.push('[');
                for (position, id) in ids.iter().enumerate() {
                    if position > 0 {
                        text.push(',');
                    }
                    text.push_str(&id.to_string());
                }
                text.push(']');
                Bind::Text(Some(text))
            }
        }
    }

    /// Texts, in the form that this backend binds.
    pub fn texts<T: AsRef<str>>(self, texts: &[T]) -> Bind {
        match self {
            Self::Postgres => Bind::Texts(texts.iter().map(|text| text.as_ref().to_owned()).collect()),
            Self::Sqlite | Self::Mysql => {
                let values = texts.iter().map(|text| serde_json::Value::from(text.as_ref())).collect();
                Bind::Text(Some(serde_json::Value::Array(values).to_string()))
            }
        }
    }
}
