//! What a re-read file changes that only a restart can take up.

use super::Config;

impl Config {
    /// The keys outside tasks, schedules and tokens that differ, as `section.key`. They wait for a restart.
    pub fn changed_outside(&self, other: &Self) -> Vec<&'static str> {
        let (database, node, http) = (&self.database, &self.node, &self.http);
        let (database2, node2, http2) = (&other.database, &other.node, &other.http);
        let keys = [
            ("database.url", !database.url.is_alike(&database2.url)),
            ("database.connections", database.connections != database2.connections),
            ("database.claim", database.claim != database2.claim),
            ("database.wake", database.wake != database2.wake),
            ("database.pooler", database.pooler != database2.pooler),
            ("database.synchronous", database.synchronous != database2.synchronous),
            ("database.keep_firings", database.keep_firings != database2.keep_firings),
            ("node.name", node.name != node2.name),
            ("node.lease", node.lease != node2.lease),
            ("node.drain", node.drain != node2.drain),
            ("node.poll", node.poll != node2.poll),
            ("node.roles", node.roles != node2.roles),
            ("http.bind", http.bind != http2.bind),
            ("http.prefix", http.prefix != http2.prefix),
            ("http.show_payload", http.show_payload != http2.show_payload),
            ("http.flask_apscheduler", http.flask_apscheduler != http2.flask_apscheduler),
        ];
        keys.into_iter().filter(|(_, changed)| *changed).map(|(key, _)| key).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::{Config, DatabaseUrl, Secret};

    #[test]
    fn what_waits_for_a_restart_is_named() {
        let old = Config::default();
        assert!(old.changed_outside(&old.clone()).is_empty());
        let mut new = old.clone();
        new.database.url = DatabaseUrl::Postgres(Secret::new("postgresql://db/app"));
        new.node.lease = Duration::from_secs(3);
        new.http.prefix = "/soloist".into();
        assert_eq!(old.changed_outside(&new), ["database.url", "node.lease", "http.prefix"]);
    }

    #[test]
    fn a_database_in_memory_is_the_same_after_another_look_at_the_file() {
        let mut old = Config::default();
        old.database.url = DatabaseUrl::memory();
        let mut new = old.clone();
        new.database.url = DatabaseUrl::memory();
        assert!(old.changed_outside(&new).is_empty());
    }
}
