//! Reads `[tasks.*.source]`. Whether the table and its columns are there is asked of the database, not here.

use std::time::Duration;

use toml::de::DeValue;

use crate::config::walk::{Item, Section};
use crate::config::{Source, WriteBack, duration};

pub(super) const KEYS: &[&str] =
    &["table", "key", "pending", "done", "failed", "version", "columns", "order", "ahead", "every"];

pub(super) fn read(item: &Item) -> Option<Source> {
    let section = item.table()?.closed("[tasks.*.source]", KEYS);
    let table = needed(&section, "table", "table = \"images\"").and_then(|item| table(&item));
    let key = needed(&section, "key", "key = \"id\"").and_then(|item| columns(&item));
    let pending = needed(&section, "pending", "pending = \"processed = FALSE\"").and_then(|item| predicate(&item));
    let done = section.get("done").map(|item| write_back(&item));
    let failed = section.get("failed").map(|item| write_back(&item));
    let version = section.get("version").map(|item| item.filled());
    let columns = section.get("columns").map(|item| item.names("[\"id\", \"path\"]"));
    let order = section.get("order").map(|item| item.filled());
    let ahead = section.get("ahead").map_or(Some(10_000), |item| item.count(1..=10_000_000));
    let every = section.get("every").map(|item| item.duration(Duration::from_millis(100), duration::LONGEST));
    let (schema, table) = table?;
    Some(Source {
        schema,
        table,
        key: key?,
        pending: pending?,
        done: done.flatten(),
        failed: failed.flatten(),
        version: version.flatten(),
        columns: columns.flatten(),
        order: order.flatten(),
        ahead: ahead?,
        every: every.flatten(),
    })
}

fn needed<'w>(section: &Section<'w>, key: &str, example: &str) -> Option<Item<'w>> {
    let item = section.get(key);
    if item.is_none() {
        section.lacks(&format!("there is no “{key}”"), format!("such as {example}"));
    }
    item
}

fn columns(item: &Item) -> Option<Vec<String>> {
    match item.value {
        DeValue::Array(_) => item.names("[\"tenant\", \"id\"]"),
        _ => Some(vec![item.filled()?]),
    }
}

fn starts_with_word(text: &str, word: &str) -> bool {
    let first = text.split_whitespace().next();
    first.is_some_and(|first| first.eq_ignore_ascii_case(word))
}

fn predicate(item: &Item) -> Option<String> {
    let text = item.filled()?;
    if starts_with_word(&text, "where") || starts_with_word(&text, "select") {
        item.wrong("is only the condition", "write what stands after WHERE, such as \"processed = FALSE\"");
        return None;
    }
    Some(text)
}

fn write_back(item: &Item) -> Option<WriteBack> {
    let text = item.filled()?;
    if text.trim().eq_ignore_ascii_case("delete") {
        return Some(WriteBack::Delete);
    }
    if ["update", "set", "delete"].iter().any(|word| starts_with_word(&text, word)) {
        let help = "write what stands after SET, such as \"processed = TRUE\", or \"DELETE\"";
        item.wrong("is not a whole statement", help);
        return None;
    }
    Some(WriteBack::Set(text))
}

/// `table` or `schema.table`; a name that holds a dot or a quote stands in `"…"` or `` `…` ``.
fn table(item: &Item) -> Option<(Option<String>, String)> {
    let text = item.filled()?;
    match split(text.trim()).as_deref() {
        Some([table]) => Some((None, table.clone())),
        Some([schema, table]) => Some((Some(schema.clone()), table.clone())),
        _ => {
            let help = "write table = \"images\" or \"schema.images\"; a name with a dot in it stands in quotes: '\"my.table\"'";
            item.wrong("is not the name of a table", help);
            None
        }
    }
}

fn split(text: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    let mut rest = text;
    loop {
        let (name, after) = match rest.chars().next()? {
            quote @ ('"' | '`') => quoted(rest, quote)?,
            _ => {
                let end = rest.find('.').unwrap_or(rest.len());
                (rest[..end].to_owned(), &rest[end..])
            }
        };
        if name.is_empty() {
            return None;
        }
        names.push(name);
        match after.strip_prefix('.') {
            Some(more) => rest = more,
            None => return after.is_empty().then_some(names),
        }
    }
}

/// A name in quotes, a quote in it doubled; and what stands after it.
fn quoted(text: &str, quote: char) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut rest = &text[1..];
    loop {
        let end = rest.find(quote)?;
        name.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix(quote) {
            Some(more) => {
                name.push(quote);
                rest = more;
            }
            None => return Some((name, rest)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn tables_are_named_with_and_without_a_schema() {
        for (text, names) in [
            ("images", Some(vec!["images"])),
            ("app.images", Some(vec!["app", "images"])),
            (r#""my.table""#, Some(vec!["my.table"])),
            (r#"app."my "" table""#, Some(vec!["app", "my \" table"])),
            ("`a.b`.c", Some(vec!["a.b", "c"])),
            ("grüße", Some(vec!["grüße"])),
            (".images", None),
            ("app.", None),
            (r#""open"#, None),
            (r#""a"b"#, None),
        ] {
            let names = names.map(|names| names.into_iter().map(String::from).collect());
            assert_eq!(split(text), names, "{text}");
        }
    }
}
