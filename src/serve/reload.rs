//! SIGHUP: tasks and tokens are read again; a wrong file keeps the old ones.

use std::path::Path;

use crate::config::{Config, Purpose, print};
use crate::http::Tokens;
use crate::http::token_file::Made;
use crate::node::Node;

/// Reads the file again and puts its tasks and tokens in force.
pub(super) async fn reload(
    node: &Node,
    running: &Config,
    file: Option<&Path>,
    (tokens, made): (&Tokens, &mut Option<Made>),
) {
    let new = match Config::load(file, Purpose::Serve) {
        Ok(new) => new,
        Err(errors) => {
            let text = errors.render(print::stderr_takes_colours(), "the old configuration goes on");
            tracing::error!("the configuration was read again and is wrong:\n{text}");
            return;
        }
    };
    let waiting = running.changed_outside(&new);
    if !waiting.is_empty() {
        tracing::warn!(keys = waiting.join(", "), "changed, and in force only after a restart");
    }
    // As at the start: a file that names none any more leaves none of those before in force.
    match super::tokens(&new, file, made) {
        Ok(fresh) => tokens.replace(&fresh),
        Err(error) => tracing::error!(%error, "the old tokens stay in force"),
    }
    match node.reconfigure(&new).await {
        Ok(fresh) => {
            let names = fresh.iter().map(|plan| plan.name()).collect::<Vec<_>>().join(", ");
            tracing::info!(tasks = names, "the configuration was read again");
        }
        Err(error) => tracing::error!(%error, "the configuration was read again; the old one goes on"),
    }
}
