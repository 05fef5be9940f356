//! `soloist audit`: who changed what.

use std::process::ExitCode;

use clap::Args;

use super::ask::Asked;
use super::time_text::shown;
use super::{output, table};
use crate::error::{Error, Result};
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
        if self.cursor.as_deref().is_some_and(|cursor| cursor.parse::<i64>().is_err()) {
            return Err(Error::usage("cursor: it is the next cursor of the page before, unchanged"));
        }
        let sought = Sought { by: self.by, action: self.action, subject: self.subject };
        let mut connection = asked.connect()?;
        let page = Page::whole(self.limit.into(), self.cursor, |limit, cursor| {
            audit::list(&mut connection, &sought, limit, cursor.and_then(|cursor| cursor.parse().ok()))
        })?;
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
