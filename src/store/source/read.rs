//! Reads the rows of claimed entries as they are now, if they are still pending.

use std::collections::HashMap;

use super::{AT_ONCE, TableSource, catalog, value};
use crate::error::Result;
use crate::store::connection::Connection;
use crate::store::statement::Statement;

/// A row of the user's table, as the handler gets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceRow {
    /// The row's columns as a JSON object.
    pub payload: String,
    /// The text of its version column, to be handed back with its mark.
    pub version: Option<String>,
}

#[derive(diesel::QueryableByName)]
struct Read {
    #[diesel(sql_type = diesel::sql_types::Text)]
    soloist_key: String,
    #[diesel(sql_type = diesel::sql_types::Text)]
    soloist_row: String,
    #[diesel(sql_type = diesel::sql_types::Nullable<diesel::sql_types::Text>)]
    soloist_version: Option<String>,
}

impl TableSource {
    /// The rows of these entries (id and key) that exist and are still pending. To be called in the transaction that
    /// claims them.
    pub fn read(&self, connection: &mut Connection, entries: &[(i64, String)]) -> Result<HashMap<i64, SourceRow>> {
        let mut rows = HashMap::with_capacity(entries.len());
        for entries in entries.chunks(AT_ONCE) {
            let ids: HashMap<&str, i64> = entries.iter().map(|(id, key)| (key.as_str(), *id)).collect();
            let keys: Vec<_> = ids.keys().filter_map(|key| value::key_texts(&self.key, key)).collect();
            if keys.is_empty() {
                continue;
            }
            let keys: Vec<&[String]> = keys.iter().map(Vec::as_slice).collect();
            for read in connection.load::<Read>(self.reading(&keys))? {
                // Compared once more as text: the database may take two keys for one.
                let key = value::key(self.dialect, &self.key, &catalog::texts(&read.soloist_key)?);
                if let Some(id) = key.and_then(|key| ids.get(key.as_str()).copied()) {
                    let payload = value::payload(self.dialect, &self.columns, &catalog::texts(&read.soloist_row)?);
                    rows.insert(id, SourceRow { payload, version: read.soloist_version });
                }
            }
        }
        Ok(rows)
    }

    pub(super) fn reading(&self, keys: &[&[String]]) -> Statement {
        let shown: Vec<_> = self.columns.iter().map(|column| catalog::shown(self.dialect, column)).collect();
        let version = self.version_text();
        let sql = format!(
            "SELECT {} AS soloist_key, {} AS soloist_row, {version} AS soloist_version FROM {} WHERE {} AND ",
            self.key_array(),
            catalog::array(self.dialect, &shown),
            self.table.quoted,
            self.pending,
        );
        self.among(Statement::new(sql), keys)
    }

    /// SQL for the version column as text.
    pub(super) fn version_text(&self) -> String {
        self.version.as_ref().map_or_else(|| "NULL".to_owned(), |column| catalog::exact(self.dialect, column))
    }
}
