//! `soloist audit`: who changed what.

use std::process::ExitCode;

use clap::Args;

use super::ask::Asked;
use super::time_text::shown;
use super::{output, table};
use crate::error::{Error, Result};
use crate::store::Connection;
use crate::store::audit::{self, AuditShape, Sought};
use crate::store::entries::Page;

/// `soloist audit`
#[derive(Debug, Args)]
pub(super) struct Audit {
    /// Only what this token or user did
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// Only this, such as pause or bulk-retry
    #[arg(long)]
    action: Option<String>,
    /// Only what was done to this: entries/7, tasks/mail, schedules/nightly, or entries for many
    #[arg(long)]
    subject: Option<String>,
    /// At most this many, to 500
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=500))]
    limit: u16,
    /// The page after another: its next cursor
    #[arg(long)]
    cursor: Option<String>,
}

impl Audit {
    pub(super) fn run(self, asked: &Asked) -> Result<ExitCode> {
        let below = self
            .cursor
            .as_deref()
            .map(str::parse)
            .transpose()
            .map_err(|_| Error::usage("cursor: it is the next cursor of the page before, unchanged"))?;
        let sought = Sought { by: self.by, action: self.action, subject: self.subject };
        let page = page(&mut *asked.connect()?, &sought, self.limit.into(), below)?;
        if asked.json {
            output::json(&page)?;
            return Ok(ExitCode::SUCCESS);
        }
        let headings = ["AT", "BY", "VIA", "ACTION", "SUBJECT", "DETAIL"];
        table::print(&headings, page.items.iter().map(row).collect(), "Nothing of the kind was changed in 90 days.")?;
        if let Some(cursor) = page.next_cursor {
            output::note(format!("There are more: --cursor {cursor}"));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// A whole page, however many lines must be looked at for it.
fn page(
    connection: &mut Connection,
    sought: &Sought,
    limit: usize,
    mut below: Option<i64>,
) -> Result<Page<AuditShape>> {
    let mut items = Vec::new();
    loop {
        let mut looked = audit::list(connection, sought, limit - items.len(), below)?;
        items.append(&mut looked.items);
        below = looked.next_cursor.as_deref().and_then(|cursor| cursor.parse().ok());
        if below.is_none() || items.len() >= limit {
            return Ok(Page { items, next_cursor: looked.next_cursor });
        }
    }
}

fn row(line: &AuditShape) -> Vec<String> {
    let detail = Some(line.detail.get()).filter(|detail| *detail != "{}").unwrap_or_default();
    vec![
        shown(line.at),
        table::cut(&line.by, 40),
        line.via.clone(),
        line.action.clone(),
        line.subject.clone(),
        table::cut(detail, 100),
    ]
}
