//! Where a key stands in a file that was read before: for what only the database could say of its value.

use std::path::Path;

use toml::de::{DeTable, DeValue};

use super::errors::Place;

/// File, line and column of a key, or of the innermost table around it that is there; nothing without a file.
pub fn locate(file: &Path, keys: &[&str]) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    let root = DeTable::parse(&text).ok()?;
    let (mut table, mut span) = (root.get_ref(), None);
    for key in keys {
        let Some((found, value)) = table.iter().find(|(found, _)| found.get_ref() == key) else { break };
        span = Some(found.span());
        let DeValue::Table(inner) = value.get_ref() else { break };
        table = inner;
    }
    let place = Place::find(&text, &span?, &[]);
    Some(format!("{}:{}:{}", file.display(), place.line, place.column))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_key_is_found_wherever_it_stands() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("s.toml");
        let text = "[tasks.\"a.b\"]\nsql = 'x'\n[tasks.\"a.b\".source]\nkey = 'id'\n  done = 'x'\n[tasks]\nc.source = {done='y'}\n";
        std::fs::write(&file, text).unwrap();
        let at = |keys: &[&str]| locate(&file, keys).map(|place| place.rsplit_once("s.toml:").unwrap().1.to_owned());
        assert_eq!(at(&["tasks", "a.b", "source", "done"]).as_deref(), Some("5:3"));
        assert_eq!(at(&["tasks", "a.b", "sql"]).as_deref(), Some("2:1"));
        assert_eq!(at(&["tasks", "a.b", "source", "failed"]).as_deref(), Some("3:14"), "the table around it");
        assert_eq!(at(&["tasks", "c", "source", "done"]).as_deref(), Some("7:13"));
        assert_eq!(at(&["none"]), None);
        assert_eq!(locate(directory.path(), &["tasks"]), None);
    }
}
