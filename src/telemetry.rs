//! Where log lines go and what they look like; what a node counts of itself stands below.

pub mod meters;

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

/// Log lines to standard error: `SOLOIST_LOG` says which (as `RUST_LOG` does, `info` if neither is set),
/// `SOLOIST_LOG_FORMAT=json` makes each a JSON object.
pub fn init() {
    init_at("info,actix_server=warn");
}

/// The same, with another default.
pub fn init_at(default: &str) {
    let filter = EnvFilter::try_from_env("SOLOIST_LOG")
        .or_else(|_| EnvFilter::try_from_default_env())
        .unwrap_or_else(|_| EnvFilter::new(default));
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_target(false)
        .with_ansi(std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none());
    let format = std::env::var("SOLOIST_LOG_FORMAT").unwrap_or_default();
    // An application that embeds this may have a subscriber of its own already, which then stays.
    let _ = if format == "json" { lines.json().try_init() } else { lines.try_init() };
    if !["", "text", "json"].contains(&format.as_str()) {
        tracing::warn!(format, "SOLOIST_LOG_FORMAT is text or json; lines are text");
    }
}
