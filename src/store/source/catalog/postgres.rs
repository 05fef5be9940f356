//! PostgreSQL's catalogue, and how its columns are read as text.

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
    let sql = "SELECT COALESCE((SELECT CAST(oid AS bigint) FROM pg_catalog.pg_class WHERE relkind IN ('r', 'p', 'f') \
               AND oid = to_regclass(COALESCE(quote_ident(?) || '.', '') || quote_ident(?))), 0) AS n";
    let oid = connection.number(Statement::new(sql).bind(schema.map(str::to_owned)).bind(name).once())?;
    if oid == 0 {
        return Ok(None);
    }
    // A domain counts as its base type. Type modifier -1, or `character` would be cut to one letter.
    let sql = "SELECT a.attname::text AS name, COALESCE(b.typname, t.typname) || ' ' || \
               format_type(COALESCE(b.oid, t.oid), -1) AS said FROM pg_catalog.pg_attribute a \
               JOIN pg_catalog.pg_type t ON t.oid = a.atttypid \
               LEFT JOIN pg_catalog.pg_type b ON t.typtype = 'd' AND b.oid = t.typbasetype \
               WHERE a.attrelid = CAST(? AS bigint)::oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum";
    let rows: Vec<Said> = connection.load(Statement::new(sql).bind(oid).once())?;
    let columns = rows
        .into_iter()
        .map(|row| {
            let (base, declared) = row.said.split_once(' ').unwrap_or((&row.said, &row.said));
            Column { kind: kind(base), declared: declared.to_owned(), name: row.name }
        })
        .collect();
    let sql = "SELECT CAST(i.indexrelid AS text) AS name, a.attname::text AS said FROM pg_catalog.pg_index i \
               CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY AS k(attnum, place) \
               JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum \
               WHERE i.indrelid = CAST(? AS bigint)::oid AND i.indisunique AND i.indisvalid AND i.indpred IS NULL \
               AND i.indexprs IS NULL AND k.place <= i.indnkeyatts ORDER BY i.indisprimary DESC, i.indexrelid, k.place";
    let unique = grouped(connection.load(Statement::new(sql).bind(oid).once())?);
    // Of any table: a trigger of this one may write there.
    let sql = "SELECT (SELECT count(*) FROM pg_catalog.pg_constraint WHERE condeferrable) \
               + (SELECT count(*) FROM pg_catalog.pg_trigger WHERE tgdeferrable AND NOT tgisinternal) AS n";
    let deferred = connection.number(Statement::new(sql).once())? > 0;
    Ok(Some(Table { quoted, columns, unique, deferred, transactional: true }))
}

pub(super) fn table_names(connection: &mut Connection) -> Result<Vec<String>> {
    let sql = "SELECT CASE WHEN pg_table_is_visible(c.oid) THEN c.relname::text ELSE n.nspname || '.' || c.relname \
               END AS name, '' AS said FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
               WHERE c.relkind IN ('r', 'p', 'f') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')";
    let rows: Vec<Said> = connection.load(Statement::new(sql).once())?;
    Ok(rows.into_iter().map(|row| row.name).collect())
}

fn kind(base: &str) -> Kind {
    match base {
        "int2" | "int4" | "int8" | "oid" => Kind::Integer,
        "numeric" => Kind::Decimal,
        "float4" | "float8" => Kind::Real,
        "bool" => Kind::Boolean,
        "timestamp" | "timestamptz" => Kind::Instant,
        "date" => Kind::Date,
        "json" | "jsonb" => Kind::Json,
        "bytea" => Kind::Binary,
        "uuid" => Kind::Uuid,
        _ => Kind::Text,
    }
}

pub(super) fn shown(column: &Column) -> String {
    let name = quoted(Dialect::Postgres, column);
    match column.kind {
        // As JSON, since the session's DateStyle does not touch that.
        Kind::Instant if column.declared.ends_with("with time zone") => {
            format!("to_json({name} AT TIME ZONE 'UTC') #>> '{{}}'")
        }
        Kind::Binary => format!("translate(encode({name}, 'base64'), chr(10), '')"),
        _ => exact(column),
    }
}

pub(super) fn exact(column: &Column) -> String {
    let name = quoted(Dialect::Postgres, column);
    match column.kind {
        Kind::Instant | Kind::Date => format!("to_json({name}) #>> '{{}}'"),
        _ => format!("CAST({name} AS text)"),
    }
}

pub(super) fn compared(column: &Column) -> String {
    format!("CAST(? AS {})", crate::store::statement::verbatim(&column.declared))
}

pub(super) fn bind(_: &Column, text: &str) -> Bind {
    text.into()
}
