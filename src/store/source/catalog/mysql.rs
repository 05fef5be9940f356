//! The catalogue of MySQL and MariaDB, and how their columns are read as text.

use std::borrow::Cow;

use super::{Column, Kind, Said, Table, grouped, quoted};
use crate::error::Result;
use crate::store::connection::Connection;
use crate::store::dialect::Dialect;
use crate::store::statement::{Bind, Statement};

pub(super) fn table(
    connection: &mut Connection,
    schema: Option<&str>,
    name: &str,
    quoted: String,
) -> Result<Option<Table>> {
    let of_table = "table_schema = COALESCE(?, database()) AND table_name = ?";
    let asked = |sql: String| Statement::new(sql).bind(schema.map(str::to_owned)).bind(name).once();
    let sql = format!(
        "SELECT CAST(column_name AS CHAR) AS name, CAST(LOWER(column_type) AS CHAR) AS said \
         FROM information_schema.columns WHERE {of_table} ORDER BY ordinal_position"
    );
    let rows: Vec<Said> = connection.load(asked(sql))?;
    if rows.is_empty() {
        return Ok(None);
    }
    // MariaDB's JSON is a text with this check; MySQL's table of checks has no such column and refuses.
    let sql = "SELECT CAST(check_clause AS CHAR) AS name, '' AS said FROM information_schema.check_constraints \
               WHERE constraint_schema = COALESCE(?, database()) AND table_name = ?";
    let checks: Vec<Said> = connection.load(asked(sql.to_owned())).unwrap_or_default();
    let is_json = |column: &str| {
        let clause = format!("json_valid({})", Dialect::Mysql.quote(column));
        checks.iter().any(|check| check.name == clause)
    };
    let columns = rows
        .into_iter()
        .map(|row| {
            let kind = if is_json(&row.name) { Kind::Json } else { kind(&row.said) };
            Column { kind, declared: row.said, name: row.name }
        })
        .collect();
    // Without those over an expression or over the beginning of a text.
    let sql = format!(
        "SELECT CAST(index_name AS CHAR) AS name, CAST(column_name AS CHAR) AS said FROM information_schema.statistics s \
         WHERE {of_table} AND non_unique = 0 AND NOT EXISTS (SELECT 1 FROM information_schema.statistics e \
         WHERE e.table_schema = s.table_schema AND e.table_name = s.table_name AND e.index_name = s.index_name \
         AND (e.column_name IS NULL OR e.sub_part IS NOT NULL)) \
         ORDER BY index_name <> 'PRIMARY', index_name, seq_in_index"
    );
    let unique = grouped(connection.load(asked(sql))?);
    let sql = format!(
        "SELECT count(*) AS n FROM information_schema.tables t JOIN information_schema.engines e ON e.engine = t.engine \
         WHERE {of_table} AND e.transactions = 'YES'"
    );
    let transactional = connection.number(asked(sql))? > 0;
    Ok(Some(Table { quoted, columns, unique, deferred: false, transactional }))
}

pub(super) fn table_names(connection: &mut Connection) -> Result<Vec<String>> {
    let sql = "SELECT CAST(IF(table_schema = database(), table_name, CONCAT(table_schema, '.', table_name)) AS CHAR) \
               AS name, '' AS said FROM information_schema.tables WHERE table_type = 'BASE TABLE' \
               AND table_schema NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema')";
    let rows: Vec<Said> = connection.load(Statement::new(sql).once())?;
    Ok(rows.into_iter().map(|row| row.name).collect())
}

fn kind(declared: &str) -> Kind {
    let bare = declared.split(['(', ' ']).next().unwrap_or_default();
    match bare {
        "tinyint" if declared.starts_with("tinyint(1)") => Kind::Boolean,
        "tinyint" | "smallint" | "mediumint" | "int" | "bigint" | "bit" | "year" => Kind::Integer,
        "decimal" => Kind::Decimal,
        "float" | "double" => Kind::Real,
        "datetime" | "timestamp" => Kind::Instant,
        "date" => Kind::Date,
        "json" => Kind::Json,
        "uuid" => Kind::Uuid,
        "binary" if declared == "binary(16)" => Kind::Binary,
        "binary" | "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob" => Kind::Binary,
        _ if SPATIAL.contains(&bare) => Kind::Binary,
        _ => Kind::Text,
    }
}

const SPATIAL: [&str; 8] = [
    "geometry",
    "point",
    "linestring",
    "polygon",
    "multipoint",
    "multilinestring",
    "multipolygon",
    "geometrycollection",
];

/// True for the type in which UUIDs are kept where there is none of their own.
pub(super) fn holds_uuids(column: &Column) -> bool {
    column.declared == "binary(16)"
}

fn is_timestamp(column: &Column) -> bool {
    column.declared.starts_with("timestamp")
}

pub(super) fn shown(column: &Column) -> String {
    let name = quoted(Dialect::Mysql, column);
    match column.kind {
        // The stored instant itself: not by way of the session's zone, where an hour may repeat.
        Kind::Instant if is_timestamp(column) => format!("CAST(UNIX_TIMESTAMP({name}) AS CHAR)"),
        Kind::Binary => format!("REPLACE(TO_BASE64({name}), '\\n', '')"),
        _ => exact(column),
    }
}

pub(super) fn exact(column: &Column) -> String {
    let name = quoted(Dialect::Mysql, column);
    match column.kind {
        Kind::Uuid if holds_uuids(column) => {
            let hex = format!("LOWER(HEX({name}))");
            format!("INSERT(INSERT(INSERT(INSERT({hex}, 9, 0, '-'), 14, 0, '-'), 19, 0, '-'), 24, 0, '-')")
        }
        Kind::Integer if column.declared.starts_with("bit") => format!("CAST({name} + 0 AS CHAR)"),
        Kind::Binary => format!("HEX({name})"),
        // Not CONVERT … USING: MariaDB would put a JSON text into an array as JSON.
        _ => format!("CAST({name} AS CHAR CHARACTER SET utf8mb4)"),
    }
}

pub(super) fn compared(column: &Column) -> String {
    match column.kind {
        Kind::Uuid if holds_uuids(column) => "UNHEX(REPLACE(?, '-', ''))".to_owned(),
        // As text it would be compared as a double, which has not digits enough.
        Kind::Integer if column.declared.contains("unsigned") => "CAST(? AS UNSIGNED)".to_owned(),
        _ => "?".to_owned(),
    }
}

pub(super) fn bind(column: &Column, text: &str) -> Bind {
    match text.parse::<i64>() {
        Ok(number) if matches!(column.kind, Kind::Integer | Kind::Boolean) => number.into(),
        _ => text.into(),
    }
}

pub(super) fn decode<'a>(column: &Column, text: &'a str) -> (Kind, Cow<'a, str>) {
    match (column.kind, text.split_once('.').unwrap_or((text, ""))) {
        (Kind::Instant, (seconds, fraction)) if is_timestamp(column) => {
            let micros = format!("{fraction:0<6}");
            let at = seconds.parse::<i64>().ok().zip(micros.parse::<i64>().ok());
            let at = at.map(|(seconds, micros)| crate::model::time::rfc3339(seconds * 1_000_000 + micros));
            (Kind::Instant, at.map_or(Cow::Borrowed(text), Cow::Owned))
        }
        _ => (column.kind, Cow::Borrowed(text)),
    }
}
