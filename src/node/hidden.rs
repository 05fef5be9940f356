//! What programs must not see of the environment.

use crate::config::Config;

/// Environment variables that programs must not see: those that held secrets, and whatever holds the database's
/// password.
pub(crate) fn hidden(config: &Config) -> Vec<String> {
    let mut hidden: Vec<_> = config.secret_variables.iter().cloned().collect();
    hidden.extend(["PGPASSWORD", "MYSQL_PWD"].map(str::to_owned));
    for password in config.database.url.passwords() {
        let in_url = format!(":{password}@");
        let holds = |value: &std::ffi::OsString| {
            let value = value.to_string_lossy();
            value == password || value.contains(&in_url)
        };
        hidden.extend(
            std::env::vars_os().filter(|(_, value)| holds(value)).filter_map(|(name, _)| name.into_string().ok()),
        );
    }
    hidden
}
