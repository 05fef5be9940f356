//! Reads `[database]`.

use std::time::Duration;

use crate::config::url::{self, Refusal};
use crate::config::walk::Section;
use crate::config::{ClaimChoice, Database, DatabaseUrl, Environment, Synchronous, Wake, duration};

pub(super) const KEYS: &[&str] = &["url", "connections", "claim", "wake", "pooler", "synchronous", "keep_firings"];

pub(super) fn read(given: &Section) -> Database {
    let section = given.clone().closed("[database]", KEYS);
    let default = Database::default();
    let mut database = Database {
        url: read_url(&section).unwrap_or(default.url),
        connections: section.get("connections").and_then(|item| item.count(1..=256)).unwrap_or(default.connections),
        claim: section
            .get("claim")
            .and_then(|item| {
                item.choice(&[
                    ("auto", ClaimChoice::Auto),
                    ("skip_locked", ClaimChoice::SkipLocked),
                    ("atomic_update", ClaimChoice::AtomicUpdate),
                ])
            })
            .unwrap_or_default(),
        wake: section
            .get("wake")
            .and_then(|item| item.choice(&[("notify", Wake::Notify), ("poll", Wake::Poll)]))
            .unwrap_or_default(),
        pooler: section.get("pooler").and_then(|item| item.truth()).unwrap_or_default(),
        synchronous: section
            .get("synchronous")
            .and_then(|item| item.choice(&[("full", Synchronous::Full), ("normal", Synchronous::Normal)]))
            .unwrap_or_default(),
        keep_firings: section
            .get("keep_firings")
            .and_then(|item| item.duration(Duration::from_secs(60), duration::LONGEST))
            .unwrap_or(default.keep_firings),
    };
    if let (ClaimChoice::SkipLocked, DatabaseUrl::Sqlite { .. }, Some(claim)) =
        (database.claim, &database.url, section.get("claim"))
    {
        claim.wrong("SQLite has no locks on rows to skip", "write claim = \"auto\", or take the key out");
        database.claim = ClaimChoice::Auto;
    }
    database
}

fn read_url(section: &Section) -> Option<DatabaseUrl> {
    let Some(item) = section.get("url") else {
        return match from_environment(section.walk.environment) {
            Ok(url) => Some(url),
            Err(why) => {
                section.lacks(&format!("there is no “url”, and {}", why.message), why.help);
                None
            }
        };
    };
    // The whole of what stands before the last “@” may be a password, even where the URL cannot be read.
    if let Some(typed) = section.walk.text.get(item.span.clone())
        && let Some(at_sign) = typed.rfind('@')
    {
        let start = typed.find("://").map_or(1, |at| at + 3).min(at_sign);
        section.walk.hide(item.span.start + start..item.span.start + at_sign);
    }
    let text = item.text()?;
    url::parse(&text.text).map_err(|why| item.wrong(format!("the database URL {}", why.message), why.help)).ok()
}

/// `DATABASE_URL`, else the file `soloist.db`.
pub(super) fn from_environment(environment: &Environment) -> Result<DatabaseUrl, Refusal> {
    let given = environment.get("DATABASE_URL").map_err(|why| Refusal { message: why.message, help: why.help })?;
    match given {
        None => Ok(Database::default().url),
        Some(text) => url::parse(&text)
            .map_err(|why| Refusal { message: format!("the URL in DATABASE_URL {}", why.message), help: why.help }),
    }
}
