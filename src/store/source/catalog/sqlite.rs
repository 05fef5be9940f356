//! SQLite's catalogue, and how its columns are read as text: any cell may hold any type, so each text begins with the
//! first letter of its cell's own.

use std::borrow::Cow;

use base64::Engine as _;

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
    let schema = schema.unwrap_or("main").to_owned();
    let found = Statement::new(
        "SELECT count(*) AS n FROM pragma_table_list WHERE schema = ? COLLATE NOCASE \
                                AND name = ? COLLATE NOCASE AND type IN ('table', 'virtual')",
    );
    if connection.number(found.bind(schema.clone()).bind(name).once())? == 0 {
        return Ok(None);
    }
    let sql = "SELECT name, upper(type) AS said FROM pragma_table_xinfo(?, ?) WHERE hidden <> 1 ORDER BY cid";
    let rows: Vec<Said> = connection.load(Statement::new(sql).bind(name).bind(schema.clone()).once())?;
    let columns =
        rows.into_iter().map(|row| Column { kind: kind(&row.said), declared: row.said, name: row.name }).collect();
    let sql = "SELECT 'primary' AS name, name AS said FROM pragma_table_info(?, ?) WHERE pk > 0 ORDER BY pk";
    let mut unique = grouped(connection.load(Statement::new(sql).bind(name).bind(schema.clone()).once())?);
    // An index over an expression has a part without a name.
    let sql =
        "SELECT l.name AS name, i.name AS said FROM pragma_index_list(?1, ?2) AS l, pragma_index_info(l.name, ?2) \
               AS i WHERE l.\"unique\" = 1 AND l.partial = 0 AND l.origin <> 'pk' AND NOT EXISTS (SELECT 1 \
               FROM pragma_index_info(l.name, ?2) AS e WHERE e.name IS NULL) ORDER BY l.seq, i.seqno"
            .replace("?1", "?")
            .replace("?2", "?");
    let statement = Statement::new(sql).bind(name).bind(schema.clone()).bind(schema.clone()).bind(schema).once();
    unique.extend(grouped(connection.load(statement)?));
    Ok(Some(Table { quoted, columns, unique, deferred: false, transactional: true }))
}

pub(super) fn table_names(connection: &mut Connection) -> Result<Vec<String>> {
    let sql = "SELECT CASE schema WHEN 'main' THEN name ELSE schema || '.' || name END AS name, '' AS said \
               FROM pragma_table_list WHERE type IN ('table', 'virtual') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'";
    let rows: Vec<Said> = connection.load(Statement::new(sql).once())?;
    Ok(rows.into_iter().map(|row| row.name).collect())
}

/// By SQLite's own rules of affinity, after the names that applications give to what SQLite has no type for.
fn kind(declared: &str) -> Kind {
    let has = |word: &str| declared.contains(word);
    if has("BOOL") {
        Kind::Boolean
    } else if has("JSON") {
        Kind::Json
    } else if has("DATETIME") || has("TIMESTAMP") {
        Kind::Instant
    } else if declared == "DATE" {
        Kind::Date
    } else if has("UUID") || has("GUID") || has("UNIQUEIDENTIFIER") {
        Kind::Uuid
    } else if has("INT") {
        Kind::Integer
    } else if has("CHAR") || has("CLOB") || has("TEXT") || has("STRING") || has("ENUM") {
        Kind::Text
    } else if declared.is_empty() || has("BLOB") || has("BINARY") || declared == "ANY" {
        Kind::Binary
    } else if has("REAL") || has("FLOA") || has("DOUB") {
        Kind::Real
    } else {
        Kind::Decimal
    }
}

pub(super) fn shown(column: &Column) -> String {
    exact(column)
}

pub(super) fn exact(column: &Column) -> String {
    let name = quoted(Dialect::Sqlite, column);
    format!(
        "CASE typeof({name}) WHEN 'null' THEN NULL WHEN 'blob' THEN 'b' || hex({name}) \
         WHEN 'real' THEN 'r' || printf('%!.17g', {name}) ELSE substr(typeof({name}), 1, 1) || {name} END"
    )
}

pub(super) fn compared(_: &Column) -> String {
    "?".to_owned()
}

/// The column's affinity turns a text into its type where it can; a whole number is bound as one, so that a write-back
/// may compute with it.
pub(super) fn bind(column: &Column, text: &str) -> Bind {
    match text.parse::<i64>() {
        Ok(number) if matches!(column.kind, Kind::Integer | Kind::Decimal) && number.to_string() == text => {
            number.into()
        }
        _ => text.into(),
    }
}

pub(super) fn bind_exact(text: &str) -> Bind {
    let bare = text.get(1..).unwrap_or_default();
    match text.as_bytes().first() {
        Some(b'i') => bare.parse::<i64>().map_or_else(|_| bare.into(), Bind::from),
        Some(b'r') => bare.parse::<f64>().map_or_else(|_| bare.into(), Bind::Double),
        _ => bare.into(),
    }
}

pub(super) fn decode<'a>(column: &Column, text: &'a str) -> (Kind, Cow<'a, str>) {
    let bare = text.get(1..).unwrap_or_default();
    match text.as_bytes().first() {
        Some(b'i') if column.kind == Kind::Boolean => (Kind::Boolean, bare.into()),
        Some(b'i') => (Kind::Integer, bare.into()),
        // The shortest digits that mean the same number.
        Some(b'r') => (Kind::Real, bare.parse::<f64>().map_or(Cow::Borrowed(bare), |n| format!("{n:?}").into())),
        Some(b'b') => (Kind::Binary, base64::engine::general_purpose::STANDARD.encode(bytes(bare)).into()),
        _ => match column.kind {
            Kind::Instant | Kind::Date | Kind::Json => (column.kind, bare.into()),
            _ => (Kind::Text, bare.into()),
        },
    }
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<_> = hex.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits.chunks_exact(2).filter_map(|pair| u8::try_from(pair[0] * 16 + pair[1]).ok()).collect()
}
